// The partitions of one view of the catalog, in order; the next view shares with it what has not changed.
#pragma once

#include <cstddef>
#include <iterator>
#include <memory>
#include <vector>

#include "core/ids.hpp"

namespace kvc::core {

struct partition_view;

/// An ordered map from a partition's key to how the partition is now.
///
/// Why: there may be tens of thousands of partitions, which events open, and each change of membership makes a new view of them all. So
/// entries lie in parts of at most `most_in_part`, which copies of the map share: a change copies one part and the list of parts, some
/// 5 KB for 10,000 partitions, and walking all of them goes in the order of keys, as answers list them.
///
/// Lane: a map that nobody changes any more may be read from any lane; copying one is reading it.
class partition_map {
 public:
  /// As those of a std::map: the key is the partition's own, and lives with it.
  struct entry {
    const partition_key& first;
    std::shared_ptr<const partition_view> second;  ///< never null
  };

 private:
  using part = std::vector<entry>;
  /// A part and where it begins, so that looking for a key looks into one part only.
  struct place {
    const partition_key* first;           ///< of its first entry
    std::shared_ptr<const part> entries;  ///< never null nor empty
  };

 public:
  static constexpr std::size_t most_in_part = 64;

  /// Valid as long as the map is neither changed nor destroyed.
  class iterator {
   public:
    using iterator_category = std::forward_iterator_tag;
    using value_type = entry;
    using difference_type = std::ptrdiff_t;
    using pointer = const entry*;
    using reference = const entry&;

    iterator() = default;

    [[nodiscard]] reference operator*() const noexcept { return (*in_->entries)[at_]; }
    [[nodiscard]] pointer operator->() const noexcept { return &**this; }
    iterator& operator++() noexcept {
      if (++at_ == in_->entries->size()) {
        ++in_;
        at_ = 0;
      }
      return *this;
    }
    iterator operator++(int) noexcept {
      const iterator before = *this;
      ++*this;
      return before;
    }

    friend bool operator==(const iterator&, const iterator&) noexcept = default;

   private:
    friend class partition_map;
    iterator(const place* in, std::size_t at) noexcept : in_(in), at_(at) {}

    const place* in_ = nullptr;  ///< one past the last place, and entry 0 of it: the end
    std::size_t at_ = 0;
  };
  using const_iterator = iterator;

  [[nodiscard]] iterator begin() const noexcept { return {parts_.data(), 0}; }
  [[nodiscard]] iterator end() const noexcept { return {parts_.data() + parts_.size(), 0}; }
  [[nodiscard]] std::size_t size() const noexcept { return size_; }
  [[nodiscard]] bool empty() const noexcept { return size_ == 0; }
  /// `end()` when there is no such partition.
  [[nodiscard]] iterator find(const partition_key& key) const;
  /// Throws std::out_of_range when there is no such partition.
  [[nodiscard]] const std::shared_ptr<const partition_view>& at(const partition_key& key) const;

  /// The partition of this view is so from now on; it may be a new one. Not null. After an exception the map is to be given up.
  void set(std::shared_ptr<const partition_view> view);
  /// There is no such partition any more; nothing happens when there was none. After an exception the map is to be given up.
  void erase(const partition_key& key);

 private:
  /// Which place has the key, if any has: the last that does not begin behind it. Precondition: there are places.
  [[nodiscard]] std::size_t place_of(const partition_key& key) const;
  [[nodiscard]] static place place_for(part entries);
  /// Makes one part of two neighbours that have become small. Precondition: there are such places.
  void unite(std::size_t left);

  std::vector<place> parts_;  ///< by their first keys
  std::size_t size_ = 0;
};

}  // namespace kvc::core

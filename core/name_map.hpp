// What names mean, by name: a map that never grows in one piece, and that can be walked in slices.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <unordered_map>
#include <utility>
#include <vector>

#include "core/ids.hpp"
#include "core/spread.hpp"

namespace kvc::core {

/// How far a walk over the names of a map has come.
struct name_walk {
  std::uint64_t from = 0;  ///< names of lower hashes have been met
  bool is_over = false;
  unsigned bits = 0;  ///< of the part that is walked now
  std::size_t buckets = 0;
  std::size_t bucket = 0;  ///< the next one
};

/// A hash map from names to values, which stay where they are.
///
/// Story: a table that doubles moves all it has, which takes most of a second at millions of names, and its lane answers nobody meanwhile.
/// Here the leading bits of a name's hash choose a part, a table of some hundred names; a full one becomes two by one more bit, as in
/// gradual_map. Nothing but the list of parts, eight bytes for each, ever grows in one piece. Parts do not join again when names go, but
/// an empty one keeps next to no memory, and all of them go with the last name. Names are spread by a secret (spread.hpp). One owner.
template <class Value>
class name_map {
 public:
  name_map() = default;
  ~name_map() { drop_parts(); }
  name_map(const name_map&) = delete;
  name_map& operator=(const name_map&) = delete;

  [[nodiscard]] const Value* find(engine_hash name) const {
    if (size_ == 0) return nullptr;
    const table& in = part_of(name).names;
    const auto found = in.find(name);
    return found == in.end() ? nullptr : &found->second;
  }
  [[nodiscard]] Value* find(engine_hash name) { return const_cast<Value*>(std::as_const(*this).find(name)); }
  [[nodiscard]] bool contains(engine_hash name) const { return find(name) != nullptr; }
  /// The value of a name, made when there is none. Throws std::bad_alloc, and then nothing has changed.
  [[nodiscard]] Value& operator[](engine_hash name) {
    if (parts_.empty()) {
      parts_.reserve(1);
      parts_.push_back(std::make_unique<part>().release());
    }
    while (part_of(name).names.size() >= most_in_part && divide(name)) continue;
    table& in = part_of(name).names;
    const std::size_t before = in.size();
    Value& there = in[name];
    size_ += in.size() - before;
    return there;
  }
  void erase(engine_hash name) {
    if (size_ == 0) return;
    table& in = part_of(name).names;
    size_ -= in.erase(name);
    if (size_ == 0) return drop_parts();
    if (in.empty() && in.bucket_count() > buckets_kept) in = table();
  }
  [[nodiscard]] bool empty() const noexcept { return size_ == 0; }
  [[nodiscard]] std::size_t size() const noexcept { return size_; }

  /// Replaces `names` by those of the next bucket, mostly none or one. False when there are no more buckets. Names may come and go
  /// between the calls; those that stay are met at least once, and again where a part has grown.
  [[nodiscard]] bool next_bucket(name_walk& at, std::vector<engine_hash>& names) const {
    names.clear();
    if (at.is_over || size_ == 0) return false;
    const part& walked = *parts_[place_of(at.from)];
    const table& in = walked.names;
    if (at.bits != walked.bits || at.buckets != in.bucket_count()) {
      at.bits = walked.bits;
      at.buckets = in.bucket_count();
      at.bucket = 0;
    }
    if (!in.empty()) {
      for (auto each = in.begin(at.bucket); each != in.end(at.bucket); ++each) names.push_back(each->first);
      if (++at.bucket != at.buckets) return true;
    }
    const std::uint64_t last = at.from | (walked.bits == 0 ? ~std::uint64_t{0} : ~std::uint64_t{0} >> walked.bits);
    at.from = last + 1;
    at.is_over = at.from == 0;
    at.buckets = 0;
    return true;
  }

 private:
  using table = std::unordered_map<engine_hash, Value, name_spread>;
  struct part {
    table names;
    unsigned bits = 0;  ///< leading bits of the hash that all its names share
  };
  static constexpr std::size_t most_in_part = 512;
  static constexpr std::size_t buckets_kept = 16;
  /// How many more places than one for each full part the list of parts may have: hashes that agree by chance need a few times as many,
  /// those that agree by intention would need any number, and share a part instead.
  static constexpr std::size_t places_beyond_chance = 16;

  [[nodiscard]] std::size_t place_of(std::uint64_t hash) const noexcept { return static_cast<std::size_t>(hash >> 1 >> (63 - bits_)); }
  [[nodiscard]] part& part_of(engine_hash name) const noexcept { return *parts_[place_of(spread(name.get()))]; }

  /// Divides the part of `name`, which is full. False when it has to stay as it is.
  [[nodiscard]] bool divide(engine_hash name) {
    part& full = part_of(name);
    if (full.bits == bits_) {
      if (parts_.size() * 2 > places_beyond_chance * (size_ / most_in_part + 1)) return false;
      std::vector<part*> wider(parts_.size() * 2);
      for (std::size_t i = 0; i < wider.size(); ++i) wider[i] = parts_[i / 2];
      parts_.swap(wider);
      ++bits_;
    }
    auto upper = std::make_unique<part>();
    upper->names.reserve(full.names.size());  // so that no name is moved twice
    upper->bits = ++full.bits;
    for (auto each = full.names.begin(); each != full.names.end();) {
      const auto next = std::next(each);
      const bool is_upper = (spread(each->first.get()) >> (64 - full.bits) & 1) != 0;
      if (is_upper) upper->names.insert(full.names.extract(each));
      each = next;
    }
    const std::size_t half = std::size_t{1} << (bits_ - full.bits);
    const std::size_t first = (place_of(spread(name.get())) & ~(half * 2 - 1)) + half;
    std::fill_n(parts_.begin() + static_cast<std::ptrdiff_t>(first), half, upper.release());
    return true;
  }
  void drop_parts() noexcept {
    const part* previous = nullptr;
    for (const part* each : std::exchange(parts_, {})) {
      if (each != previous) delete each;
      previous = each;
    }
    bits_ = 0;
  }

  std::vector<part*> parts_;  ///< owned; by leading bits: a part of fewer bits stands at several places
  std::size_t size_ = 0;
  unsigned bits_ = 0;
};

}  // namespace kvc::core

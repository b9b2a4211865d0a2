// What names mean, by name: a map that never grows in one piece once it is large, and that can be walked in slices.
#pragma once

#include <cstddef>
#include <cstdint>
#include <unordered_map>
#include <utility>
#include <vector>

#include "core/ids.hpp"
#include "core/spread.hpp"

namespace kvc::core {

/// How far a walk over the names of a map has come.
struct name_walk {
  std::size_t parts = 0;  ///< of the map when the walk came to it
  std::size_t part = 0;
  std::size_t buckets = 0;  ///< of the part
  std::size_t bucket = 0;
};

/// A hash map from names to values, which stay where they are.
///
/// Story: a table that doubles moves all it has, which takes most of a second at millions of names, and its lane answers nobody meanwhile. So
/// a map of more than some thousand names is made of 256 parts, each of which grows by itself. It is one again when it is empty. Names
/// are spread by a secret (spread.hpp). One owner.
template <class Value>
class name_map {
 public:
  name_map() : parts_(1) {}

  [[nodiscard]] const Value* find(engine_hash name) const {
    const part& in = parts_[part_of(name)];
    const auto found = in.find(name);
    return found == in.end() ? nullptr : &found->second;
  }
  [[nodiscard]] Value* find(engine_hash name) { return const_cast<Value*>(std::as_const(*this).find(name)); }
  [[nodiscard]] bool contains(engine_hash name) const { return find(name) != nullptr; }
  /// The value of a name, made when there is none.
  [[nodiscard]] Value& operator[](engine_hash name) {
    if (parts_.size() == 1 && size_ == most_in_one) divide();
    part& in = parts_[part_of(name)];
    const std::size_t before = in.size();
    Value& there = in[name];
    size_ += in.size() - before;
    return there;
  }
  void erase(engine_hash name) {
    size_ -= parts_[part_of(name)].erase(name);
    if (size_ == 0 && parts_.size() != 1) parts_ = std::vector<part>(1);
  }
  [[nodiscard]] bool empty() const noexcept { return size_ == 0; }
  [[nodiscard]] std::size_t size() const noexcept { return size_; }

  /// Replaces `names` by those of the next bucket, mostly none or one. False when there are no more buckets. Names may come and go
  /// between the calls; those that stay are met at least once, and again where a part has grown.
  [[nodiscard]] bool next_bucket(name_walk& at, std::vector<engine_hash>& names) const {
    names.clear();
    if (at.parts != parts_.size()) {
      at = {.parts = parts_.size(), .part = 0, .buckets = 0, .bucket = 0};
    }
    for (; at.part < parts_.size(); ++at.part, at.bucket = 0, at.buckets = 0) {
      const part& in = parts_[at.part];
      if (in.empty()) continue;
      if (at.buckets != in.bucket_count()) {
        at.buckets = in.bucket_count();
        at.bucket = 0;
      }
      if (at.bucket == at.buckets) continue;
      for (auto each = in.begin(at.bucket); each != in.end(at.bucket); ++each) names.push_back(each->first);
      ++at.bucket;
      return true;
    }
    return false;
  }

 private:
  using part = std::unordered_map<engine_hash, Value, name_spread>;
  static constexpr std::size_t most_in_one = 16'384;
  static constexpr unsigned part_bits = 8;

  [[nodiscard]] std::size_t part_of(engine_hash name) const noexcept {
    return parts_.size() == 1 ? 0 : static_cast<std::size_t>(spread(name.get()) >> (64 - part_bits));
  }
  void divide() {
    std::vector<part> all(std::size_t{1} << part_bits);
    all.swap(parts_);
    part& whole = all.front();
    while (!whole.empty()) {
      auto node = whole.extract(whole.begin());
      parts_[part_of(node.key())].insert(std::move(node));
    }
  }

  std::vector<part> parts_;
  std::size_t size_ = 0;
};

}  // namespace kvc::core

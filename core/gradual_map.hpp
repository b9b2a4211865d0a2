// A hash map that grows gradually: entries move to the larger table a few at a time, so that no single insertion waits for all of them.
#pragma once

#include <boost/unordered/unordered_flat_map.hpp>
#include <cstddef>
#include <utility>

namespace kvc::core {

/// Story: a flat map is fast until it grows, and then one insertion pays for everything, a millisecond at 60,000 entries. Here a full table
/// is put aside and emptied by the insertions that follow, a few entries each; look-ups ask the new one first. One owner.
template <class Key, class Value>
class gradual_map {
 public:
  gradual_map() = default;
  gradual_map(const gradual_map&) = delete;
  gradual_map& operator=(const gradual_map&) = delete;

  /// Null when there is no such key. The pointer is valid until the next change.
  [[nodiscard]] const Value* find(const Key& key) const {
    if (const auto found = now_.find(key); found != now_.end()) return &found->second;
    if (old_.empty()) return nullptr;
    const auto found = old_.find(key);
    return found == old_.end() ? nullptr : &found->second;
  }
  /// Precondition: there is no such key.
  void add(const Key& key, const Value& value) {
    if (old_.empty() && now_.size() >= first_large && now_.size() + 1 > now_.max_load()) {
      old_.swap(now_);
      next_ = old_.begin();
      now_ = map();
      now_.reserve(old_.size() * 2);
    }
    move_some();
    now_.emplace(key, value);
  }
  void erase(const Key& key) {
    if (now_.erase(key) == 0) {
      if (const auto found = old_.find(key); found != old_.end()) take_out(found);
    }
    move_some();
  }
  [[nodiscard]] std::size_t size() const noexcept { return now_.size() + old_.size(); }
  /// Calls `visit(key, value)` for every entry, in no particular order.
  template <class Visit>
  void each(Visit visit) const {
    for (const map* part : {&now_, &old_}) {
      for (const auto& [key, value] : *part) visit(key, value);
    }
  }

 private:
  using map = boost::unordered_flat_map<Key, Value>;
  static constexpr std::size_t first_large = 1'024;
  static constexpr std::size_t moved_at_once = 8;  ///< the old table is empty before the new one, twice as large, is full

  void take_out(typename map::iterator which) {
    if (which == next_) ++next_;
    old_.erase(which);
  }
  void move_some() {
    if (old_.empty()) return;
    for (std::size_t i = 0; i < moved_at_once && !old_.empty(); ++i) {
      now_.emplace(next_->first, next_->second);
      take_out(next_);
    }
    if (old_.empty()) old_ = map();
  }

  map now_;
  map old_;
  /// The first entry of `old_`, while there is one: to look for it would be to pass by all that is empty already, from the beginning.
  typename map::iterator next_{};
};

}  // namespace kvc::core

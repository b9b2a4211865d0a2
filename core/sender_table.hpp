// Something known about each sender of batches, in bounded memory: who has been silent longest is forgotten first.
#pragma once

#include <cstddef>
#include <cstdint>
#include <iterator>
#include <list>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>

#include "core/text_spread.hpp"

namespace kvc::core {

/// States by instance id. Ids are free text of clients and need not be registered anywhere, so that both their number and their bytes are
/// bounded. Pure; one lane.
template <class State>
class sender_table {
 public:
  struct limits {
    std::size_t senders = 65'536;                  ///< at least 1
    std::size_t id_bytes = std::size_t{16} << 20;  ///< of all ids; one longer id is kept alone
  };

  explicit sender_table(const limits& with) : limits_(with) {}

  /// The sender's state, and whether it is a fresh one. The sender has been heard of now. Valid until another one is heard of. Where
  /// something is thrown, the sender is as unknown as before.
  [[nodiscard]] std::pair<State&, bool> hear(std::string_view id) {
    if (const auto known = by_id_.find(id); known != by_id_.end()) {
      senders_.splice(senders_.end(), senders_, known->second);
      return {known->second->second, false};
    }
    while (!senders_.empty() && (senders_.size() >= limits_.senders || id_bytes_ + id.size() > limits_.id_bytes)) forget_silent();
    senders_.emplace_back(std::string(id), State{});
    try {
      by_id_.emplace(senders_.back().first, std::prev(senders_.end()));
    } catch (...) {
      senders_.pop_back();
      throw;
    }
    id_bytes_ += id.size();
    return {senders_.back().second, true};
  }

  /// Null when nothing is known of the sender. It has not been heard of by this.
  [[nodiscard]] State* find(std::string_view id) noexcept {
    const auto known = by_id_.find(id);
    return known == by_id_.end() ? nullptr : &known->second->second;
  }
  [[nodiscard]] const State* find(std::string_view id) const {
    const auto known = by_id_.find(id);
    return known == by_id_.end() ? nullptr : &known->second->second;
  }

  /// Calls `visit(id, state)` for the `most` senders heard of last, the last one first.
  template <class Visit>
  void each_recent(std::size_t most, Visit visit) const {
    for (auto each = senders_.rbegin(); each != senders_.rend() && most != 0; ++each, --most)
      visit(std::string_view(each->first), each->second);
  }

  [[nodiscard]] std::size_t size() const noexcept { return senders_.size(); }
  [[nodiscard]] std::uint64_t forgotten() const noexcept { return forgotten_; }  ///< since the start

 private:
  using entry = std::pair<std::string, State>;
  using place = typename std::list<entry>::iterator;

  void forget_silent() {
    id_bytes_ -= senders_.front().first.size();
    by_id_.erase(senders_.front().first);
    senders_.pop_front();
    ++forgotten_;
  }

  limits limits_;
  std::list<entry> senders_;                                        ///< silent longest first
  std::unordered_map<std::string_view, place, text_spread> by_id_;  ///< views of the ids in `senders_`
  std::size_t id_bytes_ = 0;
  std::uint64_t forgotten_ = 0;
};

}  // namespace kvc::core

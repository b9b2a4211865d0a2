// What the ledger and the planner should do, written down as plainly as it can be said: lists that are searched from end to end.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "core/evictor.hpp"
#include "core/object_key.hpp"

namespace kvc::test {

/// The model. All rules are those of the spec page; none of the code under test is used but for its types.
class usage_model {
 public:
  struct entry {
    core::owned_object_key key;
    std::uint64_t bytes = 0;
    std::uint32_t piece = 0;    ///< in flight under this piece
    std::uint32_t in_vain = 0;  ///< deletions asked for since it was stored of which nothing came
    [[nodiscard]] bool is_set_aside() const { return in_vain >= core::most_in_vain; }
  };
  struct salt {
    std::string name;
    std::vector<entry> keys;  ///< least recently used first
    std::size_t seeded = 0;   ///< how many from the old end on are untouched since they were seeded
    [[nodiscard]] std::uint64_t bytes() const;
    [[nodiscard]] std::uint64_t bytes_in_flight() const;
    [[nodiscard]] std::size_t keys_in_flight() const;
  };
  struct piece {
    std::uint32_t id = 0;
    std::vector<core::owned_object_key> keys;
    core::evictor::time_point until{};
    bool is_accepted = false;
  };

  void store(const core::owned_object_key& key, std::uint64_t bytes);
  bool lookup(const core::owned_object_key& key);
  bool remove(const core::owned_object_key& key);
  void begin_seeding();
  void end_seeding();
  bool seed(const core::owned_object_key& key, std::uint64_t bytes);

  /// Plans a cycle; the pieces count as sent at once.
  std::vector<piece> plan(const core::evictor::options& with, core::evictor::time_point now);
  void accept(std::uint32_t id);
  void refuse(std::uint32_t id) { give_up(id, true); }
  void fail(std::uint32_t id) { give_up(id, false); }
  void expire(core::evictor::time_point now);

  /// Limits by salt; the default holds for the others, none is exempt.
  std::map<std::string, double> quotas;
  std::optional<double> default_limit = 0.0;

  /// In order of first tracking.
  [[nodiscard]] const std::vector<salt>& salts() const { return salts_; }
  [[nodiscard]] const std::vector<piece>& sent() const { return sent_; }
  [[nodiscard]] std::uint64_t bytes() const;
  [[nodiscard]] std::size_t size() const;
  [[nodiscard]] std::size_t set_aside() const;

 private:
  [[nodiscard]] entry* find(const core::owned_object_key& key);
  salt& salt_of(const core::owned_object_key& key);
  /// Takes a key out of its list; the salt stays even if it is empty now.
  entry take(const core::owned_object_key& key);
  void forget_empty();
  void give_up(std::uint32_t id, bool was_in_vain);
  void release(const piece& one, bool was_in_vain);

  std::vector<salt> salts_;
  std::vector<piece> sent_;
  std::uint32_t last_piece_ = 0;
  std::uint64_t cycles_ = 0;
  bool is_seeding_ = false;
  std::set<core::owned_object_key> removed_;
};

}  // namespace kvc::test

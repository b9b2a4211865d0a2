// Random batches of one publisher over small alphabets: adapters, groups, media, ranks, pages, copies, removals and clears.
#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <random>
#include <string>
#include <vector>

#include "core/event.hpp"
#include "core/registration.hpp"

namespace kvc::test {

/// How a publisher speaks.
struct event_habits {
  bool is_tidy = true;     ///< each of its names means one block of one partition; else some mean any
  bool has_pages = false;  ///< of two blocks; tidy publishers only
  bool has_groups = false;
  bool has_own_names = false;  ///< which no other engine gives
  std::size_t events = 4;      ///< of a batch, at most
  unsigned ranks = 0;          ///< 0: it says none; 1: its batches say 0, or their own; 2: batches say any; 3: events as well
};

/// Not more than this many letters, one for each block, in chains of at most this many blocks.
inline constexpr std::uint32_t letters = 2;
inline constexpr std::size_t longest_chain = 6;

/// Tokens of blocks, from their letters.
[[nodiscard]] std::vector<std::uint32_t> tokens_of(const std::vector<std::uint32_t>& chain, std::size_t from, std::uint32_t block_size);

/// A seeded source of batches. The same numbers give the same batches on every machine.
class random_events {
 public:
  random_events(std::mt19937_64& random, const core::registration& from, const event_habits& habits)
      : random_(&random), from_(from), habits_(habits) {}

  [[nodiscard]] core::event_batch next();
  [[nodiscard]] const event_habits& habits() const { return habits_; }
  /// One line about an event.
  [[nodiscard]] static std::string text(const core::event& what);

 private:
  using path = std::vector<std::uint32_t>;
  struct said {
    core::engine_hash name{};
    core::event_scope scope;
  };

  [[nodiscard]] std::uint64_t below(std::uint64_t bound) { return (*random_)() % bound; }
  [[nodiscard]] bool chance(unsigned percent) { return below(100) < percent; }
  [[nodiscard]] std::string adapter_of(const core::event_scope& scope) const { return scope.lora.value_or(from_.partition.lora); }
  /// Of the last block before `length`.
  [[nodiscard]] core::engine_hash name_of(const path& chain, std::size_t length, const std::string& adapter, bool of_page);
  [[nodiscard]] core::engine_hash name_behind(const path& chain, std::size_t length, const std::string& adapter);
  [[nodiscard]] core::seq_hash hash_of(const path& chain, std::size_t length) const;
  [[nodiscard]] core::event_scope scope();
  [[nodiscard]] core::stored_event store();
  [[nodiscard]] core::stored_event store_pages();
  [[nodiscard]] core::removed_event remove();
  [[nodiscard]] core::cleared_event clear();

  std::mt19937_64* random_;
  core::registration from_;
  event_habits habits_;
  std::deque<said> recent_;  ///< newest stores last
};

}  // namespace kvc::test

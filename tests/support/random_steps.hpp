// Random event streams over small alphabets, so that twins, moves, holes, orphans and repeated copies happen all the time.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <random>
#include <string>
#include <vector>

#include "core/ids.hpp"
#include "core/medium.hpp"
#include "tests/support/index_step.hpp"

namespace kvc::test {

/// One thing that happens to one worker.
struct random_step {
  enum class kind : std::uint8_t { store, remove, clear };
  kind what = kind::store;
  store_step store;
  core::engine_hash name{};         ///< for remove
  core::medium_id medium{};         ///< for remove
  removal_step from;                ///< for remove
  core::media_mask which = 0;       ///< for clear
  std::optional<std::size_t> only;  ///< for clear: one partition
  std::size_t budget = 1;           ///< for clear: names per piece

  [[nodiscard]] std::string text() const;
};

/// A seeded source of steps, worker traits and queries. The same seed gives the same stream on every machine.
class random_steps {
 public:
  struct shape {
    std::size_t partitions = 2;
    std::uint64_t letters = 2;     ///< different local hashes
    std::size_t longest = 6;       ///< blocks of the longest chain
    std::uint64_t wild_names = 6;  ///< names that are given to any block
  };

  random_steps(std::uint64_t seed, const shape& with) : random_(seed), shape_(with) {}

  [[nodiscard]] random_step next();
  [[nodiscard]] worker_traits traits();
  /// A query as long as the longest chain.
  [[nodiscard]] std::vector<core::local_hash> query();
  /// Every query of that length.
  [[nodiscard]] std::vector<std::vector<core::local_hash>> all_queries() const;
  /// A number below `bound`, which is at least 1.
  [[nodiscard]] std::uint64_t below(std::uint64_t bound) { return random_() % bound; }
  [[nodiscard]] bool chance(unsigned percent) { return below(100) < percent; }
  [[nodiscard]] core::medium_id medium();
  [[nodiscard]] core::media_mask media();

 private:
  using path = std::vector<core::local_hash>;
  [[nodiscard]] core::engine_hash name_of(std::size_t partition, const path& chain, std::size_t length);
  void fill_store(store_step& step);

  std::mt19937_64 random_;
  shape shape_;
  std::vector<core::engine_hash> recent_;  ///< names of the newest stores
};

}  // namespace kvc::test

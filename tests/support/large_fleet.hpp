// Random streams over long chains and large fleets: what the index keeps has grown out of its first form there.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <iosfwd>
#include <map>
#include <memory>
#include <random>
#include <string>
#include <string_view>
#include <vector>

#include "core/catalog.hpp"
#include "core/eviction.hpp"
#include "core/ids.hpp"
#include "core/medium.hpp"
#include "tests/support/index_step.hpp"
#include "tests/support/index_subjects.hpp"
#include "tests/support/placed_model.hpp"

namespace kvc::test {

/// What a stream is made of. Each makes the index use other forms of what it keeps.
struct large_shape {
  std::string_view what;
  std::size_t workers = 1;
  std::size_t prompts = 1;    ///< kept at once; others begin like them
  std::size_t longest = 1;    ///< blocks of a prompt
  std::uint64_t letters = 0;  ///< different local hashes; 0: hardly ever the same twice
  int steps = 1;
  int between_checks = 1;
};

inline constexpr std::array large_shapes{
    large_shape{"long chains", 4, 6, 4'000, 0, 160, 20},         // digests, marks of both spacings, columns that move, cuts
    large_shape{"many holders", 150, 8, 300, 0, 500, 60},        // sparse cells, dense ones, and the way back
    large_shape{"many chains", 10, 3'000, 40, 0, 1'800, 300},    // the finder, holdings, tables of names that divide and join
    large_shape{"branches everywhere", 40, 60, 80, 2, 700, 70},  // making way, trunks that go on behind branches
    large_shape{"a trunk of many depths", 300, 3, 600, 0, 700, 100}};

/// Engines that store, decode and evict prompts of one tree, in the real index and in the model, fed with one stream. By the seed engines
/// call blocks the same or not, use one medium or three, have twins, and names that move. The same seed gives the same stream wherever the
/// program was built by the same compiler; another may draw two numbers of one call in the other order.
///
/// Threads: one at a time. Several fleets may share a catalog, each with a thread of its own; then `difference` is for the model of all of
/// them.
class large_fleet {
 public:
  static constexpr std::size_t partitions = 2;

  /// `first_worker` is the number of the first worker less one. Fleets with the same `content` begin with the same prompts.
  large_fleet(std::uint64_t seed, std::uint64_t content, const large_shape& shape, std::shared_ptr<core::catalog> all,
              std::uint32_t first_worker);

  void step();
  /// What differs between the index and the model of this fleet, the only one of its catalog; empty when nothing does.
  [[nodiscard]] std::string difference();
  /// The same for a partition and any model that knows all of its workers: members, blocks, and `queries` queries.
  void compare(const placed_model& model, std::size_t partition, int queries, std::ostream& out);
  /// Under a budget: answers for `queries` queries that reach deeper than a model's that knows all workers.
  void compare_depths(const placed_model& model, std::size_t partition, int queries, std::ostream& out);
  /// The books of some workers of this fleet.
  void compare_books(std::ostream& out);
  /// Makes its part in keeping a budget from now on, as two lanes of it, `first_lane` and the next: blocks go that the model goes on
  /// holding. Afterwards `difference` tells where an answer is deeper than the model's. Precondition: no step made yet.
  void keep_within(std::shared_ptr<core::index_budget> budget, std::size_t first_lane);
  [[nodiscard]] const core::catalog& all() const { return real_->all(); }
  /// Under a budget: makes this fleet's part of a pass, if one is due. False when there was nothing to do.
  bool make_parts();
  [[nodiscard]] std::uint64_t evicted() const { return evicted_; }

  /// Everybody leaves. True when neither a block nor a byte of runs and names is left behind; where others share the catalog,
  /// theirs may be.
  [[nodiscard]] bool ends_empty();

  /// What the last step did.
  [[nodiscard]] const std::string& last() const { return last_; }
  [[nodiscard]] const std::vector<core::local_hash>& first_prompt() const { return prompts_.front(); }
  [[nodiscard]] placed_model& model() { return model_; }

 private:
  using chain = std::vector<core::local_hash>;
  using names = std::vector<core::engine_hash>;
  struct engine {
    core::worker_id number{};
    chain in_hand{};  ///< what it decodes
  };

  std::uint64_t below(std::uint64_t bound) { return random_() % bound; }
  bool chance(unsigned percent) { return below(100) < percent; }
  core::medium_id random_medium();
  core::media_mask random_media() { return chance(60) ? core::all_media : core::mask_of(random_medium()); }
  std::size_t random_home() { return chance(90) ? 0 : 1; }
  core::local_hash random_block();

  void hire();
  void dismiss(std::size_t which);
  const chain& prompt();
  chain query();
  names names_of(const engine& who, std::size_t home, const chain& of);
  static names part(const names& of, std::size_t begin, std::size_t end);
  void tell(const engine& who, const store_step& step);
  void tell_removal(const engine& who, const names& gone, core::medium_id medium);
  void store_part(const engine& who, std::size_t home, core::medium_id medium, const chain& of, std::size_t start, std::size_t end);

  void store(std::size_t which);
  void remove(std::size_t which);
  void decode(std::size_t which);
  void clear(std::size_t which);
  void follow_trunk();
  void behead();
  void pass_on();
  void relieve();
  void compare_names(core::worker_id who, std::ostream& out);

  std::mt19937_64 random_;
  large_shape shape_;
  bool is_alone_;          ///< nobody else has the catalog
  bool has_common_names_;  ///< every engine calls a block the same
  bool has_one_medium_;    ///< queries may walk by levels
  unsigned twins_;         ///< percent
  unsigned wild_;          ///< percent
  std::unique_ptr<real_subject> real_;
  placed_model model_;
  std::shared_ptr<core::index_budget> budget_;  ///< null: everything is kept
  std::size_t first_lane_ = 0;                  ///< of the budget
  std::uint64_t evicted_ = 0;
  std::map<core::worker_id, worker_traits> traits_;
  std::vector<engine> staff_;
  std::vector<chain> prompts_;
  std::uint32_t hired_;
  std::string last_;
};

}  // namespace kvc::test

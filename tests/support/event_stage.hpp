// Random fleets of publishers on one catalog, in memory: registered, changed, unregistered, doubted, dumped and evicted while they speak.
#pragma once

#include <cstddef>
#include <cstdint>
#include <list>
#include <map>
#include <memory>
#include <optional>
#include <random>
#include <set>
#include <sstream>
#include <string>
#include <vector>

#include "core/event_applier.hpp"
#include "core/eviction.hpp"
#include "core/snapshot.hpp"
#include "core/worker_numbers.hpp"
#include "tests/support/random_events.hpp"
#include "tests/support/told_model.hpp"

namespace kvc::test {

/// Some streams, what they tell, and what they are to mean.
///
/// Batches are applied in pieces, between which others have turns; a registration is changed while the old stream's blocks leave; a
/// batch may be left in the middle, and then all of the stream goes. `difference` says where answers are not those of the models: for a
/// stream that has been evicted from, where they say more. Lane: one thread plays both lanes.
class event_stage {
 public:
  struct plan {
    bool is_tidy = true;
    bool has_pages = false;
    bool has_budget = false;
  };

  event_stage(std::uint64_t seed, const plan& with);

  /// Something happens.
  void step();
  /// Everybody leaves.
  void end();

  /// Empty when all is right.
  [[nodiscard]] std::string difference();
  /// What is left when nobody is: of partitions, blocks, slots and names.
  [[nodiscard]] std::string left_behind();

  [[nodiscard]] const std::vector<std::string>& journal() const { return journal_; }
  [[nodiscard]] std::uint64_t evicted() const { return evicted_; }
  [[nodiscard]] std::uint64_t dumps() const { return dumps_; }
  [[nodiscard]] std::uint64_t applied() const { return applied_; }

 private:
  using words = std::vector<std::uint32_t>;
  struct dump {
    core::event_applier::owner owner;
    core::dump_cursor at;
    std::vector<core::dump_slice> slices;
    bool is_disturbed = false;
  };
  struct stream {
    core::registration from;
    std::size_t lane = 0;
    std::shared_ptr<core::stream_status> status;
    std::unique_ptr<core::event_applier> applier;
    std::unique_ptr<told_model> model;
    std::unique_ptr<random_events> says;
    core::apply_tally tally;
    bool is_exact = true;  ///< nothing has been evicted since it held nothing
    bool has_few_partitions = false;
    std::size_t max_orphans = 65'536;
    std::uint64_t pass = 0;  ///< of eviction, with which it is done
    std::unique_ptr<dump> told;
  };

  [[nodiscard]] std::uint64_t below(std::uint64_t bound) { return random_() % bound; }
  [[nodiscard]] bool chance(unsigned percent) { return below(100) < percent; }
  template <class... Parts>
  void note(const Parts&... parts) {
    std::ostringstream line;
    ((line << parts), ...);
    journal_.push_back(line.str());
  }
  void wrong(const std::string& what) { failures_ += "\n  " + what; }

  [[nodiscard]] stream* any_stream();
  [[nodiscard]] core::registration any_registration();
  [[nodiscard]] static std::string name_of(const core::registration& who);
  void enlist(core::registration wanted);
  void dismiss(const core::worker_key& whom);
  void go_on_leaving();
  void speak(stream& who);
  static void hash_tokens(std::optional<core::hash_recipe>& by, core::event_batch& batch);
  void beside(const stream* busy);
  void drop(stream& who, bool has_failed = false);
  void evict(const stream* busy);
  void take_stock();
  void go_on_dumping(stream& who, bool is_busy = false);
  void check_dump(stream& who);
  void compare(const core::partition_key& key, std::size_t number, std::uint64_t seed, std::ostream& out);
  void compare_counts(const stream& who, std::ostream& out) const;
  [[nodiscard]] std::vector<std::vector<core::local_hash>> queries(std::uint32_t block_size, std::uint64_t seed) const;

  std::mt19937_64 random_;
  plan plan_;
  std::vector<std::string> journal_;
  std::string failures_;
  core::catalog catalog_;
  std::vector<std::shared_ptr<core::lane_names>> lanes_{std::make_shared<core::lane_names>(), std::make_shared<core::lane_names>()};
  core::worker_numbers numbers_;
  std::unique_ptr<core::index_budget> budget_;
  placed_model blocks_;
  partition_numbers partitions_;
  std::map<core::worker_key, stream> streams_;
  std::list<stream> leaving_;
  std::set<std::weak_ptr<const core::partition>, std::owner_less<>> homes_;  ///< that were ever seen
  std::uint32_t models_ = 0;
  std::uint64_t evicted_ = 0;
  std::uint64_t dumps_ = 0;
  std::uint64_t applied_ = 0;
};

}  // namespace kvc::test

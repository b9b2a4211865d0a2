// The two indexes the behaviour suite is run against, behind one face: the real one and the strict model.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <utility>
#include <vector>

#include "core/catalog.hpp"
#include "core/eviction.hpp"
#include "core/match.hpp"
#include "tests/support/index_step.hpp"
#include "tests/support/real_worker.hpp"
#include "tests/support/strict_model.hpp"

namespace kvc::test {

using query_blocks = std::span<const core::local_hash>;

/// The index of the product: catalog, one reverse map per worker, prefix index. Single-threaded here.
class real_subject {
 public:
  static constexpr std::size_t deep_chain = 10'000;

  real_subject() : real_subject(std::make_shared<core::catalog>()) {}
  /// One of several, each with a thread of its own, whose workers meet in the partitions of one catalog.
  explicit real_subject(std::shared_ptr<core::catalog> shared) : catalog_(std::move(shared)) {}

  void add(core::worker_id worker, const worker_traits& traits);
  void join(core::worker_id worker, std::size_t partition) { workers_.at(worker)->join(partition); }
  void drop(core::worker_id worker);
  void store(core::worker_id worker, const store_step& step) { workers_.at(worker)->store(step); }
  void remove(core::worker_id worker, core::engine_hash name, core::medium_id medium, const removal_step& from = {}) {
    workers_.at(worker)->remove(name, medium, from);
  }
  void clear(core::worker_id worker, core::media_mask which, std::optional<std::size_t> only = std::nullopt,
             std::size_t budget = 1'000'000) {
    workers_.at(worker)->clear(which, only, budget);
  }

  [[nodiscard]] real_worker& worker(core::worker_id number) { return *workers_.at(number); }

  /// Makes the part of its two lanes in a pass of eviction, if one is due: lanes `first` and `first + 1` of the budget, which is one of
  /// this catalog; `slice` blocks at a time. False when there was nothing to do. Adds to `gone` how many blocks went.
  bool make_parts(core::index_budget& budget, std::size_t first, std::size_t slice, std::uint64_t& gone);
  [[nodiscard]] const core::catalog& all() const { return *catalog_; }
  /// What the names of both lanes take.
  [[nodiscard]] std::uint64_t bytes_of_names() const { return lanes_[0]->bytes_in_use() + lanes_[1]->bytes_in_use(); }

  [[nodiscard]] std::uint32_t depth(std::size_t partition, core::worker_id worker, core::media_mask among, query_blocks query) const;
  /// The same, asked by sequence hashes.
  [[nodiscard]] std::uint32_t depth_by_sequence(std::size_t partition, core::worker_id worker, core::media_mask among,
                                                query_blocks query) const;
  [[nodiscard]] std::size_t orphans(core::worker_id worker) const { return workers_.at(worker)->blocks().orphans(); }
  [[nodiscard]] std::size_t names(core::worker_id worker) const { return workers_.at(worker)->blocks().names(); }
  [[nodiscard]] std::uint64_t held_on(core::worker_id worker, core::medium_id medium) const {
    return workers_.at(worker)->blocks().held_on(medium);
  }

  /// Whole answer for a partition that somebody has joined; empty when nobody has.
  void match(std::size_t partition, query_blocks query, bool by_sequence, core::media_mask media, core::match_result& out) const;
  /// Null when nobody has joined the partition.
  [[nodiscard]] std::shared_ptr<const core::partition_view> view(std::size_t partition) const;

 private:
  std::shared_ptr<core::catalog> catalog_;
  /// Workers share two lanes, so that some write their names down together and some apart.
  std::array<std::shared_ptr<core::lane_names>, 2> lanes_{std::make_shared<core::lane_names>(), std::make_shared<core::lane_names>()};
  std::map<core::worker_id, std::unique_ptr<real_worker>> workers_;
};

/// The strict model behind the same face.
class model_subject {
 public:
  static constexpr std::size_t deep_chain = 600;  ///< the model compares whole prefixes

  void add(core::worker_id worker, const worker_traits& traits) {
    model_.add_worker(worker, traits);
    model_.join(worker, 0);
  }
  void join(core::worker_id worker, std::size_t partition) { model_.join(worker, partition); }
  void drop(core::worker_id worker) { model_.drop_worker(worker); }
  void store(core::worker_id worker, const store_step& step) { model_.store(worker, step); }
  void remove(core::worker_id worker, core::engine_hash name, core::medium_id medium, const removal_step& from = {}) {
    model_.remove(worker, name, medium, from);
  }
  void clear(core::worker_id worker, core::media_mask which, std::optional<std::size_t> only = std::nullopt, std::size_t = 0) {
    model_.clear(worker, which, only);
  }

  [[nodiscard]] std::uint32_t depth(std::size_t partition, core::worker_id worker, core::media_mask among, query_blocks query) const {
    return model_.is_worker(worker) ? model_.depth(partition, worker, among, query) : 0;
  }
  [[nodiscard]] std::uint32_t depth_by_sequence(std::size_t partition, core::worker_id worker, core::media_mask among,
                                                query_blocks query) const {
    return depth(partition, worker, among, query);
  }
  [[nodiscard]] std::size_t orphans(core::worker_id worker) const { return model_.orphans(worker); }
  [[nodiscard]] std::size_t names(core::worker_id worker) const { return model_.names(worker); }
  [[nodiscard]] std::uint64_t held_on(core::worker_id worker, core::medium_id medium) const { return model_.held_on(worker, medium); }

  [[nodiscard]] const strict_model& model() const { return model_; }

 private:
  strict_model model_;
};

}  // namespace kvc::test

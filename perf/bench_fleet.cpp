#include "perf/bench_fleet.hpp"

#include <stdexcept>
#include <utility>

#include "core/block_hasher.hpp"

namespace kvc::perf {

bench_fleet::bench_fleet(std::uint32_t workers, std::size_t lanes) : lanes_(lanes), tallies_(lanes) {
  core::partition_key key{.tenant = "default", .model = "bench", .lora = {}, .salt = {}, .block_size = 64};
  home_ = std::make_shared<core::partition>(std::move(key), core::default_hash_seed);
  std::vector<std::shared_ptr<core::lane_names>> names;
  for (std::size_t i = 0; i < lanes; ++i) names.push_back(std::make_shared<core::lane_names>());
  for (std::uint32_t i = 0; i < workers; ++i) {
    core::lane_blocks::options options;
    options.worker = core::worker_id{i};
    options.copy_counting = false;
    options.lane = names[lane_of(i)];
    workers_.push_back(std::make_unique<core::lane_blocks>(options));
  }
}

bench_fleet::~bench_fleet() = default;

void bench_fleet::store(std::uint32_t worker, const core::engine_hash* parent, std::span<const core::engine_hash> names,
                        std::span<const core::local_hash> locals, core::medium_id medium) {
  core::store_command command;
  command.home = home_;
  command.medium = medium;
  command.link = parent == nullptr ? core::store_link::root : core::store_link::parent;
  if (parent != nullptr) command.parent = *parent;
  command.names = names;
  command.locals = locals;
  workers_[worker]->store(command, tallies_[lane_of(worker)].tally);
}

void bench_fleet::remove(std::uint32_t worker, std::span<const core::engine_hash> names) {
  core::lane_blocks& blocks = *workers_[worker];
  core::apply_tally& tally = tallies_[lane_of(worker)].tally;
  blocks.remove(names, core::medium_id::gpu, tally);
}

void bench_fleet::expect(unsigned step, const bench_op& op) const {
  if (op.kind == bench_kind::query) return;
  workers_[op.worker]->expect(step, op.kind == bench_kind::store && op.has_parent ? &op.parent : nullptr, op.names);
}

std::size_t bench_fleet::apply(const bench_op& op) {
  if (op.kind == bench_kind::store) {
    store(op.worker, op.has_parent ? &op.parent : nullptr, op.names, op.locals);
  } else {
    remove(op.worker, op.names);
  }
  return op.names.size();
}

void bench_fleet::query(std::span<const core::local_hash> locals, core::match_levels& into) const {
  if (!home_->index().match(locals, scope_, into)) throw std::logic_error("the fleet of a benchmark has one medium and no pools");
}

void bench_fleet::count(const core::match_levels& found, bench_sums& sums) {
  found.each([&](std::uint32_t, std::uint32_t depth) {
    ++sums.pairs;
    sums.depth_sum += depth;
  });
}

std::uint64_t bench_fleet::entries() const {
  std::uint64_t all = 0;
  for (const auto& each : workers_) all += each->held_on(core::medium_id::gpu);
  return all;
}

}  // namespace kvc::perf

// Workers and a byte budget of the index, for tests of what has to go.
#pragma once

#include <algorithm>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include <boost/test/unit_test.hpp>

#include "core/catalog.hpp"
#include "core/eviction.hpp"
#include "core/lane_blocks.hpp"
#include "core/quiescence.hpp"
#include "tests/support/strict_model.hpp"

namespace kvc::test {

/// Workers on two lanes of one thread, a budget, and passes made as the lanes of the service make them.
struct eviction_stage {
  using path = std::vector<std::uint64_t>;  ///< the local hashes of a prompt's blocks

  struct actor {
    std::string tenant;
    std::size_t lane = 0;
    std::shared_ptr<core::partition> home;
    std::unique_ptr<core::lane_blocks> blocks;
    std::uint64_t evicted = 0;
    std::uint64_t given_up = 0;  ///< of those that waited
    bool was_warned = false;     ///< before anything went
  };

  core::catalog partitions;
  std::vector<std::shared_ptr<core::lane_names>> names{std::make_shared<core::lane_names>(), std::make_shared<core::lane_names>()};
  std::map<std::uint32_t, actor> actors;
  std::unique_ptr<core::index_budget> budget;

  void set_budget(std::uint64_t bytes) {
    budget = std::make_unique<core::index_budget>(partitions, bytes, names.size());
    budget->begin_round();
  }
  void hire(std::uint32_t number, const std::string& tenant = "default", bool copy_counting = true, std::uint32_t block_size = 1) {
    actor& hired = actors[number];
    hired.tenant = tenant;
    hired.lane = number % names.size();
    const core::member who{.id = core::worker_id{number},
                           .key = core::shared_key({.tenant = tenant, .instance = std::to_string(number)}),
                           .shared_pool = false,
                           .status = std::make_shared<core::stream_status>(),
                           .media_seen = std::make_shared<std::atomic<core::media_mask>>(core::media_mask{0})};
    const core::partition_key key{.tenant = tenant, .model = "m", .lora = "", .salt = "", .block_size = block_size};
    hired.home = partitions.join(key, test_seed, who).value();
    const core::lane_blocks::options options{.worker = who.id, .copy_counting = copy_counting, .lane = names[hired.lane]};
    hired.blocks = std::make_unique<core::lane_blocks>(options);
    if (budget) budget->begin_round();
  }
  /// Blocks that only chains of the same number have.
  static path chain_of(std::uint64_t first, std::uint64_t length) {
    path made;
    for (std::uint64_t i = 0; i < length; ++i) made.push_back(first * 1'000'000 + i);
    return made;
  }
  /// The name of a block is made of its whole prefix, as engines do.
  static std::vector<core::engine_hash> names_of(const path& chain) {
    std::vector<core::engine_hash> made;
    std::uint64_t name = 17;
    for (const std::uint64_t each : chain) made.emplace_back(name = (name ^ each) * 0x9E37'79B9'7F4A'7C15U + 1);
    return made;
  }
  static std::vector<core::local_hash> locals_of(const path& chain) {
    std::vector<core::local_hash> made;
    for (const std::uint64_t each : chain) made.emplace_back(each);
    return made;
  }
  void store(std::uint32_t number, const path& chain, std::size_t from = 0, core::medium_id medium = core::medium_id::gpu) {
    const auto all = names_of(chain);
    const auto locals = locals_of(chain);
    core::store_command command;
    command.home = actors.at(number).home;
    command.medium = medium;
    command.link = from == 0 ? core::store_link::root : core::store_link::parent;
    if (from != 0) command.parent = all[from - 1];
    command.names = std::span(all).subspan(from);
    command.locals = std::span(locals).subspan(from);
    core::apply_tally tally;
    actors.at(number).blocks->store(command, tally);
  }
  [[nodiscard]] std::uint32_t depth(std::uint32_t number, const path& chain) {
    core::match_result answer;
    actors.at(number).home->index().match(locals_of(chain), {}, answer);
    return answer.of(core::worker_id{number}).any;
  }
  /// Of chains 0 to `chains` - 1, of `length` blocks each, that the actor has stored in this order.
  void check_older_went_first(std::uint32_t number, std::uint64_t chains, std::uint64_t length) {
    std::uint64_t oldest_kept = chains;
    std::uint64_t youngest_gone = 0;
    for (std::uint64_t i = 0; i < chains; ++i) {
      if (depth(number, chain_of(i, length)) == 0) {
        youngest_gone = i;
      } else {
        oldest_kept = std::min(oldest_kept, i);
      }
    }
    BOOST_TEST(depth(number, chain_of(chains - 1, length)) == length);
    BOOST_TEST(youngest_gone < oldest_kept + 150);  // ages are looked at in steps of a quarter
  }
  std::uint64_t used() {
    for (std::size_t lane = 0; lane < names.size(); ++lane) {
      std::uint64_t bytes = names[lane]->bytes_in_use();
      std::uint64_t waiting = 0;
      for (const auto& [number, each] : actors) {
        if (each.lane != lane) continue;
        bytes += each.blocks->bytes();
        waiting += each.blocks->waiting_bytes();
      }
      budget->note_lane(lane, bytes, waiting);
    }
    (void)budget->look();
    return budget->used();
  }
  /// One lane's part of a pass, in slices of `slice`.
  void make_part(std::size_t lane, core::eviction_pass& pass, std::size_t slice) {
    for (auto& [number, each] : actors) {
      if (each.lane != lane) continue;
      for (bool is_done = false; !is_done;) {
        core::apply_tally tally;
        std::size_t left = slice;
        const auto warn = [&who = each] { who.was_warned = true; };
        is_done = each.blocks->evict_some(pass, left, warn, tally);
        if (tally.removed + tally.dropped_orphans != 0) BOOST_REQUIRE(each.was_warned);
        each.evicted += tally.removed;
        each.given_up += tally.dropped_orphans;
      }
    }
  }
  /// Looks and makes passes until there is room, or nothing more to give; answers how often.
  std::size_t relieve(std::size_t slice = 7) {
    std::size_t passes = 0;
    (void)used();
    for (; passes < 1'000; ++passes) {
      bool is_any = false;
      for (std::size_t lane = 0; lane < names.size(); ++lane) {
        const auto pass = budget->pass_for(lane);
        if (!pass) continue;
        is_any = true;
        make_part(lane, *pass, slice);
        (void)budget->finish(lane, *pass);
      }
      if (!is_any) break;
      (void)used();
    }
    (void)core::collect_retired();
    return passes;
  }
};

}  // namespace kvc::test

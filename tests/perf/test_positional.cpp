#include <algorithm>
#include <map>
#include <set>
#include <thread>
#include <vector>

#include <boost/test/unit_test.hpp>

#include "core/block_hasher.hpp"
#include "perf/bench_positional.hpp"
#include "perf/sim_mix.hpp"

BOOST_AUTO_TEST_SUITE(bench_positional)

using namespace kvc;

namespace {

using depths = std::map<std::uint32_t, std::uint32_t>;

struct chain {
  std::vector<core::local_hash> locals;
  std::vector<core::engine_hash> names;

  void add(std::uint64_t local) {
    const core::local_hash next{local};
    const auto name = names.empty() ? core::first_in_sequence(next) : core::roll(core::seq_hash{names.back().get()}, next, 0);
    locals.push_back(next);
    names.emplace_back(name.get());
  }
};

chain chain_of(std::size_t length, std::uint64_t text) {
  chain made;
  for (std::size_t i = 0; i < length; ++i) made.add(sim::mix(text + i));
  return made;
}

void store(perf::bench_positional& index, std::uint32_t worker, const chain& from, std::size_t first, std::size_t last) {
  index.store(worker, first == 0 ? nullptr : &from.names[first - 1], std::span(from.names).subspan(first, last - first),
              std::span(from.locals).subspan(first, last - first));
}

depths ask(const perf::bench_positional& index, const chain& asked) {
  perf::positional_answer answer;
  index.query(asked.locals, answer);
  depths all;
  for (const auto& each : answer.found) all.emplace(each.worker.get(), each.depth);
  BOOST_TEST(all.size() == answer.found.size());
  return all;
}

}  // namespace

BOOST_AUTO_TEST_CASE(finds_where_each_worker_leaves_a_chain) {
  // Depths on, before and behind checkpoints, and at the end of the query.
  const chain one = chain_of(300, 1);
  perf::bench_positional index(64);
  const std::vector<std::size_t> lengths{1, 63, 64, 65, 66, 128, 129, 200, 299, 300};
  depths expected;
  for (std::uint32_t worker = 0; worker < lengths.size(); ++worker) {
    store(index, worker, one, 0, lengths[worker]);
    expected.emplace(worker, static_cast<std::uint32_t>(lengths[worker]));
  }
  BOOST_TEST((ask(index, one) == expected));
  BOOST_TEST(index.entries() == 1315U);
}

BOOST_AUTO_TEST_CASE(tells_apart_prefixes_with_the_same_block_at_the_same_position) {
  // Both chains go on with the same texts behind different beginnings, so every slot behind the first holds two sequence hashes.
  chain left = chain_of(1, 10);
  chain right = chain_of(1, 20);
  for (std::uint64_t i = 0; i < 200; ++i) {
    left.add(i + 1);
    right.add(i + 1);
  }
  perf::bench_positional index(64);
  store(index, 1, left, 0, 201);
  store(index, 2, right, 0, 201);
  BOOST_TEST((ask(index, left) == depths{{1, 201}}));
  BOOST_TEST((ask(index, right) == depths{{2, 201}}));
  index.remove(1, left.names);
  BOOST_TEST(ask(index, left).empty());
  BOOST_TEST((ask(index, right) == depths{{2, 201}}));
}

BOOST_AUTO_TEST_CASE(a_lone_entry_matches_whatever_came_before_as_the_article_says) {
  // Worker 2 holds 120 blocks. Behind them the same texts are there once, with worker 1 and another beginning: as many holders, so worker 2
  // passes.
  chain left = chain_of(1, 10);
  chain right = chain_of(1, 20);
  for (std::uint64_t i = 0; i < 200; ++i) {
    left.add(i + 1);
    right.add(i + 1);
  }
  perf::bench_positional index(64);
  store(index, 1, left, 0, 201);
  store(index, 2, right, 0, 120);
  BOOST_TEST((ask(index, right) == depths{{2, 201}}));
}

BOOST_AUTO_TEST_CASE(overlooks_a_hole_between_checkpoints_as_the_article_does) {
  const chain one = chain_of(200, 3);
  perf::bench_positional jumping(64);
  perf::bench_positional walking(1);
  for (auto* index : {&jumping, &walking}) {
    store(*index, 1, one, 0, 200);
    index->remove(1, std::span(one.names).subspan(10, 1));
  }
  BOOST_TEST((ask(jumping, one) == depths{{1, 200}}));
  BOOST_TEST((ask(walking, one) == depths{{1, 10}}));
}

BOOST_AUTO_TEST_CASE(drops_and_counts_what_it_cannot_place) {
  const chain one = chain_of(20, 4);
  perf::bench_positional index;
  store(index, 1, one, 10, 20);
  BOOST_TEST(index.dropped() == 10U);
  BOOST_TEST(index.entries() == 0U);
  const chain longest = chain_of(perf::bench_positional::max_positions + 5, 5);
  store(index, 1, longest, 0, longest.names.size());
  BOOST_TEST(index.dropped() == 15U);
  BOOST_TEST(index.entries() == perf::bench_positional::max_positions);
}

BOOST_AUTO_TEST_CASE(a_query_without_blocks_finds_nobody) {
  perf::bench_positional index;
  store(index, 1, chain_of(4, 6), 0, 4);
  BOOST_TEST(ask(index, chain{}).empty());
}

BOOST_AUTO_TEST_CASE(equals_a_plain_model_while_no_chain_has_holes) {
  // Branching chains that workers hold to changing depths; tails go first, as engines evict. Then jump search is exact.
  constexpr std::uint64_t seed = 20'260'221;
  BOOST_TEST_MESSAGE("seed " << seed);
  sim::dice random(seed);
  std::vector<chain> chains;
  for (std::uint64_t i = 0; i < 12; ++i) {
    chain next;
    if (i > 0) {
      const chain& from = chains[random.below(static_cast<std::uint32_t>(i))];
      const std::size_t shared = random.below(static_cast<std::uint32_t>(from.locals.size()));
      for (std::size_t at = 0; at < shared; ++at) next.add(from.locals[at].get());
    }
    const std::size_t own = random.between(1, 200);
    for (std::size_t at = 0; at < own; ++at) next.add(random.next());
    chains.push_back(std::move(next));
  }
  perf::bench_positional index(16);
  std::vector<std::set<std::uint64_t>> held(6);
  for (int step = 0; step < 2'000; ++step) {
    const std::uint32_t worker = random.below(6);
    const chain& one = chains[random.below(12)];
    auto& own = held[worker];
    std::size_t depth = 0;
    while (depth < one.names.size() && own.contains(one.names[depth].get())) ++depth;
    if (random.below(2) == 0) {
      const std::size_t last = depth + random.below(static_cast<std::uint32_t>(one.names.size() - depth + 1));
      store(index, worker, one, depth, last);
      for (std::size_t i = depth; i < last; ++i) own.insert(one.names[i].get());
    } else {
      // Everything from one position on, on every chain that goes through it.
      const std::size_t from = random.below(static_cast<std::uint32_t>(one.names.size()));
      std::vector<core::engine_hash> gone;
      for (const chain& each : chains) {
        if (each.names.size() <= from || each.names[from] != one.names[from]) continue;
        for (std::size_t i = from; i < each.names.size(); ++i) {
          if (own.erase(each.names[i].get()) != 0) gone.push_back(each.names[i]);
        }
      }
      index.remove(worker, gone);
    }
    const chain& asked = chains[random.below(12)];
    depths expected;
    for (std::uint32_t each = 0; each < held.size(); ++each) {
      std::uint32_t reach = 0;
      while (reach < asked.names.size() && held[each].contains(asked.names[reach].get())) ++reach;
      if (reach != 0) expected.emplace(each, reach);
    }
    BOOST_REQUIRE((ask(index, asked) == expected));
  }
  std::uint64_t all = 0;
  for (const auto& each : held) all += each.size();
  BOOST_TEST(index.entries() == all);
}

BOOST_AUTO_TEST_CASE(a_reader_beside_writers_sees_only_depths_that_were) {
  // Two writers grow and shrink the same chain; whatever a reader sees lies within it, and at rest the answer is exact.
  const chain one = chain_of(256, 7);
  perf::bench_positional index(64);
  std::vector<std::thread> writers;
  for (std::uint32_t worker = 0; worker < 2; ++worker) {
    writers.emplace_back([&, worker] {
      for (int round = 0; round < 50; ++round) {
        store(index, worker, one, 0, 256);
        if (round != 49) index.remove(worker, one.names);
      }
    });
  }
  bool is_sound = true;
  perf::positional_answer answer;
  for (int round = 0; round < 500; ++round) {
    index.query(one.locals, answer);
    for (const auto& each : answer.found) is_sound &= each.worker.get() < 2 && each.depth >= 1 && each.depth <= 256;
  }
  for (auto& each : writers) each.join();
  BOOST_TEST(is_sound);
  BOOST_TEST((ask(index, one) == depths{{0, 256}, {1, 256}}));
}

BOOST_AUTO_TEST_SUITE_END()

#include <cstdint>
#include <list>
#include <string>
#include <variant>
#include <vector>

#include <boost/test/unit_test.hpp>

#include "perf/sim_engine.hpp"
#include "perf/sim_generator.hpp"
#include "perf/sim_mix.hpp"
#include "perf/sim_tokens.hpp"

BOOST_AUTO_TEST_SUITE(sim_engine)

using namespace kvc;

namespace {

/// The plainest cache that follows the rules in words: a list of chain values, the next victim first.
struct naive_cache {
  std::size_t capacity;
  std::list<std::uint64_t> evictable;

  bool has(std::uint64_t block) const {
    for (const auto each : evictable) {
      if (each == block) return true;
    }
    return false;
  }
  std::size_t matched(const sim::turn& request) const {
    std::size_t depth = 0;
    while (depth < request.prompt_blocks && has(request.chain[depth])) ++depth;
    return depth;
  }
  void serve(const sim::turn& request) {
    std::size_t used = matched(request);
    for (std::size_t i = 0; i < used; ++i) evictable.remove(request.chain[i]);
    while (used < request.chain.size() && used < capacity) {
      if (used + evictable.size() == capacity) evictable.pop_front();
      ++used;
    }
    while (used > 0) evictable.push_back(request.chain[--used]);
  }
};

/// What somebody who only hears the events believes: names that are stored, by chain value where tokens were told.
struct listener {
  std::vector<std::uint64_t> names;
  std::string wrong;

  bool has(std::uint64_t name) const {
    for (const auto each : names) {
      if (each == name) return true;
    }
    return false;
  }
  void hear(const core::event_batch& batch, std::uint32_t block_size, std::size_t capacity) {
    for (const auto& event : batch.events) {
      if (const auto* removed = std::get_if<core::removed_event>(&event)) {
        for (const auto hash : removed->hashes) {
          if (!has(hash.get())) wrong = "removed what was not there";
          std::erase(names, hash.get());
        }
      } else if (const auto* stored = std::get_if<core::stored_event>(&event)) {
        if (stored->tokens.size() != stored->hashes.size() * block_size) wrong = "tokens do not fit the blocks";
        if (stored->parent && !has(stored->parent->get())) wrong = "stored under an unknown parent";
        for (const auto hash : stored->hashes) {
          if (has(hash.get())) wrong = "stored twice";
          names.push_back(hash.get());
        }
      }
      if (names.size() > capacity) wrong = "more blocks than room";
    }
  }
};

sim::generator_shape small_traffic() {
  sim::generator_shape shape;
  shape.applications = 3;
  shape.max_system_blocks = 2;
  shape.max_sessions = 6;
  shape.max_turn_blocks = 2;
  shape.max_input_blocks = 12;
  return shape;
}

sim::turn make(std::vector<std::uint64_t> ids, std::uint32_t input, std::uint32_t output, std::uint64_t number = 0) {
  sim::trace_request request;
  request.hash_ids = std::move(ids);
  request.input_length = input;
  request.output_length = output;
  sim::turn made;
  sim::make_turn(request, number, 64, made);
  return made;
}

}  // namespace

BOOST_AUTO_TEST_CASE(behaves_like_a_naive_cache_on_random_traffic) {
  // The engine is the truth the service is measured against, so its own cleverness must not decide what is true.
  for (std::uint64_t seed = 1; seed <= 6; ++seed) {
    BOOST_TEST_CONTEXT("seed " << seed) {
      sim::dice dice(seed);
      sim::engine_shape shape;
      shape.block_size = 64;
      shape.capacity = dice.between(3, 200);
      shape.prefill_tokens = dice.between(1, 2000);
      shape.secret = seed;
      sim::engine subject(shape);
      naive_cache naive{shape.capacity, {}};
      listener heard;
      sim::trace_generator source(seed, small_traffic());
      sim::trace_request request;
      sim::turn turn;

      for (std::uint64_t number = 0; number < 60; ++number) {
        BOOST_REQUIRE(source.next(request));
        sim::make_turn(request, number, shape.block_size, turn);
        BOOST_REQUIRE_EQUAL(subject.matched(turn), naive.matched(turn));
        std::vector<core::event_batch> told;

        const auto done = subject.serve(turn, &told);
        BOOST_REQUIRE_EQUAL(done.matched_blocks, naive.matched(turn));
        naive.serve(turn);
        for (const auto& batch : told) heard.hear(batch, shape.block_size, shape.capacity);

        BOOST_REQUIRE_EQUAL(heard.wrong, "");
        BOOST_REQUIRE_EQUAL(subject.held(), naive.evictable.size());
        BOOST_REQUIRE_EQUAL(heard.names.size(), naive.evictable.size());
        BOOST_REQUIRE_EQUAL(subject.matched(turn), naive.matched(turn));
      }
    }
  }
}

BOOST_AUTO_TEST_CASE(tells_of_evictions_before_the_store_that_needs_the_room) {
  // A listener that applies events in order must never believe that an engine holds more than it can.
  sim::engine_shape shape;
  shape.capacity = 8;
  sim::engine subject(shape);
  std::vector<core::event_batch> told;
  subject.serve(make({1}, 512, 0), nullptr);

  subject.serve(make({2}, 256, 0), &told);

  BOOST_REQUIRE_EQUAL(told.size(), 1U);
  BOOST_REQUIRE_EQUAL(told[0].events.size(), 5U);
  for (std::size_t i = 0; i < 4; ++i) BOOST_TEST(std::holds_alternative<core::removed_event>(told[0].events[i]));
  BOOST_TEST(std::holds_alternative<core::stored_event>(told[0].events[4]));
}

BOOST_AUTO_TEST_CASE(frees_the_tail_first) {
  // What a prompt begins with is shared the most, so it must be what is lost last.
  sim::engine_shape shape;
  shape.capacity = 8;
  sim::engine subject(shape);
  const auto first = make({1}, 512, 0);
  subject.serve(first, nullptr);

  subject.serve(make({2}, 192, 0), nullptr);

  BOOST_TEST(subject.matched(first) == 5U);
}

BOOST_AUTO_TEST_CASE(stores_generated_blocks_one_by_one) {
  // Engines commit a block as soon as decoding fills it; 65 computed output tokens after 512 make one more full block.
  sim::engine subject({});
  std::vector<core::event_batch> told;

  const auto done = subject.serve(make({1}, 512, 66), &told);

  BOOST_TEST(done.stored_blocks == 9U);
  BOOST_REQUIRE_EQUAL(told.size(), 2U);
  const auto& last = std::get<core::stored_event>(told[1].events.at(0));
  const auto& prompt = std::get<core::stored_event>(told[0].events.at(0));
  BOOST_TEST(last.hashes.size() == 1U);
  BOOST_TEST((last.parent == prompt.hashes.back()));
}

BOOST_AUTO_TEST_CASE(keeps_only_what_fits_of_a_prompt_larger_than_the_cache) {
  // Blocks in use must not be evicted by their own request.
  sim::engine_shape shape;
  shape.capacity = 5;
  sim::engine subject(shape);
  const auto huge = make({1, 2}, 1024, 100);

  const auto done = subject.serve(huge, nullptr);

  BOOST_TEST(done.stored_blocks == 5U);
  BOOST_TEST(done.removed_blocks == 0U);
  BOOST_TEST(subject.matched(huge) == 5U);
}

BOOST_AUTO_TEST_CASE(names_blocks_in_a_way_of_its_own) {
  // Two engines never agree on names, so an index that compared engine hashes between engines would fail the strict run.
  sim::engine_shape shape;
  shape.secret = 1;
  sim::engine one(shape);
  shape.secret = 2;
  sim::engine other(shape);
  std::vector<core::event_batch> told;

  one.serve(make({1}, 512, 0), &told);
  other.serve(make({1}, 512, 0), &told);

  const auto& first = std::get<core::stored_event>(told[0].events.at(0));
  const auto& second = std::get<core::stored_event>(told[1].events.at(0));
  BOOST_TEST((first.tokens == second.tokens));
  for (std::size_t i = 0; i < first.hashes.size(); ++i) BOOST_TEST((first.hashes[i] != second.hashes[i]));
}

BOOST_AUTO_TEST_SUITE_END()

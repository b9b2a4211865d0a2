// The parts of chaos and soak that judge or deceive: a poison that nobody would swallow, or a watch that sees nothing, proves nothing.
#include <array>
#include <cstdint>
#include <numeric>
#include <span>
#include <string>
#include <unistd.h>
#include <variant>
#include <vector>

#include <boost/test/unit_test.hpp>

#include "core/medium.hpp"
#include "core/registration.hpp"
#include "net/event_codec.hpp"
#include "net/event_encode.hpp"
#include "perf/sim_dialect.hpp"
#include "perf/sim_memory_watch.hpp"
#include "perf/sim_poison.hpp"

BOOST_AUTO_TEST_SUITE(sim_parts)

using namespace kvc;

namespace {

constexpr std::uint64_t held = 4'711;
constexpr std::uint64_t own_name = 12;
const std::vector<std::uint32_t> other_tokens{1, 200, 70'000, 5};

core::event_batch removal_of(std::uint64_t name) {
  core::removed_event removed;
  removed.scope.medium = core::medium_id::gpu;
  removed.hashes = {core::engine_hash{name}};
  core::event_batch batch;
  batch.events.emplace_back(std::move(removed));
  return batch;
}

struct written {
  core::medium_table media;
  std::string payload;
  std::string empty;

  explicit written(core::event_batch batch, net::event_form form = net::event_form::vllm_map) {
    const net::encode_options how{.form = form};
    net::encode_batch(batch, media, how, payload);
    batch.events.clear();
    net::encode_batch(batch, media, how, empty);
  }
};

std::uint64_t rejected(const net::event_decoder& by) {
  return std::accumulate(by.counts().rejected.begin(), by.counts().rejected.end(), std::uint64_t{0});
}

net::error_code decode(net::event_decoder& by, const std::string& payload, core::event_batch& into) {
  return by.decode(std::as_bytes(std::span(payload)), into);
}

sim::memory_watch watch_of(const std::vector<std::uint64_t>& samples) {
  sim::memory_watch made;
  for (const std::uint64_t each : samples) made.add(each);
  return made;
}

}  // namespace

BOOST_AUTO_TEST_CASE(poison_is_left_out_and_its_neighbours_are_read) {
  // Of every kind and dialect, whatever the publisher is registered as: the batch stays readable, its own event is there, and what was put
  // in is counted as rejected.
  using enum core::publisher_type;
  const written clean(removal_of(own_name));
  const auto poisons = sim::poison_events(held, other_tokens);
  BOOST_TEST(poisons.size() >= 20U);
  for (std::size_t i = 0; i < poisons.size() * 6; ++i) {
    const std::string& poison = poisons[i / 6];
    const core::publisher_type type = std::array{automatic, vllm, sglang, tensorrt_llm, mooncake, standard}[i % 6];
    const std::string spoiled = sim::with_event(clean.payload, clean.empty, poison);
    BOOST_TEST_CONTEXT("poison " << i / 6 << " to " << core::to_string(type)) {
      BOOST_TEST(spoiled.size() == clean.payload.size() + poison.size());
      core::medium_table media;
      net::event_decoder subject(type, media);
      core::event_batch got;
      BOOST_TEST(!decode(subject, spoiled, got));
      BOOST_TEST(rejected(subject) == 1U);
      BOOST_TEST_REQUIRE(got.events.size() == 1U);
      const auto* own = std::get_if<core::removed_event>(&got.events.front());
      BOOST_TEST_REQUIRE(own != nullptr);
      BOOST_TEST((own->hashes == std::vector{core::engine_hash{own_name}}));
    }
  }
}

BOOST_AUTO_TEST_CASE(an_event_is_put_into_a_batch_without_any) {
  const written nothing(core::event_batch{});
  const auto poisons = sim::poison_events(held, other_tokens);
  const std::string spoiled = sim::with_event(nothing.payload, nothing.empty, poisons.front());
  core::medium_table media;
  net::event_decoder subject(core::publisher_type::vllm, media);
  core::event_batch got;
  BOOST_TEST(!decode(subject, spoiled, got));
  BOOST_TEST(got.events.empty());
  BOOST_TEST(rejected(subject) == 1U);
}

BOOST_AUTO_TEST_CASE(a_batch_whose_list_is_full_comes_back_as_it_is) {
  // One more would need a longer mark.
  core::event_batch batch;
  for (std::uint64_t i = 0; i < 15; ++i) {
    core::cleared_event cleared;
    batch.events.emplace_back(std::move(cleared));
  }
  const written full(std::move(batch));
  BOOST_TEST(sim::with_event(full.payload, full.empty, sim::poison_events(held, other_tokens).front()) == full.payload);
}

BOOST_AUTO_TEST_CASE(memory_that_levels_off_is_flat_however_much_it_grew_before) {
  std::vector<std::uint64_t> samples;
  for (std::uint64_t i = 0; i < 40; ++i) samples.push_back((i < 20 ? 10 + 20 * i : 400) << 20);
  const auto said = watch_of(samples).judge();
  BOOST_TEST_REQUIRE(said.has_value());
  BOOST_TEST(said->is_flat);
  BOOST_TEST(said->before == 400U << 20);
}

BOOST_AUTO_TEST_CASE(memory_that_goes_on_growing_is_not) {
  std::vector<std::uint64_t> samples;
  for (std::uint64_t i = 0; i < 40; ++i) samples.push_back((100 + 2 * i) << 20);
  const auto said = watch_of(samples).judge();
  BOOST_TEST_REQUIRE(said.has_value());
  BOOST_TEST(!said->is_flat);
  BOOST_TEST(said->after > said->before);
}

BOOST_AUTO_TEST_CASE(a_single_peak_is_no_growth_and_few_samples_say_nothing) {
  std::vector<std::uint64_t> samples(sim::memory_watch::least_samples, 100U << 20);
  samples.back() = std::uint64_t{1} << 40;
  const auto said = watch_of(samples).judge();
  BOOST_TEST_REQUIRE(said.has_value());
  BOOST_TEST(said->is_flat);
  samples.pop_back();
  BOOST_TEST(!watch_of(samples).judge().has_value());
}

BOOST_AUTO_TEST_CASE(the_memory_of_a_process_is_told_and_of_none_is_not) {
  const auto own = sim::resident_bytes(static_cast<std::uint32_t>(::getpid()));
  BOOST_TEST_REQUIRE(own.has_value());
  BOOST_TEST(*own > 1U << 20);
  BOOST_TEST(!sim::resident_bytes(0x7FFF'FFFF).has_value());
}

BOOST_AUTO_TEST_SUITE_END()

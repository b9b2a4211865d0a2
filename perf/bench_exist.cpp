#include "perf/bench_exist.hpp"

#include <algorithm>
#include <array>
#include <chrono>
#include <span>
#include <stdexcept>
#include <string_view>
#include <vector>

#include "core/object_table.hpp"
#include "perf/bench_memory.hpp"
#include "perf/sim_mix.hpp"

namespace kvc::perf {
namespace {

using steady = std::chrono::steady_clock;

double seconds_since(steady::time_point began) {
  return std::chrono::duration<double>(steady::now() - began).count();
}

}  // namespace

std::string exist_key(std::size_t number) {
  constexpr std::string_view digits = "0123456789abcdef";
  std::string key;
  for (std::uint64_t word = 0; word < 4; ++word) {
    std::uint64_t bits = sim::mix(number * 4 + word);
    for (int i = 0; i < 16; ++i, bits >>= 4U) key.push_back(digits[bits & 0xFU]);
  }
  return key;
}

void run_exist_memory(std::size_t objects, bench_report& report) {
  // Locations are few, as a store's segments are.
  constexpr std::array<std::string_view, 4> locations{"10.0.0.1:17812", "10.0.0.2:17812", "10.0.0.3:17812", "10.0.0.4:17812"};
  // Keys are made in stretches beforehand, so that only the table is timed and they are no part of its memory.
  constexpr std::size_t at_once = 4'096;
  std::vector<std::string> keys(at_once);
  for (std::size_t i = 0; i < at_once; ++i) keys[i] = exist_key(i);
  const std::size_t before = anonymous_bytes();
  core::object_table table({});
  const std::uint32_t owner = table.owner("mooncake", "default");
  double stored_s = 0;
  for (std::size_t first = 0; first < objects; first += at_once) {
    const std::size_t some = std::min(at_once, objects - first);
    for (std::size_t i = 0; i < some; ++i) keys[i] = exist_key(first + i);
    const auto began = steady::now();
    for (std::size_t i = 0; i < some; ++i) {
      const core::replica_view replica{
          .kind = core::replica_kind::memory, .state = core::replica_state::complete, .location = locations[i % locations.size()]};
      static_cast<void>(table.set(owner, keys[i], std::span(&replica, 1), 1));
    }
    stored_s += seconds_since(began);
  }
  const std::size_t after = anonymous_bytes();
  if (table.size() != objects) throw std::runtime_error("the table did not take all objects");

  const std::size_t rounds = std::max<std::size_t>(1, std::min<std::size_t>(objects, 1'000'000) / at_once);
  sim::dice random(7);
  double found_s = 0;
  std::size_t found = 0;
  std::vector<std::uint32_t> numbers(keys_per_probe);
  for (std::size_t round = 0; round < rounds; ++round) {
    for (std::string& each : keys) each = exist_key(random.below(static_cast<std::uint32_t>(objects)));
    const std::vector<std::string_view> views(keys.begin(), keys.end());
    const auto began = steady::now();
    for (std::size_t first = 0; first < at_once; first += keys_per_probe) {
      table.find_all(owner, std::span(views).subspan(first, keys_per_probe), numbers);
      found += keys_per_probe - static_cast<std::size_t>(std::ranges::count(numbers, core::no_record));
    }
    found_s += seconds_since(began);
  }
  if (found != rounds * at_once) throw std::runtime_error("objects of the table are not found");
  const auto count = static_cast<double>(objects);
  report.add("objects", count);
  report.add("bytes_per_object", static_cast<double>(after - before) / count);
  report.add("table_bytes_per_object", static_cast<double>(table.bytes()) / count);
  report.add("store_ns_per_object", stored_s * 1e9 / count);
  report.add("find_ns_per_key", found_s * 1e9 / static_cast<double>(rounds * at_once));
}

}  // namespace kvc::perf

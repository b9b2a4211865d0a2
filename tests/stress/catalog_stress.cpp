// Views of the catalog that are made of each other's parts, while lanes join and leave hundreds of partitions, for the thread sanitizer.
//
// KVC_STRESS_STEPS sets how many steps each writer takes.
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <latch>
#include <memory>
#include <random>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include <boost/test/unit_test.hpp>

#include "core/catalog.hpp"
#include "tests/support/setting.hpp"

namespace kvc::test {
BOOST_AUTO_TEST_SUITE(catalog_stress)

namespace {

using namespace kvc::core;

constexpr std::size_t writers = 2;
constexpr std::size_t readers = 2;
constexpr std::uint32_t numbers = 400;  ///< partitions there may be; several parts of a view

partition_key key_of(std::uint32_t number) {
  return {.tenant = "t", .model = "m" + std::to_string(number % 7), .lora = std::to_string(number), .salt = "", .block_size = 16};
}

member member_of(std::size_t writer) {
  return {.id = worker_id{static_cast<std::uint32_t>(writer) + 1},
          .key = shared_key({.tenant = "t", .instance = "i" + std::to_string(writer)}),
          .shared_pool = false,
          .status = std::make_shared<stream_status>(),
          .media_seen = std::make_shared<std::atomic<media_mask>>(media_mask{0})};
}

/// Joins more often than it leaves, leaves a few at a time, is called otherwise now and then; in the end it leaves everything.
void join_and_leave(core::catalog& all, std::size_t writer, std::uint64_t steps) {
  std::mt19937_64 random(writer);
  const member who = member_of(writer);
  for (std::uint64_t step = 0; step < steps; ++step) {
    const std::uint64_t what = random() % 100;
    if (what < 80) {
      (void)all.join(key_of(static_cast<std::uint32_t>(random() % numbers)), 7, who);
    } else if (what < 99) {
      const std::string end = std::to_string(random() % 100);
      all.leave(who.id, [&end](const partition_key& key) { return key.lora.ends_with(end); });
    } else {
      all.rename(who.id, shared_key({.tenant = "t", .instance = "n" + std::to_string(step)}));
    }
  }
  all.leave(who.id);
}

/// How many views were not in order, or did not find what they list, until the writers are done.
std::uint64_t read_all(const core::catalog& all, const std::atomic<bool>& done) {
  published<catalog_view>::reader view(all.view());
  std::uint64_t wrong = 0;
  while (!done.load(std::memory_order_acquire)) {
    const auto now = view.share();
    const partition_key* before = nullptr;
    std::size_t count = 0;
    for (const auto& [key, each] : now->partitions) {
      if (before != nullptr && !(*before < key)) ++wrong;
      if (each->partition->key() != key || each->members.empty() || each->members.front().key->instance.empty()) ++wrong;
      if (now->find(key) != each.get()) ++wrong;
      before = &key;
      ++count;
    }
    if (count != now->partitions.size()) ++wrong;
  }
  return wrong;
}

}  // namespace

BOOST_AUTO_TEST_CASE(a_view_is_whole_whoever_joins_and_leaves) {
  const std::uint64_t steps = setting("KVC_STRESS_STEPS", 4'000);
  core::catalog all;
  std::vector<std::uint64_t> wrong(readers, 0);
  std::atomic<bool> done{false};
  std::latch ready(writers + readers);

  std::vector<std::jthread> reading;
  for (std::size_t i = 0; i < readers; ++i) {
    reading.emplace_back([&, i] {
      ready.arrive_and_wait();
      wrong[i] = read_all(all, done);
    });
  }
  std::vector<std::jthread> writing;
  for (std::size_t i = 0; i < writers; ++i) {
    writing.emplace_back([&, i] {
      ready.arrive_and_wait();
      join_and_leave(all, i, steps);
    });
  }
  writing.clear();
  done.store(true, std::memory_order_release);
  reading.clear();

  for (const std::uint64_t each : wrong) BOOST_TEST(each == 0U);
  BOOST_TEST(all.view().get()->partitions.empty());
}

BOOST_AUTO_TEST_SUITE_END()
}  // namespace kvc::test

// Partitions are opened by events, thousands of them: what one more costs must not grow with those that are there.
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <new>
#include <string>
#include <vector>

#include <boost/test/unit_test.hpp>

#include "core/catalog.hpp"
#include "core/name_board.hpp"
#include "tests/allocation/watched_heap.hpp"

BOOST_AUTO_TEST_SUITE(catalog_cost)

namespace {

using namespace kvc::core;
using kvc::test::watched_heap;

constexpr std::uint64_t seed = 7;
constexpr std::uint32_t partitions = 4'096;
constexpr std::uint32_t watched = 100;  ///< of them: the first and the last ones are compared
constexpr std::uint32_t per_worker = 256;

/// Numbers come in an order of their own, as adapters' names do.
partition_key key_of(std::uint32_t number) {
  const std::string lora = "adapter " + std::to_string(number * 1'237 % partitions);
  return {.tenant = "tenant", .model = "model", .lora = lora, .salt = "", .block_size = 16};
}

member worker(std::uint32_t id) {
  return {.id = worker_id{id},
          .key = shared_key({.tenant = "tenant", .instance = "i" + std::to_string(id)}),
          .shared_pool = false,
          .status = nullptr,
          .media_seen = std::make_shared<std::atomic<media_mask>>(media_mask{0})};
}

std::size_t bytes_of(const std::function<void()>& work) {
  const std::size_t before = watched_heap::allocated_bytes;
  work();
  return watched_heap::allocated_bytes - before;
}

/// A catalog to which each of some workers has come with partitions of its own.
struct crowd {
  catalog all;
  std::vector<member> workers;

  crowd() {
    for (std::uint32_t id = 0; id < partitions / per_worker; ++id) workers.push_back(worker(id));
  }
  void join(std::uint32_t from, std::uint32_t to) {
    for (std::uint32_t i = from; i < to; ++i) BOOST_REQUIRE(all.join(key_of(i), seed, workers[i / per_worker]).has_value());
  }
  /// The worker of partition `number` leaves it.
  void leave(std::uint32_t number) {
    const partition_key key = key_of(number);
    all.leave(workers[number / per_worker].id, [&key](const partition_key& each) { return each == key; });
  }
};

}  // namespace

BOOST_AUTO_TEST_CASE(the_last_of_thousands_of_partitions_costs_about_what_the_first_ones_did) {
  crowd at;
  const std::size_t first = bytes_of([&] { at.join(0, watched); });
  at.join(watched, partitions - watched);
  const std::size_t last = bytes_of([&] { at.join(partitions - watched, partitions); });

  BOOST_TEST_MESSAGE("a join: " << first / watched << " bytes at first, " << last / watched << " in the end");
  BOOST_TEST(at.all.view().get()->partitions.size() == partitions);
  BOOST_TEST(last < 3 * first);
}

BOOST_AUTO_TEST_CASE(leaving_one_of_thousands_of_partitions_copies_a_small_part_of_them) {
  crowd at;
  at.join(0, partitions);
  const member stranger = worker(1'000'000);
  for (std::uint32_t number = 0; number < watched; ++number) {
    const std::size_t bytes = bytes_of([&] { at.leave(number); });
    BOOST_TEST(bytes < 16'384U);
  }
  BOOST_TEST(at.all.view().get()->partitions.size() == partitions - watched);
  const auto before = at.all.view().get();
  at.all.leave(stranger.id);
  at.all.rename(stranger.id, stranger.key);
  BOOST_TEST(at.all.view().get().get() == before.get());  // nobody has to look at another view
}

BOOST_AUTO_TEST_CASE(a_join_that_fails_for_want_of_memory_has_not_happened) {
  // It may be tried again, and whoever leaves afterwards leaves what it is in.
  bool has_failed = true;
  for (long number = 0; has_failed; ++number) {
    crowd at;
    at.join(0, 70);
    watched_heap::before_failure = number;
    try {
      (void)at.all.join(key_of(70), seed, at.workers[1]);
      has_failed = false;
    } catch (const std::bad_alloc&) {
    }
    watched_heap::before_failure = -1;
    BOOST_TEST_CONTEXT("allocation " << number) {
      BOOST_TEST(at.all.view().get()->partitions.size() == (has_failed ? 70U : 71U));
      at.all.leave(at.workers[1].id);
      BOOST_TEST(at.all.view().get()->partitions.size() == 70U);
      const auto joined = at.all.join(key_of(70), seed, at.workers[1]);
      BOOST_REQUIRE(joined.has_value());
      BOOST_TEST(((*joined)->names() == at.all.view().get()->partitions.at(key_of(0))->partition->names()));
      at.all.leave(at.workers[1].id);
      at.all.leave(at.workers[0].id);
      BOOST_TEST(at.all.view().get()->partitions.empty());
    }
  }
}

BOOST_AUTO_TEST_SUITE_END()

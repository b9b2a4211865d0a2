// Registrations that meet each other at random: whoever is listed is heard, once, and of whoever is not nothing is left.
#include <algorithm>
#include <chrono>
#include <cstdint>
#include <future>
#include <map>
#include <random>
#include <string>
#include <vector>

#include <boost/asio/co_spawn.hpp>
#include <boost/asio/use_future.hpp>
#include <boost/test/unit_test.hpp>

#include "tests/support/net/stream_fixture.hpp"
#include "tests/support/setting.hpp"

BOOST_AUTO_TEST_SUITE(fleet_lives)

namespace {

using namespace kvc;
using kvc::test::stream_fixture;

/// Nobody is there to be heard: what is under test is who is registered.
struct crowd : stream_fixture {
  using adding = std::future<core::result<net::fleet_service::added>>;
  using removing = std::future<std::vector<core::worker_key>>;

  std::mt19937_64 random;
  std::vector<adding> added;
  std::vector<removing> removed;

  explicit crowd(std::uint64_t seed) : random(seed) {}

  std::uint64_t below(std::uint64_t bound) { return random() % bound; }

  core::registration any_registration() {
    core::registration made;
    made.worker = {.tenant = "default",
                   .instance = "i" + std::to_string(below(3)),
                   .rank = core::dp_rank{static_cast<std::uint32_t>(below(2))},
                   .kind = below(5) == 0 ? core::publisher_class::pool : core::publisher_class::engine};
    made.partition = {.tenant = "default", .model = "m", .lora = below(3) == 0 ? "a" : "", .salt = "", .block_size = block_size};
    made.endpoint = "tcp://127.0.0.1:" + std::to_string(1 + below(3));
    if (below(6) == 0) {
      made.bind = true;
      made.endpoint = "ipc://@kvc-fleet-lives-" + std::to_string(below(2));
    }
    made.hash_seed = below(6) == 0 ? 7 : core::default_hash_seed;
    made.shared = below(2) == 0;
    return made;
  }
  void begin_something() {
    if (below(3) != 0) {
      added.push_back(boost::asio::co_spawn(context, fleet.add(any_registration()), boost::asio::use_future));
      return;
    }
    net::fleet_service::selector which;
    which.tenant = "default";
    which.instance = "i" + std::to_string(below(3));
    if (below(2) == 0) which.rank = core::dp_rank{static_cast<std::uint32_t>(below(2))};
    removed.push_back(boost::asio::co_spawn(context, fleet.remove(which), boost::asio::use_future));
  }
  static bool are_done(auto& futures) {
    return std::ranges::all_of(futures, [](auto& each) { return each.wait_for(std::chrono::seconds(0)) == std::future_status::ready; });
  }
  /// What is answered is done.
  bool settle() {
    if (!eventually([&] { return are_done(added) && are_done(removed); })) return false;
    for (adding& each : added) (void)each.get();
    for (removing& each : removed) (void)each.get();
    added.clear();
    removed.clear();
    return true;
  }
  /// Workers by their streams, as the catalog knows them.
  std::map<const core::stream_status*, std::size_t> members() {
    std::map<const core::stream_status*, std::size_t> found;
    const auto view = catalog.view().get();
    for (const auto& [key, each] : view->partitions) {
      for (const core::member& one : each->members) ++found[one.status.get()];
    }
    return found;
  }
};

}  // namespace

BOOST_AUTO_TEST_CASE(whoever_is_listed_is_a_member_and_nobody_else) {
  const std::uint64_t seeds = kvc::test::setting("KVC_LIVES_SEEDS", 4);
  for (std::uint64_t seed = 1; seed <= seeds; ++seed) {
    BOOST_TEST_CONTEXT("seed " << seed) {
      crowd all(seed);
      for (int round = 0; round < 15; ++round) {
        for (std::uint64_t left = 1 + all.below(6); left != 0; --left) all.begin_something();
        BOOST_REQUIRE(all.settle());
        auto members = all.members();
        const auto listed = all.fleet.view().get();
        for (const auto& each : *listed) BOOST_TEST(members[each->status.get()] == 1U);
        BOOST_TEST(members.size() == listed->size());
      }
      for (int instance = 0; instance < 3; ++instance) {
        net::fleet_service::selector which;
        which.tenant = "default";
        which.instance = "i" + std::to_string(instance);
        (void)all.await(all.fleet.remove(which));
      }
      BOOST_TEST(all.fleet.view().get()->empty());
      BOOST_TEST(all.catalog.view().get()->partitions.empty());
    }
  }
}

BOOST_AUTO_TEST_SUITE_END()

#include "net/object_shelves.hpp"

#include <algorithm>
#include <memory>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include <boost/test/unit_test.hpp>

#include "core/catalog.hpp"
#include "net/runtime.hpp"

namespace kvc::test {
BOOST_AUTO_TEST_SUITE(object_shelves)

namespace {

/// Applies one event of a backend. How many were refused.
std::uint64_t apply(net::object_shelves& shelves, const std::string& backend, core::event event,
                    const std::shared_ptr<net::index_inlet>& speaker = {}) {
  core::event_batch batch;
  batch.events.emplace_back(std::move(event));
  core::object_tally tally;
  net::object_shelves::progress at;
  while (!shelves.apply_some(batch, {.backend = backend, .tenant = "default"}, at, tally, speaker)) continue;
  return tally.refused;
}

core::object_event listed(const std::string& key, const std::vector<core::medium_id>& media) {
  core::object_event event;
  event.scope.object_key = key;
  event.what = core::object_event::change::updated;
  for (const core::medium_id each : media) {
    const auto kind = each == core::medium_id::cpu ? core::replica_kind::memory : core::replica_kind::local_disk;
    event.replicas.push_back({each, "10.0.0.1:6000", kind});
  }
  return event;
}

/// The object "key" of a backend is in memory now, or nowhere. How many were refused.
std::uint64_t tell(net::object_shelves& shelves, const std::string& backend, bool is_there) {
  return apply(shelves, backend, listed("key", is_there ? std::vector{core::medium_id::cpu} : std::vector<core::medium_id>()));
}

bool has(const net::object_shelves& shelves, const std::string& backend) {
  const auto number = shelves.find(backend);
  return number && shelves.read(*number, [&](const core::object_table& table) {
    const std::uint32_t owner = table.find_owner(backend, "default");
    return owner != core::no_record && table.find(owner, "key") != core::no_record;
  });
}

/// A stream of which nothing is wanted but that it is there.
struct deaf_inlet final : net::index_inlet {
  void take_changes(net::changed_objects /*what*/) override {}
  void lose_track() override {}
  void names_of(const core::partition_key& /*home*/, std::span<const core::seq_hash> /*blocks*/,
                std::vector<core::named_block>& /*into*/) const override {}
};

/// A stream that writes down what it is told of.
struct listening_inlet final : net::index_inlet {
  void take_changes(net::changed_objects what) override {
    for (const std::string& each : what.keys) heard.push_back(what.tenant + " " + each);
  }
  void lose_track() override { heard.emplace_back("lost track"); }
  void names_of(const core::partition_key& /*home*/, std::span<const core::seq_hash> /*blocks*/,
                std::vector<core::named_block>& /*into*/) const override {}
  std::vector<std::string> heard;
};

std::string pod(std::size_t number) {
  return "pod-" + std::to_string(number);
}

}  // namespace

BOOST_AUTO_TEST_CASE(backends_that_came_and_went_leave_room_for_others) {
  net::object_shelves shelves({});
  for (std::size_t i = 0; i < 4 * net::object_shelves::most_backends; ++i) {
    BOOST_REQUIRE(tell(shelves, pod(i), true) == 0U);
    BOOST_REQUIRE(has(shelves, pod(i)));
    BOOST_REQUIRE(tell(shelves, pod(i), false) == 0U);
    BOOST_REQUIRE(!has(shelves, pod(i)));
  }
  // The name of one that has given way is as new.
  BOOST_TEST(tell(shelves, pod(0), true) == 0U);
  BOOST_TEST(has(shelves, pod(0)));
}

BOOST_AUTO_TEST_CASE(backends_with_objects_or_a_store_stay) {
  net::object_shelves shelves({});
  const auto with_store = shelves.keep("store");
  BOOST_REQUIRE(with_store.has_value());
  for (std::size_t i = 1; i < net::object_shelves::most_backends; ++i) BOOST_REQUIRE(tell(shelves, pod(i), true) == 0U);
  BOOST_TEST(tell(shelves, "more", true) == 1U);
  BOOST_TEST(!has(shelves, "more"));
  BOOST_TEST(!shelves.keep("more").has_value());

  BOOST_TEST(tell(shelves, pod(7), false) == 0U);
  BOOST_TEST(tell(shelves, "more", true) == 0U);
  BOOST_TEST(has(shelves, "more"));
  BOOST_TEST(has(shelves, pod(8)));
  BOOST_TEST((shelves.find("store") == with_store));

  BOOST_TEST(tell(shelves, "one more", true) == 1U);
  shelves.release(*with_store);
  BOOST_TEST(tell(shelves, "one more", true) == 0U);
  BOOST_TEST(!shelves.find("store").has_value());
}

BOOST_AUTO_TEST_CASE(a_backend_is_in_use_with_a_store_a_stream_or_objects) {
  core::catalog catalog;
  net::runtime lanes(1, catalog);
  net::object_shelves shelves({});
  BOOST_TEST(!shelves.is_in_use("a"));

  const auto number = shelves.keep("a");
  BOOST_REQUIRE(number.has_value());
  BOOST_TEST(!shelves.is_in_use("a"));  // a webhook's, say, which is told and tells nothing
  shelves.set_asked(*number, true);
  BOOST_TEST(shelves.is_in_use("a"));
  shelves.release(*number);
  BOOST_TEST(!shelves.is_in_use("a"));

  auto stream = std::make_shared<deaf_inlet>();
  BOOST_REQUIRE(shelves.attach("a", lanes.at(0), stream));
  BOOST_TEST(shelves.is_in_use("a"));
  stream.reset();
  BOOST_TEST(!shelves.is_in_use("a"));

  BOOST_REQUIRE(tell(shelves, "a", true) == 0U);
  BOOST_TEST(shelves.is_in_use("a"));
  BOOST_REQUIRE(tell(shelves, "a", false) == 0U);
  BOOST_TEST(!shelves.is_in_use("a"));
}

// Masters lead in turn, and each publishes: what the next one evicted stayed in the index of the one before for ever.
BOOST_AUTO_TEST_CASE(what_one_stream_tells_the_loss_of_is_told_to_the_others_of_its_backend) {
  using core::medium_id;
  using texts = std::vector<std::string>;
  core::catalog catalog;
  net::runtime lanes(1, catalog);
  net::object_shelves shelves({});
  const auto leads = std::make_shared<listening_inlet>();
  const auto led = std::make_shared<listening_inlet>();
  const auto another = std::make_shared<listening_inlet>();
  BOOST_REQUIRE(shelves.attach("a", lanes.at(0), leads));
  BOOST_REQUIRE(shelves.attach("a", lanes.at(0), led));
  BOOST_REQUIRE(shelves.attach("b", lanes.at(0), another));
  const auto hears = [&](core::event said) {
    led->heard.clear();
    BOOST_TEST(apply(shelves, "a", std::move(said), leads) == 0U);
    lanes.at(0).context.poll();
    std::ranges::sort(led->heard);
    return led->heard;
  };
  core::object_event gone;
  gone.scope.object_key = "c";
  gone.scope.tenant = "ada";
  gone.what = core::object_event::change::removed;
  core::object_event stored;
  stored.scope = gone.scope;
  core::cleared_event memory_cleared;
  memory_cleared.scope.medium = medium_id::cpu;

  for (const char* key : {"a", "b", "d"}) BOOST_TEST((hears(listed(key, {medium_id::cpu, medium_id::disk})) == texts{}));
  BOOST_TEST((hears(stored) == texts{}));
  BOOST_TEST((hears(listed("a", {medium_id::disk})) == texts{"default a"}));
  BOOST_TEST((hears(listed("b", {})) == texts{"default b"}));
  BOOST_TEST((hears(gone) == texts{"ada c"}));
  BOOST_TEST((hears(gone) == texts{}));
  BOOST_TEST((hears(memory_cleared) == texts{"default d"}));
  BOOST_TEST((hears(core::cleared_event{}) == texts{"default a", "default d"}));
  BOOST_TEST((leads->heard == texts{}));
  BOOST_TEST((another->heard == texts{}));
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace kvc::test

#include "core/object_feed.hpp"

#include <string>
#include <vector>

#include <boost/test/unit_test.hpp>

namespace kvc::test {
namespace {

using core::no_record;
using enum core::replica_kind;
using enum core::replica_state;

struct feed_fixture {
  core::object_table table{core::object_table::options{}};
  core::object_source from{"store-1", "default"};
  core::object_tally tally;

  void apply(const core::event& what) { core::apply_object_event(what, from, 1, table, tally); }

  [[nodiscard]] std::uint32_t find(std::string_view key, std::string_view backend = "store-1", std::string_view tenant = "default") const {
    const std::uint32_t owner = table.find_owner(backend, tenant);
    return owner == no_record ? no_record : table.find(owner, key);
  }
  [[nodiscard]] bool has(std::string_view key, core::replica_kind kind) const {
    const std::uint32_t object = find(key);
    return object != no_record && table.replicas(object).has(kind, complete);
  }
};

core::event_scope scope_of(std::string key, std::optional<core::replica_kind> kind = {}) {
  core::event_scope scope;
  scope.object_key = std::move(key);
  scope.replica = kind;
  if (kind) scope.medium = *kind == memory ? core::medium_id::cpu : core::medium_id::disk;
  return scope;
}

core::stored_event stored(std::string key, core::replica_kind kind, std::uint64_t name) {
  core::stored_event event;
  event.scope = scope_of(std::move(key), kind);
  event.hashes = {core::engine_hash{name}};
  return event;
}

core::removed_event removed(std::string key, core::replica_kind kind, bool all_media) {
  core::removed_event event;
  event.scope = scope_of(std::move(key), kind);
  event.all_media = all_media;
  return event;
}

core::object_event listed(std::string key, core::object_event::change what, std::vector<core::object_replica> replicas) {
  core::object_event event;
  event.scope = scope_of(std::move(key));
  event.what = what;
  event.replicas = std::move(replicas);
  return event;
}

}  // namespace

BOOST_FIXTURE_TEST_SUITE(object_feeds, feed_fixture)

BOOST_AUTO_TEST_CASE(a_list_of_replicas_is_the_whole_truth_and_an_empty_one_the_end) {
  using change = core::object_event::change;
  apply(listed("key", change::stored, {{core::medium_id::cpu, "a", memory}, {core::medium_id::disk, "b", local_disk}}));
  BOOST_TEST(has("key", memory));
  BOOST_TEST(has("key", local_disk));

  apply(listed("key", change::updated, {{core::medium_id::disk, "b", local_disk}}));
  BOOST_TEST(!has("key", memory));
  BOOST_TEST(has("key", local_disk));

  apply(listed("key", change::updated, {}));
  BOOST_TEST(find("key") == no_record);
}

BOOST_AUTO_TEST_CASE(media_are_told_one_by_one_and_removed_together_or_one_by_one) {
  apply(stored("key", memory, 7));
  apply(stored("key", local_disk, 7));
  BOOST_TEST(has("key", memory));
  BOOST_TEST(has("key", local_disk));
  BOOST_TEST(table.first_of_block(7) == find("key"));

  apply(removed("key", memory, false));
  BOOST_TEST(!has("key", memory));
  BOOST_TEST(has("key", local_disk));

  apply(stored("key", memory, 7));
  apply(removed("key", memory, true));
  BOOST_TEST(find("key") == no_record);
  BOOST_TEST(table.first_of_block(7) == no_record);
}

BOOST_AUTO_TEST_CASE(what_leaves_its_last_known_medium_is_doubtful_and_what_is_removed_is_not) {
  std::vector<core::named_object> doubtful;
  tally.doubtful = &doubtful;
  apply(stored("both", memory, 1));
  apply(stored("both", local_disk, 1));
  apply(removed("both", memory, false));
  apply(stored("deleted", memory, 2));
  apply(removed("deleted", memory, true));
  BOOST_TEST(doubtful.empty());

  apply(stored("evicted", memory, 3));
  apply(removed("evicted", memory, false));
  apply(removed("unheard of", memory, false));
  BOOST_REQUIRE(doubtful.size() == 2U);
  BOOST_TEST(doubtful[0].key == "evicted");
  BOOST_TEST(doubtful[0].tenant == "default");
  BOOST_TEST(doubtful[1].key == "unheard of");
}

BOOST_AUTO_TEST_CASE(a_disk_that_is_not_named_may_be_either) {
  apply(listed("key", core::object_event::change::stored, {{core::medium_id::disk, "a", disk}, {core::medium_id::cpu, "b", memory}}));
  apply(removed("key", local_disk, false));

  BOOST_TEST(!has("key", disk));
  BOOST_TEST(has("key", memory));
}

BOOST_AUTO_TEST_CASE(backends_and_tenants_of_events_go_before_those_of_the_stream) {
  core::stored_event event = stored("key", memory, 1);
  event.scope.backend = "store-2";
  event.scope.tenant = "ada";
  apply(event);

  BOOST_TEST(find("key") == no_record);
  BOOST_TEST(find("key", "store-2", "ada") != no_record);
}

BOOST_AUTO_TEST_CASE(what_cannot_be_an_object_is_counted) {
  apply(stored(std::string(2'000, 'k'), memory, 1));
  apply(stored("a\xFF", memory, 1));
  BOOST_TEST(tally.refused == 2U);
  BOOST_TEST(table.size() == 0U);

  apply(stored("", memory, 1));  // blocks of no object
  BOOST_TEST(tally.refused == 2U);
}

BOOST_AUTO_TEST_CASE(a_clear_says_whose_objects_go) {
  core::cleared_event all;
  core::cleared_event one;
  one.scope.tenant = "ada";

  BOOST_TEST(core::cleared_by(all, from)->backend == "store-1");
  BOOST_TEST(!core::cleared_by(all, from)->tenant);
  BOOST_TEST(*core::cleared_by(one, from)->tenant == "ada");
  BOOST_TEST(!core::cleared_by(stored("key", memory, 1), from));
}

BOOST_AUTO_TEST_CASE(a_clear_of_a_medium_says_which_replicas_go) {
  // Clearing the disk took the copies in memory out of the table, too, but not out of the index.
  const auto kinds_of = [this](const core::event_scope& scope) {
    return core::cleared_by(core::cleared_event{.scope = scope}, from)->kinds;
  };
  core::event_scope on_cpu;
  on_cpu.medium = core::medium_id::cpu;
  core::event_scope on_disk;
  on_disk.medium = core::medium_id::disk;

  BOOST_TEST(kinds_of({}).empty());
  BOOST_TEST((kinds_of(on_cpu) == std::vector{memory}));
  BOOST_TEST((kinds_of(on_disk) == std::vector{local_disk, disk}));
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace kvc::test

#include "core/catalog.hpp"

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include <boost/test/unit_test.hpp>

BOOST_AUTO_TEST_SUITE(catalog)

namespace {

using namespace kvc::core;

constexpr std::uint64_t seed = 1337;

partition_key key_of(std::string model) {
  return {.tenant = "default", .model = std::move(model), .lora = "", .salt = "", .block_size = 16};
}

member worker(std::uint32_t id, std::string instance, std::uint32_t rank = 0, publisher_class kind = publisher_class::engine,
              bool shared = false) {
  return {.id = worker_id{id},
          .key = shared_key({.tenant = "default", .instance = std::move(instance), .rank = dp_rank{rank}, .kind = kind}),
          .shared_pool = shared,
          .status = std::make_shared<stream_status>(),
          .media_seen = std::make_shared<std::atomic<media_mask>>(media_mask{0})};
}

std::vector<std::uint32_t> ids(std::span<const member> members) {
  std::vector<std::uint32_t> found;
  for (const member& each : members) found.push_back(each.id.get());
  return found;
}

BOOST_AUTO_TEST_CASE(the_first_worker_opens_a_partition_and_the_last_closes_it) {
  // Partitions of models that nobody serves any more cost nothing.
  kvc::core::catalog all;
  BOOST_TEST(all.view().get()->partitions.empty());
  const auto opened = all.join(key_of("m"), seed, worker(1, "a"));
  const auto again = all.join(key_of("m"), seed, worker(2, "b"));
  BOOST_REQUIRE((opened && again));

  BOOST_TEST(opened->get() == again->get());
  BOOST_TEST(((*opened)->key() == key_of("m")));
  BOOST_TEST((*opened)->seed() == seed);
  all.leave(worker_id{1});
  BOOST_TEST(all.view().get()->partitions.size() == 1U);
  all.leave(worker_id{2});
  BOOST_TEST(all.view().get()->partitions.empty());
  const auto reopened = all.join(key_of("m"), seed, worker(3, "a"));
  BOOST_TEST(reopened->get() != opened->get());
}

BOOST_AUTO_TEST_CASE(joining_twice_changes_nothing) {
  // Every event of a stream may ask for its partition.
  kvc::core::catalog all;
  (void)all.join(key_of("m"), seed, worker(1, "a"));
  const auto before = all.view().get();
  (void)all.join(key_of("m"), seed, worker(1, "a"));

  BOOST_TEST(all.view().get().get() == before.get());
}

BOOST_AUTO_TEST_CASE(another_seed_is_refused) {
  // Hashes under two seeds never meet, so a partition has one.
  kvc::core::catalog all;
  (void)all.join(key_of("m"), seed, worker(1, "a"));
  const auto refused = all.join(key_of("m"), 7, worker(2, "b"));

  BOOST_TEST(!refused.has_value());
  BOOST_TEST((refused.error() == errc::seed_conflict));
  BOOST_TEST(!all.accepts(key_of("m"), 7));
  BOOST_TEST(all.accepts(key_of("m"), seed));
  BOOST_TEST(all.accepts(key_of("other"), 7));
  BOOST_TEST(ids(all.view().get()->find(key_of("m"))->members) == std::vector<std::uint32_t>{1});
}

BOOST_AUTO_TEST_CASE(a_view_stays_as_it_was) {
  // A query keeps the view it began with, whoever joins or leaves meanwhile.
  kvc::core::catalog all;
  (void)all.join(key_of("m"), seed, worker(1, "a"));
  const auto before = all.view().get();
  all.leave(worker_id{1});

  BOOST_TEST(before->find(key_of("m"))->members.size() == 1U);
  BOOST_TEST(all.view().get()->find(key_of("m")) == nullptr);
}

BOOST_AUTO_TEST_CASE(members_are_sorted_for_answers) {
  // Answers list instances and ranks in order without sorting per query.
  kvc::core::catalog all;
  (void)all.join(key_of("m"), seed, worker(5, "b", 1));
  (void)all.join(key_of("m"), seed, worker(6, "b", 0));
  (void)all.join(key_of("m"), seed, worker(7, "a", 3));
  (void)all.join(key_of("m"), seed, worker(8, "a", 3, publisher_class::pool));

  BOOST_TEST(ids(all.view().get()->find(key_of("m"))->members) == (std::vector<std::uint32_t>{7, 8, 6, 5}),
             boost::test_tools::per_element());
}

BOOST_AUTO_TEST_CASE(a_renamed_member_stands_where_its_new_name_belongs) {
  // Of another rank than was thought, in every partition it is in; who reads the old view goes on reading it.
  kvc::core::catalog all;
  for (const auto* model : {"m", "n"}) {
    (void)all.join(key_of(model), seed, worker(5, "a", 2));
    (void)all.join(key_of(model), seed, worker(6, "a", 1));
  }
  (void)all.join(key_of("o"), seed, worker(6, "a", 1));
  const auto before = all.view().get();
  all.rename(worker_id{5}, worker(5, "a", 0).key);

  for (const auto* model : {"m", "n"}) {
    const auto& members = all.view().get()->find(key_of(model))->members;
    BOOST_TEST(ids(members) == (std::vector<std::uint32_t>{5, 6}), boost::test_tools::per_element());
    BOOST_TEST((members[0].key->rank == dp_rank{0}));
    BOOST_TEST((before->find(key_of(model))->members[1].key->rank == dp_rank{2}));
  }
  BOOST_TEST(all.view().get()->find(key_of("o")) == before->find(key_of("o")));
}

BOOST_AUTO_TEST_CASE(shared_pools_are_listed_in_order) {
  // The query looks pools up by binary search.
  kvc::core::catalog all;
  (void)all.join(key_of("m"), seed, worker(9, "x", 0, publisher_class::pool, true));
  (void)all.join(key_of("m"), seed, worker(4, "y", 0, publisher_class::pool, true));
  (void)all.join(key_of("m"), seed, worker(1, "a"));
  const auto view = all.view().get();
  const auto& scope = view->find(key_of("m"))->scope;

  BOOST_TEST((scope.pools == std::vector<worker_id>{worker_id{4}, worker_id{9}}));
  BOOST_TEST(scope.private_pools.empty());
}

BOOST_AUTO_TEST_CASE(private_pools_lend_to_their_instance) {
  // A pool that is not shared serves the ranks of its own instance, or itself while there are none.
  kvc::core::catalog all;
  (void)all.join(key_of("m"), seed, worker(9, "a", 0, publisher_class::pool));
  (void)all.join(key_of("m"), seed, worker(2, "b"));
  auto view = all.view().get();
  BOOST_REQUIRE(view->find(key_of("m"))->scope.private_pools.size() == 1U);
  BOOST_TEST((view->find(key_of("m"))->scope.private_pools[0].users == std::vector<worker_id>{worker_id{9}}));

  (void)all.join(key_of("m"), seed, worker(3, "a", 0));
  (void)all.join(key_of("m"), seed, worker(1, "a", 1));
  view = all.view().get();
  BOOST_TEST((view->find(key_of("m"))->scope.private_pools[0].users == std::vector<worker_id>{worker_id{3}, worker_id{1}}));
}

BOOST_AUTO_TEST_CASE(each_of_many_pools_lends_to_its_own_instance) {
  // A fleet with a store beside every engine; instances of one name in two tenants are two.
  constexpr std::uint32_t instances = 20;
  kvc::core::catalog all;
  for (std::uint32_t i = 0; i < instances; ++i) {
    const std::string name = "i" + std::to_string(i);
    for (std::uint32_t rank = 0; rank < 2; ++rank) (void)all.join(key_of("m"), seed, worker(1'000 + 2 * i + rank, name, rank));
    (void)all.join(key_of("m"), seed, worker(100 - i, name, 0, publisher_class::pool));
  }
  member foreign = worker(200, "i7", 0, publisher_class::pool);
  foreign.key = shared_key({.tenant = "other", .instance = "i7", .rank = dp_rank{0}, .kind = publisher_class::pool});
  (void)all.join(key_of("m"), seed, foreign);

  const auto view = all.view().get();
  const auto& lent = view->find(key_of("m"))->scope.private_pools;
  BOOST_REQUIRE(lent.size() == instances + 1);
  for (std::uint32_t i = 0; i < instances; ++i) {
    const auto& each = lent[instances - 1 - i];  // sorted by pool
    BOOST_TEST(each.pool.get() == 100 - i);
    BOOST_TEST((each.users == std::vector<worker_id>{worker_id{1'000 + 2 * i}, worker_id{1'001 + 2 * i}}));
  }
  BOOST_TEST((lent.back().users == std::vector<worker_id>{worker_id{200}}));
}

BOOST_AUTO_TEST_CASE(leaving_leaves_every_partition) {
  // A worker with adapters is a member of many.
  kvc::core::catalog all;
  for (const char* model : {"m", "n", "o"}) (void)all.join(key_of(model), seed, worker(1, "a"));
  (void)all.join(key_of("n"), seed, worker(2, "b"));
  all.leave(worker_id{1});
  all.leave(worker_id{77});  // never a member

  const auto view = all.view().get();
  BOOST_TEST(view->partitions.size() == 1U);
  BOOST_TEST(ids(view->find(key_of("n"))->members) == std::vector<std::uint32_t>{2});
}

BOOST_AUTO_TEST_CASE(partitions_that_differ_by_their_adapter_share_what_engines_tell_pools) {
  // And only those, for as long as there is one of them.
  const auto names_in = [](kvc::core::catalog& all, const partition_key& key, std::uint32_t who) {
    return (*all.join(key, seed, worker(who, "a")))->names();
  };
  const partition_key plain = key_of("m");
  partition_key adapted = plain;
  adapted.lora = "l";
  kvc::core::catalog all;
  const auto names = names_in(all, plain, 1);
  BOOST_TEST(names_in(all, adapted, 2) == names);
  std::vector<partition_key> others(4, adapted);
  others[0].salt = "s";
  others[1].block_size = 32;
  others[2].model = "n";
  others[3].tenant = "t";
  for (const partition_key& other : others) BOOST_TEST(names_in(all, other, 3) != names);
  all.leave(worker_id{1});
  BOOST_TEST(names_in(all, plain, 4) == names);
  all.leave(worker_id{2});
  all.leave(worker_id{4});
  BOOST_TEST(names_in(all, adapted, 5) != names);
}

BOOST_AUTO_TEST_CASE(leaving_some_partitions_leaves_the_others_as_they_are) {
  // A worker gives up adapters of which it holds nothing any more; it may come back to them, and it is known wherever it is.
  kvc::core::catalog all;
  const auto model_of = [](std::uint32_t number) { return "m" + std::to_string(number); };
  for (std::uint32_t i = 0; i < 300; ++i) (void)all.join(key_of(model_of(i)), seed, worker(1, "a", 2));
  for (std::uint32_t i = 0; i < 300; i += 3) (void)all.join(key_of(model_of(i)), seed, worker(2, "b"));
  all.leave(worker_id{1}, [](const partition_key& each) { return each.model.ends_with('0') || each.model.ends_with('5'); });
  (void)all.join(key_of("m10"), seed, worker(1, "a", 2));
  all.rename(worker_id{1}, worker(1, "a", 0).key);

  const auto view = all.view().get();
  for (std::uint32_t i = 0; i < 300; ++i) {
    const bool has_first = i % 5 != 0 || i == 10;
    const bool has_second = i % 3 == 0;
    const partition_view* const found = view->find(key_of(model_of(i)));
    BOOST_REQUIRE((found != nullptr) == (has_first || has_second));
    if (found == nullptr) continue;
    BOOST_TEST(found->members.size() == (has_first ? 1U : 0U) + (has_second ? 1U : 0U));
    BOOST_TEST((found->by_worker.find(worker_id{1}) != nullptr) == has_first);
    BOOST_TEST((found->members.front().key->rank == dp_rank{0}));
  }
  all.leave(worker_id{1});
  BOOST_TEST(all.view().get()->partitions.size() == 100U);
  all.leave(worker_id{2});
  BOOST_TEST(all.view().get()->partitions.empty());
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace

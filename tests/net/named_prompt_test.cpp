// Queries that tell their prompt by the names of engines, over real sockets: what a router of a fleet with one seed sees.
#include "net/named_prompt.hpp"

#include <atomic>
#include <chrono>
#include <cstdint>
#include <future>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include <boost/asio/co_spawn.hpp>
#include <boost/asio/post.hpp>
#include <boost/asio/use_future.hpp>
#include <boost/test/unit_test.hpp>

#include "core/event_applier.hpp"
#include "net/event_encode.hpp"
#include "net/msgpack_tape.hpp"
#include "tests/support/net/engines_fixture.hpp"
#include "tests/support/net/payloads.hpp"
#include "tests/support/net/told_stream.hpp"

BOOST_AUTO_TEST_SUITE(named_prompt)

namespace {

using namespace kvc;
using kvc::test::api_fixture;
using kvc::test::fake_publisher;
using kvc::test::removed_payload;
using kvc::test::stored_payload;
using kvc::test::tokens_from;

struct two_engines : kvc::test::engines_fixture {
  two_engines() {
    join(first, "first");
    join(second, "second");
  }
  /// The rows of all instances.
  [[nodiscard]] std::string by_tokens(const std::vector<std::uint32_t>& prompt) {
    std::string body = R"({"model":"m","block_size":4,"token_ids":[)";
    for (const std::uint32_t token : prompt) body += std::to_string(token) + ",";
    body.back() = ']';
    return service.post("/query", body + "}").body;
  }
};

std::string query_of(const std::string& names, const std::string& more = "") {
  return R"({"model":"m","block_size":4,"hash_kind":"engine","seq_hashes":[)" + names + "]" + more + "}";
}

std::vector<std::uint64_t> numbers_from(std::uint64_t first, std::uint64_t count) {
  std::vector<std::uint64_t> made;
  for (std::uint64_t i = 0; i < count; ++i) made.push_back(first + i);
  return made;
}

std::string listed(const std::vector<std::uint64_t>& names) {
  std::string text;
  for (const std::uint64_t each : names) text += (text.empty() ? "" : ",") + std::to_string(each);
  return text;
}

}  // namespace

BOOST_AUTO_TEST_CASE(the_names_of_a_prompt_find_what_its_tokens_find) {
  // Engines of two lanes hold beginnings of it, one of them a fork; every form of a number is read.
  two_engines at;
  at.first.publish(stored_payload({11, 12, 13}, {}, tokens_from(0, 3)));
  at.second.publish(stored_payload({11, 12, 13, 14}, {}, tokens_from(0, 4)));
  BOOST_REQUIRE(at.reaches("first", tokens_from(0, 5), 12));
  BOOST_REQUIRE(at.reaches("second", tokens_from(0, 5), 16));
  const std::string expected = at.by_tokens(tokens_from(0, 5));

  BOOST_TEST(at.service.post("/query_by_hash", query_of("11,12,13,14,15")).body == expected);
  BOOST_TEST(at.service.post("/query_by_hash", query_of(R"("0xb","12","0x0d",14)")).body == expected);
  BOOST_TEST(at.service.post("/query_by_hash", query_of("11,12,99,14")).body == at.by_tokens(tokens_from(0, 2)));
  // The word may be spelt with an escape.
  BOOST_TEST(
      at.service.post("/query_by_hash", R"({"model":"m","block_size":4,"hash_kind":"\u0065ngin\u0065","seq_hashes":[11,12,13,14]})").body ==
      expected);
  // Names of a chain in another order are no prompt.
  BOOST_TEST(at.service.post("/query_by_hash", query_of("12,11")).body == at.by_tokens(tokens_from(50, 1)));
  BOOST_TEST(at.service.post("/query_by_hash", query_of("")).body == at.by_tokens(tokens_from(50, 1)));

  at.second.publish(removed_payload({13}));
  BOOST_REQUIRE(at.reaches("second", tokens_from(0, 5), 8));
  BOOST_TEST(at.service.post("/query_by_hash", query_of("11,12,13,14")).body == at.by_tokens(tokens_from(0, 4)));
}

BOOST_AUTO_TEST_CASE(what_goes_with_a_query_goes_with_names_as_well) {
  // Filters, MessagePack, and a place among others in a batch.
  two_engines at;
  at.first.publish(stored_payload({11, 12}, {}, tokens_from(0, 2)));
  BOOST_REQUIRE(at.reaches("first", tokens_from(0, 2), 8));
  const std::string row = R"({"default":{"first":{"longest_matched":8,"GPU":8,"DP":{"0":8},"CPU":0,"DISK":0}}})";
  BOOST_TEST(at.service.post("/query_by_hash", query_of("11,12,13", R"(,"top_k":1)")).body == row);
  BOOST_TEST(at.service.post("/query_by_hash", query_of("11,12,13", R"(,"min_match":8)")).body == row);

  std::string packed;
  net::msgpack_writer out(packed);
  out.map(4);
  out.string("model");
  out.string("m");
  out.string("block_size");
  out.unsigned_integer(4);
  out.string("hash_kind");
  out.string("engine");
  out.string("seq_hashes");
  out.array(2);
  out.unsigned_integer(11);
  out.unsigned_integer(12);
  const test::header_list headers{{"Content-Type", "application/msgpack"}, {"Accept", "application/json"}};
  BOOST_TEST(at.service.post("/query_by_hash", packed, headers).body == at.by_tokens(tokens_from(0, 2)));

  const std::string one = query_of("11,12", R"(,"instance_id":"first")");
  const std::string wrong = R"({"model":"m","block_size":4,"hash_kind":"engine","seq_hashes":[-1.5]})";
  const std::string batch = at.service.post("/query_batch", R"({"queries":[)" + one + "," + wrong + "," + one + "]}").body;
  BOOST_TEST(batch.starts_with(R"({"results":[)" + row + R"(,{"error":)"));
  BOOST_TEST(batch.ends_with("," + row + "]}"));
}

BOOST_AUTO_TEST_CASE(a_prompt_of_more_names_than_a_lane_looks_up_at_once_is_found_whole) {
  two_engines at;
  constexpr std::size_t blocks = 5'000;
  at.first.publish(stored_payload(numbers_from(1'000'000, blocks), {}, tokens_from(0, blocks)));
  BOOST_REQUIRE(at.reaches("first", tokens_from(0, blocks), 4 * blocks));

  const std::string names = listed(numbers_from(1'000'000, blocks + 1));
  BOOST_TEST(at.service.post("/query_by_hash", query_of(names)).body == at.by_tokens(tokens_from(0, blocks)));
}

BOOST_AUTO_TEST_CASE(names_that_engines_have_forgotten_and_a_store_has_not_are_known) {
  // What the store holds was told by an engine, for whose fleet it still is a prefix.
  two_engines at;
  fake_publisher store(at.service.engine, at.context, {});
  at.join(store, "store", "Mooncake", R"(,"shards":1)");
  at.first.publish(stored_payload({1, 2, 3}, {}, tokens_from(0, 3)));
  BOOST_REQUIRE(at.reaches("first", tokens_from(0, 3), 12));
  core::event_batch batch;
  batch.timestamp_s = 1763700000;
  for (const char last : {'1', '2'}) {
    core::object_event made;
    made.scope.object_key = "m@tp_rank:0@pcp0@dcp0@pp_rank:0@" + std::string(63, '0') + last;
    made.scope.medium = core::medium_id::cpu;
    batch.events.emplace_back(made);
  }
  net::encode_options options;
  options.form = net::event_form::mooncake_master;
  std::string payload;
  net::encode_batch(batch, at.service.media, options, payload);
  store.publish(payload);
  BOOST_REQUIRE(at.reaches("second", tokens_from(0, 3), 8));
  const std::string whole = at.by_tokens(tokens_from(0, 3));
  BOOST_TEST(at.service.post("/query_by_hash", query_of("1,2,3")).body == whole);

  at.first.publish(removed_payload({1, 2, 3}));
  BOOST_REQUIRE(at.reaches("first", tokens_from(0, 3), 8));
  BOOST_TEST(at.service.post("/query_by_hash", query_of("1,2,3")).body == at.by_tokens(tokens_from(0, 3)));

  // Also where no engine is left to ask.
  for (const std::string gone : {"first", "second"}) {
    BOOST_REQUIRE(at.service.post("/unregister", R"({"instance_id":")" + gone + R"("})").status == 200);
  }
  BOOST_REQUIRE(at.reaches("store", tokens_from(0, 3), 8));
  BOOST_TEST(at.service.post("/query_by_hash", query_of("1,2,3")).body == at.by_tokens(tokens_from(0, 3)));
}

BOOST_AUTO_TEST_CASE(a_prompt_ends_before_a_name_that_means_different_blocks) {
  // A fleet without one seed: a wrong row would cost a router its prefill, so there is none.
  two_engines at;
  std::vector<std::uint32_t> other = tokens_from(0, 1);
  for (const std::uint32_t token : tokens_from(90, 2)) other.push_back(token);
  at.first.publish(stored_payload({1, 2, 3}, {}, tokens_from(0, 3)));
  at.second.publish(stored_payload({1, 2, 3}, {}, other));
  BOOST_REQUIRE(at.reaches("first", tokens_from(0, 3), 12));
  BOOST_REQUIRE(at.reaches("second", other, 12));

  BOOST_TEST(at.service.post("/query_by_hash", query_of("1,2,3")).body == at.by_tokens(tokens_from(0, 1)));
}

BOOST_AUTO_TEST_CASE(a_lane_that_does_not_answer_in_time_is_not_waited_for) {
  two_engines at;
  at.first.publish(stored_payload({11, 12}, {}, tokens_from(0, 2)));
  BOOST_REQUIRE(at.reaches("first", tokens_from(0, 2), 8));
  std::promise<void> released;
  boost::asio::post(at.service.lanes.at(1).context, [until = released.get_future().share()] { until.wait(); });

  const std::vector<core::seq_hash> names{core::seq_hash{11}, core::seq_hash{12}};
  std::vector<core::seq_hash> blocks;
  net::query_request query;
  query.partition = {.tenant = "default", .model = "m", .lora = "", .salt = "", .block_size = 4};
  query.hashes = names;
  net::lane& here = at.service.lanes.at(0);
  auto asking = net::find_named_blocks(here, query, blocks, std::chrono::milliseconds(50));
  const net::checked answer = boost::asio::co_spawn(here.context, std::move(asking), boost::asio::use_future).get();
  released.set_value();
  BOOST_REQUIRE(answer.has_value());
  BOOST_TEST((answer->kind == net::refusal_kind::overloaded));
  // What that lane says later is nobody's, and the next question is answered.
  BOOST_TEST(at.service.post("/query_by_hash", query_of("11,12")).body == at.by_tokens(tokens_from(0, 2)));
}

BOOST_AUTO_TEST_CASE(a_kind_of_hash_that_goes_with_nothing_is_refused) {
  api_fixture service;
  const auto tokens = service.post("/query", R"({"model":"m","block_size":4,"hash_kind":"engine","token_ids":[1,2,3,4]})");
  BOOST_TEST(tokens.status == 400);
  BOOST_TEST(tokens.body.find(R"("field":"hash_kind")") != std::string::npos);
  // Nobody is there, in the partition or at all.
  BOOST_TEST(service.post("/query_by_hash", query_of("1,2")).body == "{}");
  service.join("a");
  BOOST_TEST(service.post("/query_by_hash", query_of("1,2")).body ==
             R"({"default":{"a":{"longest_matched":0,"GPU":0,"DP":{"0":0},"CPU":0,"DISK":0}}})");
}

// Whoever had not been answered in time asked again, and the lane that stood had all of these to do once it went on.
BOOST_AUTO_TEST_CASE(prompts_that_nobody_waits_for_are_not_piled_up_at_a_lane_that_stands) {
  using namespace std::chrono_literals;
  test::two_lanes on(1);
  const core::registration as = test::master_of("store", "master", "m", 4);
  core::member who;
  who.id = core::worker_id{7};
  who.key = core::shared_key(as.worker);
  who.media_seen = std::make_shared<std::atomic<core::media_mask>>(core::media_mask{0});
  const core::event_applier holder(as, who, on.catalog, {});
  const std::vector<core::seq_hash> names{core::seq_hash{1}, core::seq_hash{2}};
  boost::asio::io_context& here = on.lanes.at(0).context;
  boost::asio::io_context& there = on.lanes.at(1).context;
  const auto ask = [&](std::chrono::steady_clock::duration patience, bool is_standing) {
    net::query_request query;
    query.partition = as.partition;
    query.by_names = true;
    query.hashes = names;
    std::vector<core::seq_hash> blocks;
    auto asked = boost::asio::co_spawn(here, net::find_named_blocks(on.lanes.at(0), query, blocks, patience), boost::asio::use_future);
    while (asked.wait_for(0s) != std::future_status::ready) {
      here.poll();
      if (!is_standing) there.poll();
    }
    return !asked.get();
  };
  BOOST_TEST(ask(20s, false));

  for (int i = 0; i < 1'000; ++i) BOOST_TEST_REQUIRE(!ask(0s, true));
  BOOST_TEST(there.poll() <= 256U);

  here.poll();
  BOOST_TEST(ask(20s, false));
}

BOOST_AUTO_TEST_SUITE_END()

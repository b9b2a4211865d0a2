// GET /dump over HTTP, of blocks that came in over ZeroMQ.
#include <functional>
#include <string>
#include <vector>

#include <boost/asio/io_context.hpp>
#include <boost/test/unit_test.hpp>

#include "net/event_encode.hpp"
#include "net/request_document.hpp"
#include "tests/support/net/api_fixture.hpp"
#include "tests/support/net/dump_samples.hpp"
#include "tests/support/net/eventually.hpp"
#include "tests/support/net/fake_publisher.hpp"
#include "tests/support/net/payloads.hpp"

BOOST_AUTO_TEST_SUITE(api_dump)

namespace {

using namespace kvc;
using test::raw_answer;
using test::stored_payload;
using test::tokens_from;

/// Two ranks of an engine whose streams stand.
struct dump_fixture : test::api_fixture {
  boost::asio::io_context context;
  test::fake_publisher first{engine, context, {}};
  test::fake_publisher second{engine, context, {}};

  dump_fixture() {
    enroll(first, 0);
    enroll(second, 1);
  }

  void enroll(const test::fake_publisher& publisher, std::uint32_t rank) {
    const raw_answer answer = post(
        "/register", R"({"endpoint":")" + publisher.endpoint() + R"(","replay_endpoint":")" + publisher.replay_endpoint() +
                         R"(","type":"vLLM","modelname":"m","instance_id":"e","block_size":4,"dp_rank":)" + std::to_string(rank) + "}");
    BOOST_REQUIRE(answer.status == 200);
    BOOST_REQUIRE(eventually([&] { return find(rank)->state.load() == core::stream_state::whole; }));
  }

  [[nodiscard]] std::shared_ptr<core::stream_status> find(std::uint32_t rank) { return find_member("e", rank).status; }

  void publish(test::fake_publisher& publisher, std::uint32_t rank, const std::string& payload) {
    const std::uint64_t seqno = publisher.publish(payload);
    BOOST_REQUIRE(eventually([&] { return find(rank)->last_seqno.load() == seqno; }));
  }

  /// Runs the publishers until `holds`; false after 20 s.
  bool eventually(const std::function<bool()>& holds) { return kvc::test::run_until(context, holds); }

  raw_answer compact(const std::string& target) { return get(target, {{"Accept", "application/msgpack"}}); }
};

bool has(const raw_answer& answer, std::string_view text) {
  return answer.body.find(text) != std::string::npos;
}

std::size_t lines_with(const raw_answer& answer, std::string_view text) {
  std::size_t found = 0;
  for (std::size_t at = answer.body.find(text); at != std::string::npos; at = answer.body.find(text, at + 1)) ++found;
  return found;
}

std::vector<core::local_hash> locals_of(const std::vector<std::uint32_t>& tokens) {
  std::vector<core::local_hash> locals;
  core::hash_blocks(tokens, 4, core::default_hash_seed, locals);
  return locals;
}

}  // namespace

BOOST_FIXTURE_TEST_CASE(tells_blocks_as_events_of_the_standard, dump_fixture) {
  // What an operator looks at, and what another indexer may read.
  const auto prompt = tokens_from(0, 3);
  publish(first, 0, stored_payload({11, 12, 13}, {}, prompt));
  std::vector<core::seq_hash> rolled;
  core::roll_from_root(locals_of(prompt), core::default_hash_seed, rolled);

  const raw_answer answer = get("/dump?instance_id=e");

  BOOST_TEST(answer.status == 200);
  BOOST_TEST(answer.header("content-type") == "application/json");
  BOOST_TEST(answer.header("transfer-encoding") == "chunked");
  net::request_document document;
  BOOST_TEST(!document.read(R"({"all":)" + answer.body + "}", net::wire_form::json, net::request_document::shape::single).has_value());
  BOOST_TEST(lines_with(answer, R"("event_type":"stored")") == 1U);
  BOOST_TEST(
      has(answer, R"("model_name":"m","block_size":4,"additional_salt":null,"lora_name":null,"tenant_id":"default","backend_id":"e",)"));
  BOOST_TEST(has(answer, R"("seq_hashes":[)" + std::to_string(rolled[0].get()) + "," + std::to_string(rolled[1].get()) + "," +
                             std::to_string(rolled[2].get()) + R"(],"base_block_idx":0,"parent_hash":null,"token_ids":null)"));
  BOOST_TEST(has(answer, R"("engine_hashes":[11,12,13])"));
}

BOOST_FIXTURE_TEST_CASE(the_compact_form_can_be_loaded_again, dump_fixture) {
  // A dump is worth as much as what can be made of it.
  const auto prompt = tokens_from(0, 600);
  std::vector<std::uint64_t> names;
  for (std::uint64_t i = 0; i < 600; ++i) names.push_back(1'000 + i);
  publish(first, 0, stored_payload(names, {}, prompt));
  publish(first, 0, test::removed_payload({1'300}));
  publish(second, 1, stored_payload({5}, {}, tokens_from(0, 1)));

  const raw_answer answer = compact("/dump?instance_id=e");
  const auto workers = test::restore(answer.body, media);

  BOOST_TEST(answer.header("content-type") == "application/msgpack");
  BOOST_REQUIRE(workers.size() == 2U);
  BOOST_TEST(test::depth_of(workers[0], 1, locals_of(prompt)) == 300U);
  BOOST_TEST(workers[0].blocks->names() == 599U);
  BOOST_TEST(workers[0].owner.seqno->get() == 1U);
  BOOST_TEST(workers[0].end.seqno->get() == 1U);  // nothing came in between: exact
  BOOST_TEST(workers[0].end.blocks == 599U);
  BOOST_TEST(test::depth_of(workers[1], 2, locals_of(prompt)) == 1U);
}

BOOST_FIXTURE_TEST_CASE(tells_only_what_is_asked_for, dump_fixture) {
  // One rank of many, one partition of many.
  publish(first, 0, stored_payload({11}, {}, tokens_from(0, 1)));
  publish(second, 1, stored_payload({22}, {}, tokens_from(0, 1)));

  BOOST_TEST(lines_with(get("/dump"), "stored") == 2U);
  const raw_answer rank = get("/dump?instance_id=e&dp_rank=1");
  BOOST_TEST(lines_with(rank, "stored") == 1U);
  BOOST_TEST(has(rank, R"("engine_hashes":[22])"));
  for (const std::string matching :
       {"model=m", "modelname=m", "lora_name=", "cache_salt=", "additionalsalt=", "block_size=4", "tenant_id=default"}) {
    BOOST_TEST(lines_with(get("/dump?" + matching), "stored") == 2U, matching);
  }
  for (const std::string other : {"model=n", "lora_name=sql", "cache_salt=s", "block_size=8"}) {
    BOOST_TEST(get("/dump?" + other).body == "[\n]\n", other);
  }
}

BOOST_FIXTURE_TEST_CASE(tells_of_every_rank_that_a_stream_speaks_for, dump_fixture) {
  // Once, only the registered rank was told, and a dump of the partition looked complete without the others.
  publish(first, 0, stored_payload({11}, {}, tokens_from(0, 1)));
  publish(first, 0, test::stored_for_rank_payload(7, {77}, tokens_from(0, 1)));
  publish(second, 1, stored_payload({22}, {}, tokens_from(0, 1)));

  const raw_answer all = get("/dump?instance_id=e");
  BOOST_TEST(lines_with(all, "stored") == 3U);
  BOOST_TEST(lines_with(all, R"("dp_rank":7)") == 1U);
  const raw_answer seventh = get("/dump?instance_id=e&dp_rank=7");
  BOOST_TEST(lines_with(seventh, "stored") == 1U);
  BOOST_TEST(has(seventh, R"("engine_hashes":[77])"));
  BOOST_TEST(get("/dump?dp_rank=8").status == 404);
  const auto workers = test::restore(compact("/dump?instance_id=e").body, media);
  BOOST_REQUIRE(workers.size() == 3U);
  BOOST_TEST(workers[1].owner.worker.rank.get() == 7U);
  BOOST_TEST(test::depth_of(workers[1], 2, locals_of(tokens_from(0, 1))) == 1U);
}

BOOST_FIXTURE_TEST_CASE(tells_a_tenants_blocks_whoever_their_stream_is_registered_for, dump_fixture) {
  // Events name tenants: a store's stream is registered once and speaks for all of them. Their partitions could be seen and not dumped.
  core::stored_event own;
  own.hashes = {core::engine_hash{11}};
  own.base = core::position{0};
  core::stored_event other = own;
  other.hashes = {core::engine_hash{22}};
  other.scope.tenant = "ada";
  core::event_batch batch;
  batch.events = {own, other};
  std::string payload;
  net::encode_batch(batch, media, {.form = net::event_form::standard}, payload);
  publish(first, 0, payload);

  const raw_answer hers = get("/dump?tenant_id=ada");
  BOOST_TEST(lines_with(hers, "stored") == 1U);
  BOOST_TEST(has(hers, R"("tenant_id":"ada")"));
  BOOST_TEST(has(hers, R"("engine_hashes":[22])"));
  const raw_answer default_ones = get("/dump?tenant_id=default");
  BOOST_TEST(lines_with(default_ones, "stored") == 1U);
  BOOST_TEST(has(default_ones, R"("engine_hashes":[11])"));
  BOOST_TEST(lines_with(get("/dump"), "stored") == 2U);
}

BOOST_FIXTURE_TEST_CASE(refuses_what_it_cannot_tell, dump_fixture) {
  // With the words every other route uses.
  BOOST_TEST(get("/dump?instance_id=nobody").status == 404);
  BOOST_TEST(has(get("/dump?tenant_id=nobody"), R"("reason":"service_not_found")"));
  BOOST_TEST(has(get("/dump?dp_rank=x"), R"("reason":"invalid_type","field":"dp_rank")"));
  BOOST_TEST(has(get("/dump?block_size=0"), R"("reason":"out_of_range","field":"block_size")"));
  BOOST_TEST(has(get("/dump?block_size=99999999999"), R"("reason":"out_of_range","field":"block_size")"));
  BOOST_TEST(post("/dump", "{}").status == 405);
}

BOOST_FIXTURE_TEST_CASE(a_worker_that_leaves_ends_its_dump, dump_fixture) {
  // Half of a worker nobody asks about any more is no reason to break off what is told of the others.
  publish(first, 0, stored_payload({11}, {}, tokens_from(0, 1)));
  const auto turn = std::make_shared<net::dump_turn>(core::dump_filter{});
  const core::worker_id worker = find_member("e", 0).id;
  BOOST_TEST(post("/unregister", R"({"instance_id":"e"})").status == 200);
  BOOST_REQUIRE(eventually([&] { return fleet.view().get()->empty(); }));

  auto done = boost::asio::co_spawn(context, fleet.dump_some(worker, turn), boost::asio::use_future);
  BOOST_REQUIRE(eventually([&] { return done.wait_for(std::chrono::seconds(0)) == std::future_status::ready; }));
  BOOST_TEST(turn->is_last);
  BOOST_TEST(turn->slice.blocks() == 0U);
}

BOOST_AUTO_TEST_SUITE_END()

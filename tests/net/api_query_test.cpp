// Queries over HTTP against blocks put into the index by hand: the table of the contract, row by row.
#include <numeric>

#include <boost/test/unit_test.hpp>

#include "net/long_prompt.hpp"
#include "net/msgpack_tape.hpp"
#include "tests/net/prompt_queries.hpp"
#include "tests/support/net/api_fixture.hpp"
#include "tests/support/net/eventually.hpp"

BOOST_AUTO_TEST_SUITE(api_query)

namespace {

using namespace kvc;
using test::api_fixture;
using test::listed;
using test::query_for;
using test::raw_answer;
using test::ten_blocks;

}  // namespace

BOOST_AUTO_TEST_CASE(answers_in_the_shape_of_the_seed) {
  // Clients read members by name and iterate over the rest: nothing may be missing or extra.
  api_fixture service;
  BOOST_TEST(service.join("node-1", 0).status == 200);
  BOOST_TEST(service.join("node-1", 1).status == 200);
  BOOST_TEST(service.join("node-2").status == 200);
  const auto prompt = ten_blocks();
  service.hold(service.find_member("node-1", 0), prompt, 0, 2, core::medium_id::gpu);
  service.hold(service.find_member("node-1", 1), prompt, 0, 2, core::medium_id::gpu);
  service.hold(service.find_member("node-1", 1), prompt, 0, 4, core::medium_id::cpu);

  BOOST_TEST(service.post("/query", query_for(prompt)).body ==
             R"({"default":{"node-1":{"longest_matched":16,"GPU":8,"DP":{"0":8,"1":16},"CPU":16,"DISK":0},)"
             R"("node-2":{"longest_matched":0,"GPU":0,"DP":{"0":0},"CPU":0,"DISK":0}}})");
}

BOOST_AUTO_TEST_CASE(joins_media_of_a_rank_but_never_ranks) {
  // A request runs on one rank: what another rank holds is of no use to it.
  api_fixture service;
  service.join("a", 0);
  service.join("a", 1);
  const auto prompt = ten_blocks();
  const auto rank_0 = service.find_member("a", 0);
  const auto rank_1 = service.find_member("a", 1);
  service.hold(rank_0, prompt, 0, 3, core::medium_id::gpu);
  service.hold(rank_0, prompt, 3, 5, core::medium_id::disk);
  service.hold(rank_1, prompt, 5, 10, core::medium_id::gpu);

  BOOST_TEST(service.post("/query", query_for(prompt, R"(,"instance_id":"a")")).body ==
             R"({"default":{"a":{"longest_matched":20,"GPU":12,"DP":{"0":20,"1":0},"CPU":0,"DISK":0}}})");
}

BOOST_AUTO_TEST_CASE(ends_a_prefix_at_a_hole) {
  // A block evicted in the middle makes everything behind it useless until it is back.
  api_fixture service;
  service.join("a");
  const auto prompt = ten_blocks();
  const auto member = service.find_member("a");
  service.hold(member, prompt, 0, 2);
  service.hold(member, prompt, 3, 6);
  BOOST_TEST(service.post("/query", query_for(prompt)).body.find(R"("longest_matched":8,)") != std::string::npos);

  service.hold(member, prompt, 2, 3);
  BOOST_TEST(service.post("/query", query_for(prompt)).body.find(R"("longest_matched":24,)") != std::string::npos);
}

BOOST_AUTO_TEST_CASE(counts_complete_blocks_only) {
  // A tail shorter than a block has no hash.
  api_fixture service;
  service.join("a");
  auto prompt = ten_blocks();
  service.hold(service.find_member("a"), prompt, 0, 10);
  prompt.resize(11);

  BOOST_TEST(service.post("/query", query_for(prompt)).body.find(R"("longest_matched":8,)") != std::string::npos);
  BOOST_TEST(service.post("/query", query_for({})).body.find(R"("longest_matched":0,)") != std::string::npos);
}

BOOST_AUTO_TEST_CASE(shows_other_media_of_instances_that_reported_them) {
  // New media appear under their own name, in upper case, and only where they were seen.
  api_fixture service;
  service.join("a");
  service.join("b");
  const auto prompt = ten_blocks();
  const auto object_store = service.media.intern("obj");
  service.hold(service.find_member("a"), prompt, 0, 1, object_store);

  BOOST_TEST(service.post("/query", query_for(prompt)).body ==
             R"({"default":{"a":{"longest_matched":4,"GPU":0,"DP":{"0":4},"CPU":0,"DISK":0,"OBJ":4},)"
             R"("b":{"longest_matched":0,"GPU":0,"DP":{"0":0},"CPU":0,"DISK":0}}})");
}

BOOST_AUTO_TEST_CASE(a_medium_called_like_the_ranks_has_another_name) {
  // A parser that keeps the last of two members would take it for them.
  api_fixture service;
  service.join("a");
  const auto prompt = ten_blocks();
  service.hold(service.find_member("a"), prompt, 0, 1, service.media.intern("dp"));

  BOOST_TEST(service.post("/query", query_for(prompt)).body ==
             R"({"default":{"a":{"longest_matched":4,"GPU":0,"DP":{"0":4},"CPU":0,"DISK":0,"OTHER":4}}})");
}

BOOST_AUTO_TEST_CASE(lends_a_shared_pool_to_every_instance) {
  // Host memory that all engines can read counts for each of them, and is no row where there are engines.
  api_fixture service;
  service.join("a");
  service.join("b");
  service.join("a", 0, "Mooncake");
  const auto prompt = ten_blocks();
  service.hold(service.find_member("a"), prompt, 0, 2);
  service.hold(service.find_member("a", 0, core::publisher_class::pool), prompt, 0, 5, core::medium_id::cpu);

  const raw_answer answer = service.post("/query", query_for(prompt));
  BOOST_TEST(answer.body == R"({"default":{"a":{"longest_matched":20,"GPU":8,"DP":{"0":20},"CPU":20,"DISK":0},)"
                            R"("b":{"longest_matched":20,"GPU":0,"DP":{"0":20},"CPU":20,"DISK":0}}})");
}

BOOST_AUTO_TEST_CASE(a_row_that_rests_on_a_pool_is_no_better_than_the_pool) {
  // A router that reads `state` would believe in blocks whose publisher has lost batches.
  api_fixture service;
  service.join("a");
  service.join("p", 0, "Mooncake");
  const auto prompt = ten_blocks();
  const core::member engine = service.find_member("a");
  const core::member pool = service.find_member("p", 0, core::publisher_class::pool);
  service.hold(engine, prompt, 0, 2);
  service.hold(pool, prompt, 0, 5, core::medium_id::cpu);
  std::string row;
  boost::asio::io_context nobody;
  const bool is_told = test::run_until(nobody, [&] {
    engine.status->state.store(core::stream_state::whole);  // the streams, which find nobody, have their own say at first
    pool.status->state.store(core::stream_state::incomplete);
    pool.status->missing.store(5);
    row = service.post("/query", query_for(prompt, R"(,"detail":true,"instance_ids":["a"])")).body;
    return row.find(R"("state":"incomplete","lag_ms":null,"missing":5,)") != std::string::npos;
  });
  BOOST_TEST(is_told, row);
}

BOOST_AUTO_TEST_CASE(a_prompt_that_is_hashed_in_turns_is_answered_like_any_other) {
  // Several turns, the last one not full, and a tail that is no block; alone and in a batch, with extra keys across a turn's end.
  api_fixture service;
  service.join("a");
  constexpr std::size_t blocks = 3 * net::tokens_per_turn / 4 + 7;
  std::vector<std::uint32_t> prompt(blocks * 4 + 3);
  std::iota(prompt.begin(), prompt.end(), 1U);
  service.hold(service.find_member("a"), prompt, 0, blocks);
  const std::string row = R"({"default":{"a":{"longest_matched":)" + std::to_string(blocks * 4);

  const std::string query = query_for(prompt);
  BOOST_TEST(service.post("/query", query).body.starts_with(row));
  BOOST_TEST(service.post("/query_batch", R"({"queries":[)" + query + "]}").body.starts_with(R"({"results":[)" + row));

  constexpr std::size_t first_turn = net::tokens_per_turn / 4;
  std::string keys = "[";
  for (std::size_t i = 0; i < first_turn; ++i) keys += "null,";
  const std::string keyed = query_for(prompt, R"(,"extra_keys":)" + keys + R"(["image"]])");
  const std::string short_row = R"({"default":{"a":{"longest_matched":)" + std::to_string(first_turn * 4) + ",";
  BOOST_TEST(service.post("/query", keyed).body.starts_with(short_row), "the first block of the second turn is another one");
}

BOOST_AUTO_TEST_CASE(filters_rows) {
  // Large fleets: a router asks for what it can use.
  api_fixture service;
  const auto prompt = ten_blocks();
  std::size_t blocks = 1;
  for (const std::string instance : {"a", "b", "c"}) {
    service.join(instance);
    service.hold(service.find_member(instance), prompt, 0, blocks);
    blocks += 2;
  }
  const auto rows = [&](const std::string& more) {
    const std::string body = service.post("/query", query_for(prompt, more)).body;
    std::string names;
    for (const std::string instance : {"a", "b", "c", "x"}) {
      if (body.find("\"" + instance + R"(":{"longest_matched")") != std::string::npos) names += instance;
    }
    return names;
  };

  BOOST_TEST(rows("") == "abc");
  BOOST_TEST(rows(R"(,"instance_ids":["c","a","x"])") == "ac");
  BOOST_TEST(rows(R"(,"instance_ids":[])") == "");
  BOOST_TEST(rows(R"(,"min_match":12)") == "bc");
  BOOST_TEST(rows(R"(,"min_match":13)") == "c");
  BOOST_TEST(rows(R"(,"top_k":2)") == "bc");
  BOOST_TEST(rows(R"(,"top_k":9)") == "abc");
  BOOST_TEST(rows(R"(,"instance_id":"b")") == "b");
  BOOST_TEST(rows(R"(,"instance_id":"x")") == "x");
  BOOST_TEST(rows(R"(,"instance_id":"a","min_match":100)") == "a");
}

BOOST_AUTO_TEST_CASE(counts_only_the_media_asked_for) {
  // A router that cannot wait for disks asks without them, and the totals must follow.
  api_fixture service;
  service.join("a");
  const auto prompt = ten_blocks();
  const auto member = service.find_member("a");
  service.hold(member, prompt, 0, 2, core::medium_id::gpu);
  service.hold(member, prompt, 2, 4, core::medium_id::cpu);
  service.hold(member, prompt, 4, 8, core::medium_id::disk);

  BOOST_TEST(service.post("/query", query_for(prompt, R"(,"media":["HBM","cpu"])")).body ==
             R"({"default":{"a":{"longest_matched":16,"GPU":8,"DP":{"0":16},"CPU":0}}})");
  BOOST_TEST(service.post("/query", query_for(prompt, R"(,"media":["never seen"])")).body ==
             R"({"default":{"a":{"longest_matched":0,"DP":{"0":0}}}})");
}

BOOST_AUTO_TEST_CASE(adds_detail_only_when_asked) {
  // Cumulative tiers and the state of the stream, for routers that weigh them.
  api_fixture service;
  service.join("a");
  const auto prompt = ten_blocks();
  const auto member = service.find_member("a");
  service.hold(member, prompt, 0, 2, core::medium_id::gpu);
  service.hold(member, prompt, 2, 4, core::medium_id::cpu);
  service.hold(member, prompt, 4, 8, core::medium_id::disk);

  BOOST_TEST(service.post("/query", query_for(prompt, R"(,"detail":true)")).body ==
             R"({"default":{"a":{"longest_matched":32,"GPU":8,"DP":{"0":32},"CPU":0,"DISK":0,)"
             R"("tiers":{"gpu":8,"cpu":16,"disk":32},"state":"joining","lag_ms":null,"missing":0,"seq_hashes":8,)"
             R"("delay_ms":null,"unproven_absences":0,"connected":false,"generation":1}}})");
}

BOOST_AUTO_TEST_CASE(keeps_partitions_apart) {
  // Nothing is ever shared or reported across tenant, model, adapter, salt or block size.
  api_fixture service;
  service.join("a");
  const auto prompt = ten_blocks();
  service.hold(service.find_member("a"), prompt, 0, 3);

  for (const std::string more :
       {R"(,"tenant_id":"other")", R"(,"lora_name":"x")", R"(,"cache_salt":"x")", R"(,"block_size":8)", R"(,"model":"n")"}) {
    BOOST_TEST(service.post("/query", query_for(prompt, more)).body == "{}", more);
  }
  BOOST_TEST(service.post("/query", query_for(prompt, R"(,"tenant_id":"other","instance_id":"a")")).body ==
             R"({"other":{"a":{"longest_matched":0,"GPU":0,"DP":{},"CPU":0,"DISK":0}}})");
}

BOOST_AUTO_TEST_CASE(answers_hashes_like_tokens) {
  // The same prompt, named by rolling hashes: the same row; and each of the 64 bits counts.
  api_fixture service;
  service.join("a");
  const auto prompt = ten_blocks();
  service.hold(service.find_member("a"), prompt, 0, 3);
  std::vector<core::local_hash> locals;
  std::vector<core::seq_hash> rolled;
  core::hash_blocks(prompt, 4, core::default_hash_seed, locals);
  core::roll_from_root(locals, core::default_hash_seed, rolled);
  std::vector<std::uint64_t> hashes;
  std::vector<std::int64_t> negative;
  for (const auto each : rolled) hashes.push_back(each.get());
  for (const auto each : hashes) negative.push_back(static_cast<std::int64_t>(each));
  const std::string expected = service.post("/query", query_for(prompt)).body;
  const std::string head = R"({"model":"m","block_size":4,)";

  BOOST_TEST(service.post("/query_by_hash", head + R"("seq_hashes":)" + listed(hashes) + "}").body == expected);
  BOOST_TEST(service.post("/query_by_hash", head + R"("block_hash":)" + listed(negative) + "}").body == expected);
  hashes[1] ^= 1;
  BOOST_TEST(service.post("/query_by_hash", head + R"("seq_hashes":)" + listed(hashes) + "}").body.find(R"("longest_matched":4,)") !=
             std::string::npos);
}

BOOST_AUTO_TEST_CASE(answers_in_the_form_of_the_request) {
  // MessagePack in, MessagePack out, unless Accept says otherwise.
  api_fixture service;
  service.join("a");
  const auto prompt = ten_blocks();
  service.hold(service.find_member("a"), prompt, 0, 3);
  std::string body;
  net::msgpack_writer out(body);
  out.map(3);
  out.string("model");
  out.string("m");
  out.string("block_size");
  out.unsigned_integer(4);
  out.string("token_ids");
  out.binary(std::as_bytes(std::span(prompt)));
  const test::header_list packed{{"Content-Type", "application/msgpack"}};

  const raw_answer answer = service.post("/query", body, packed);
  BOOST_TEST(answer.header("content-type") == "application/msgpack");
  net::msgpack_tape tape;
  BOOST_REQUIRE(!tape.parse(std::as_bytes(std::span(answer.body))));
  const auto& nodes = tape.nodes();
  BOOST_TEST(nodes[1].text() == "default");
  BOOST_TEST(nodes[3].text() == "a");
  BOOST_TEST(nodes[5].text() == "longest_matched");
  BOOST_TEST(nodes[6].bits == 12U);

  const raw_answer as_json = service.post("/query", body, {{"Content-Type", "application/x-msgpack"}, {"Accept", "application/json"}});
  BOOST_TEST(as_json.body == service.post("/query", query_for(prompt)).body);
  const raw_answer as_pack = service.post("/query", query_for(prompt), {{"Accept", "application/msgpack"}});
  BOOST_TEST(as_pack.body == answer.body);
  const raw_answer wrong = service.post("/query", "\xc1", packed);
  BOOST_TEST(wrong.status == 400);
  BOOST_TEST(wrong.header("content-type") == "application/msgpack");
}

BOOST_AUTO_TEST_CASE(hashes_extra_keys_as_events_do) {
  // Two prompts of the same tokens but another picture must not meet; adapter and salt repeated in the keys change nothing.
  api_fixture service;
  service.join("a");
  const auto prompt = ten_blocks();
  service.hold(service.find_member("a"), prompt, 0, 3);
  const auto matched = [&](const std::string& keys) {
    const std::string body = service.post("/query", query_for(prompt, R"(,"extra_keys":)" + keys)).body;
    return body.substr(body.find("longest_matched") + 17, 2);
  };

  BOOST_TEST(matched("[]") == "12");
  BOOST_TEST(matched("[null,[],null]") == "12");
  BOOST_TEST(matched(R"([null,null,[["picture",3]]])") == "8,");
}

BOOST_AUTO_TEST_CASE(no_route_picks_one_of_two_names_that_contradict_each_other) {
  // The pair in front agrees. An answer would be about another partition than the one of the two that was meant.
  api_fixture service;
  service.join("a");
  const std::string names = R"({"model":"m","modelname":"m","cache_salt":"a","additional_salt":"b","block_size":4,)";
  const std::string registration = R"("endpoint":"tcp://127.0.0.1:9","type":"vLLM","instance_id":"b"})";
  for (const raw_answer& refused :
       {service.post("/query", names + R"("token_ids":[]})"), service.post("/query_by_hash", names + R"("seq_hashes":[]})"),
        service.post("/register", names + registration)}) {
    BOOST_TEST(refused.status == 400, refused.body);
    BOOST_TEST(refused.body ==
               R"({"error":"cache_salt and additional_salt are names of the same member; send one of them","reason":"invalid_value",)"
               R"("field":"additional_salt"})");
  }
  const std::string good = R"({"model":"m","modelname":"m","cache_salt":"","additional_salt":"","block_size":4,"token_ids":[]})";
  const std::string bad = names + R"("token_ids":[]})";
  const std::string results = service.post("/query_batch", R"({"queries":[)" + good + "," + bad + "," + good + "]}").body;
  const std::string row = R"({"default":{"a":{"longest_matched":0,"GPU":0,"DP":{"0":0},"CPU":0,"DISK":0}}})";
  BOOST_TEST(results.starts_with(R"({"results":[)" + row + R"(,{"error":"cache_salt and additional_salt are names)"), results);
  BOOST_TEST(results.ends_with("}," + row + "]}"), results);
}

BOOST_AUTO_TEST_SUITE_END()

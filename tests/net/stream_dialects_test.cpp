// Dialects over real sockets: what a user sees of them in answers, /services and /metrics.
#include <string>
#include <utility>

#include <boost/asio/io_context.hpp>
#include <boost/test/unit_test.hpp>

#include "core/utf8.hpp"
#include "net/event_encode.hpp"
#include "tests/net/event_samples.hpp"
#include "tests/support/net/api_fixture.hpp"
#include "tests/support/net/eventually.hpp"
#include "tests/support/net/heard_log.hpp"
#include "tests/support/net/held_port.hpp"
#include "tests/support/net/payloads.hpp"

BOOST_AUTO_TEST_SUITE(stream_dialects)

namespace {

using namespace kvc;
using kvc::test::api_fixture;
using kvc::test::fake_publisher;
using kvc::test::tokens_from;

/// One publisher, registered over HTTP.
struct heard_publisher {
  api_fixture service;
  boost::asio::io_context context;
  fake_publisher engine;

  explicit heard_publisher(const std::string& type, const std::string& more = "", const fake_publisher::options& with = {})
      : engine(service.engine, context, with) {
    const auto answer = service.post("/register", R"({"endpoint":")" + engine.endpoint() + R"(","replay_endpoint":")" +
                                                      engine.replay_endpoint() + R"(","type":")" + type +
                                                      R"(","modelname":"m","instance_id":"a","block_size":4,"dp_rank":0)" + more + "}");
    BOOST_REQUIRE(answer.status == 200);
    BOOST_REQUIRE(shows("/services", R"("state":"whole")"));
  }

  /// Waits until a page has this text.
  bool shows(const std::string& page, const std::string& text) {
    return eventually([&] { return service.get(page).body.find(text) != std::string::npos; });
  }
  bool answers(const std::vector<std::uint32_t>& prompt, const std::string& text) {
    std::string body = R"({"model":"m","block_size":4,"token_ids":[)";
    for (const std::uint32_t token : prompt) body += std::to_string(token) + ",";
    body.back() = ']';
    return eventually([&] { return service.post("/query", body + "}").body.find(text) != std::string::npos; });
  }
  template <class Condition>
  bool eventually(Condition holds) {
    return kvc::test::run_until(context, holds);
  }

  /// One event in a form, for a rank.
  void publish(net::event_form form, core::event what, std::uint32_t rank = 0) {
    core::event_batch batch;
    batch.timestamp_s = 1763700000 + static_cast<double>(++published_);  // no two payloads are alike
    batch.rank = core::dp_rank{rank};
    batch.events.push_back(std::move(what));
    net::encode_options options;
    options.form = form;
    std::string payload;
    net::encode_batch(batch, service.media, options, payload);
    engine.publish(payload);
  }

 private:
  int published_ = 0;
};

core::stored_event blocks_of(std::uint64_t first_name, const std::vector<std::uint32_t>& tokens) {
  core::stored_event made;
  for (std::size_t i = 0; i < tokens.size() / 4; ++i) made.hashes.emplace_back(first_name + i);
  made.tokens = tokens;
  made.has_tokens = true;
  made.scope.block_size = 4;
  return made;
}

}  // namespace

BOOST_AUTO_TEST_CASE(a_relay_for_several_ranks_has_a_row_for_each) {
  // One port for all ranks: the router must learn which of them holds the prefix.
  heard_publisher at("TRTLLM");
  at.publish(net::event_form::tensorrt_llm_relay, blocks_of(1, tokens_from(0, 2)), 0);
  at.publish(net::event_form::tensorrt_llm_relay, blocks_of(1, tokens_from(0, 3)), 1);
  BOOST_TEST(at.answers(tokens_from(0, 3), R"("a":{"longest_matched":12,"GPU":12,"DP":{"0":8,"1":12},)"));

  BOOST_TEST(at.service.post("/unregister", R"({"instance_id":"a"})").status == 200);
  BOOST_TEST(at.service.catalog.view().get()->partitions.empty());
}

BOOST_AUTO_TEST_CASE(a_rank_that_two_streams_speak_for_is_shown_once) {
  // A member may come twice; a JSON object must not have a name twice.
  heard_publisher at("TRTLLM");
  at.service.join("a", 1);
  at.publish(net::event_form::tensorrt_llm_relay, blocks_of(1, tokens_from(0, 2)), 1);
  BOOST_TEST(at.answers(tokens_from(0, 2), R"("a":{"longest_matched":8,"GPU":8,"DP":{"0":0,"1":8},)"));
}

BOOST_AUTO_TEST_CASE(a_stream_may_change_its_form_in_the_middle) {
  // A rolling update behind a relay, and connectors of another generation.
  heard_publisher at("vLLM");
  at.publish(net::event_form::vllm_2025_04, blocks_of(1, tokens_from(0, 1)));
  core::stored_event next = blocks_of(2, tokens_from(4, 1));
  next.parent = core::engine_hash{1};
  at.publish(net::event_form::vllm_map, next);
  BOOST_TEST(at.answers(tokens_from(0, 2), R"("longest_matched":8)"));
  BOOST_TEST(at.shows("/services", R"("vllm_array":1)"));
  BOOST_TEST(at.shows("/services", R"("vllm_map":1)"));
}

BOOST_AUTO_TEST_CASE(batches_that_come_together_are_counted_as_one_by_one) {
  // They are applied and counted some at a time, in rows of whichever length; nothing may be counted once for all of a row, or twice.
  heard_publisher at("vLLM");
  constexpr std::uint32_t batches = 60;
  for (std::uint32_t i = 0; i < batches; ++i) {
    if (i % 3 == 2) {
      at.engine.publish(net::samples::from_hex("92cb41dac043043839569192aa426c6f636b4d6f76656491cf0000000000000001"));
    } else {
      at.publish(i % 3 == 0 ? net::event_form::vllm_map : net::event_form::vllm_2025_04, blocks_of(i + 1, tokens_from(4 * i, 1)));
    }
  }
  BOOST_TEST(at.shows("/services", R"("unknown_words":{"tag":{"BlockMoved":20})"));
  BOOST_TEST(at.shows("/services", R"("rejected_events":{"unknown_tag":20})"));
  BOOST_TEST(at.shows("/metrics", R"(kvc_rejected_events_total{reason="unknown_tag"} 20)"));
  BOOST_TEST(at.shows("/metrics", R"(kvc_events_total{dialect="vllm_map",kind="stored"} 20)"));
  BOOST_TEST(at.shows("/metrics", R"(kvc_events_total{dialect="vllm_array",kind="stored"} 20)"));
  BOOST_TEST(at.shows("/services", R"("batches":60)"));
}

BOOST_AUTO_TEST_CASE(what_is_not_understood_is_shown_by_name) {
  // An operator must find out that an engine speaks of something new.
  heard_publisher at("vLLM");
  at.engine.publish(net::samples::from_hex("92cb41dac043043839569192aa426c6f636b4d6f76656491cf0000000000000001"));
  BOOST_TEST(at.shows("/services", R"("unknown_words":{"tag":{"BlockMoved":1})"));
  BOOST_TEST(at.shows("/services", R"("rejected_events":{"unknown_tag":1})"));
  BOOST_TEST(at.shows("/metrics", R"(kvc_unknown_words{kind="tag",word="BlockMoved"} 1)"));
  BOOST_TEST(at.shows("/metrics", R"(kvc_rejected_events_total{reason="unknown_tag"} 1)"));
  at.publish(net::event_form::vllm_map, blocks_of(1, tokens_from(0, 1)));
  BOOST_TEST(at.answers(tokens_from(0, 1), R"("longest_matched":4)"));
}

BOOST_AUTO_TEST_CASE(edge_case_08_a_registration_says_whether_copies_are_counted) {
  // A vLLM that announces a block once however often it has it, a relay for SGLang that announces each copy.
  for (const auto& [type, counts] : {std::pair{"vLLM", false}, std::pair{"vLLM", true}, std::pair{"SGLang", true}}) {
    BOOST_TEST_CONTEXT(type << (counts ? ", counted" : ", not counted")) {
      heard_publisher at(type, std::string(R"(,"copy_counting":)") + (counts ? "true" : "false"));
      for (int i = 0; i < 2; ++i) at.publish(net::event_form::vllm_map, blocks_of(1, tokens_from(0, 1)));
      at.publish(net::event_form::vllm_map, core::removed_event{.scope = {}, .hashes = {core::engine_hash{1}}});
      BOOST_TEST(at.shows("/services", R"("last_seqno":2,)"));
      BOOST_TEST(at.answers(tokens_from(0, 1), counts ? R"("longest_matched":4)" : R"("longest_matched":0)"));
      at.publish(net::event_form::vllm_map, core::removed_event{.scope = {}, .hashes = {core::engine_hash{1}}});
      BOOST_TEST(at.answers(tokens_from(0, 1), R"("longest_matched":0)"));
    }
  }
}

BOOST_AUTO_TEST_CASE(edge_case_26_messages_of_another_shape_are_counted_and_the_next_one_is_read) {
  // Over our own connection, and over libzmq where the publisher connects to us.
  const std::string zero(8, '\0');
  const test::held_port port;
  for (const bool binds : {false, true}) {
    BOOST_TEST_CONTEXT((binds ? "bound" : "connected")) {
      fake_publisher::options with;
      if (binds) with = {.endpoint = "tcp://127.0.0.1:" + std::to_string(port.number()), .connects = true};
      heard_publisher at("vLLM", binds ? R"(,"bind":true)" : "", with);
      at.publish(net::event_form::vllm_map, blocks_of(1, tokens_from(0, 1)));
      BOOST_REQUIRE(at.answers(tokens_from(0, 1), R"("longest_matched":4)"));  // the connection stands
      const std::string payload = test::stored_payload({9}, {}, tokens_from(900, 1));
      at.engine.send_raw({zero, payload});  // as ancient publishers did
      at.engine.send_raw({"", "", zero, payload});
      at.engine.send_raw({"", "four", payload});
      at.publish(net::event_form::vllm_map, blocks_of(2, tokens_from(4, 1)));

      BOOST_TEST(at.answers(tokens_from(4, 1), R"("longest_matched":4)"));
      BOOST_TEST(at.answers(tokens_from(900, 1), R"("longest_matched":0)"));
      BOOST_TEST(at.shows("/metrics", R"(class="engine",reason="message"} 3)"));
      const std::string services = at.service.get("/services").body;
      for (const char* part : {R"("rejected":3,)", R"("state":"whole")", R"("last_seqno":1,)"}) {
        BOOST_TEST(services.find(part) != std::string::npos, part << " in " << services);
      }
    }
  }
}

BOOST_AUTO_TEST_CASE(names_that_are_no_text_are_repaired_where_they_are_shown) {
  // A publisher cannot be told; one such byte, and a scraper refuses the whole page, a client the whole answer.
  heard_publisher at("vLLM");
  core::stored_event stored = blocks_of(1, tokens_from(0, 1));
  stored.scope.lora = "\xFFlora";
  at.publish(net::event_form::vllm_map, stored);
  const std::string shown = "\xEF\xBF\xBDlora";
  BOOST_TEST(at.shows("/global_view", shown));
  const auto packed = test::ask(at.service.port(), "GET", "/global_view", {}, {{"Accept", "application/msgpack"}});
  BOOST_TEST((packed.body.find(shown) != std::string::npos));
  BOOST_TEST((packed.body.find("\xFFlora") == std::string::npos));
  BOOST_TEST(core::is_utf8(at.service.get("/metrics").body));
}

BOOST_AUTO_TEST_CASE(objects_of_a_store_are_counted_until_somebody_keeps_them) {
  // The first store format says nothing about blocks that could be placed without its objects.
  heard_publisher at("Mooncake");
  at.engine.publish(net::samples::from_hex(net::samples::mooncake_old_store_unset));
  at.engine.publish(net::samples::from_hex(net::samples::mooncake_old_update_gone));
  BOOST_TEST(at.shows("/services", R"("unplaced_events":2)"));
  BOOST_TEST(at.shows("/metrics", R"(kvc_events_total{dialect="mooncake_array",kind="object"} 2)"));
}

BOOST_AUTO_TEST_CASE(a_store_that_is_registered_as_an_engine_is_told_of) {
  // The stream is whole, its events are understood, and no block ever counts: nothing else says why.
  const test::heard_log log;
  heard_publisher at("vLLM");
  for (int i = 1; i <= 5; ++i) {  // one by one: of some that come together one line tells
    at.engine.publish(net::samples::from_hex(net::samples::mooncake_old_update_gone));
    BOOST_TEST_REQUIRE(at.shows("/services", R"("unplaced_events":)" + std::to_string(i)));
  }
  std::size_t said = 0;
  for (const std::string& line : log.lines()) {
    const bool is_it = line.find("objects of a store on a stream") != std::string::npos && line.find("type Mooncake") != std::string::npos;
    said += is_it ? 1 : 0;
  }
  BOOST_TEST(said == 3U);  // the first, the second, the fourth
}

BOOST_AUTO_TEST_SUITE_END()

// Registration and inspection over HTTP.
#include <atomic>
#include <cmath>
#include <string>
#include <utility>
#include <vector>

#include <boost/test/unit_test.hpp>

#include "net/http_router.hpp"
#include "net/request_document.hpp"
#include "tests/support/net/api_fixture.hpp"

BOOST_AUTO_TEST_SUITE(api_registry)

namespace {

using namespace kvc;
using test::api_fixture;
using test::raw_answer;

// The examples of the contract, to the letter.
constexpr std::string_view seed_registration = R"({
"endpoint": "tcp://1.1.1.1:5557",
"replay_endpoint": "tcp://1.1.1.1:5558",
"type": "vLLM",
"modelname": "deepseek",
"lora_name": "sql-adapter",
"tenant_id": "default",
"instance_id": "vllm-prefill-node1",
"block_size": 128,
"dp_rank": 0,
"additionalsalt": "w8a8"
})";
constexpr std::string_view seed_unregistration = R"({
"type": "vLLM",
"modelname": "deepseek",
"lora_name": "sql-adapter",
"tenant_id": "default",
"instance_id": "vllm-prefill-node1",
"block_size": 128,
"dp_rank": 0
})";

bool has(const raw_answer& answer, std::string_view text) {
  return answer.body.find(text) != std::string::npos;
}

}  // namespace

BOOST_AUTO_TEST_CASE(registers_and_unregisters_as_the_seed_shows) {
  // The first thing every client does.
  api_fixture service;

  BOOST_TEST(service.post("/register", seed_registration).body ==
             R"({"status":"registered successfully","instance_id":"vllm-prefill-node1","changed":true,"replaced":false})");
  BOOST_TEST(service
                 .post("/query", R"({"model":"deepseek","lora_name":"sql-adapter","token_ids":[101,15,100,55,89],"tenant_id":"default",
    "instance_id":"vllm-prefill-node1","block_size":64,"cache_salt":"w8a8"})")
                 .body == R"({"default":{"vllm-prefill-node1":{"longest_matched":0,"GPU":0,"DP":{},"CPU":0,"DISK":0}}})");
  BOOST_TEST(service
                 .post("/query_by_hash", R"({"model":"deepseek","lora_name":"sql-adapter","seq_hashes":[1234567890,9876543210],
    "tenant_id":"default","instance_id":"vllm-prefill-node1","block_size":128,"cache_salt":"w8a8"})")
                 .body == R"({"default":{"vllm-prefill-node1":{"longest_matched":0,"GPU":0,"DP":{"0":0},"CPU":0,"DISK":0}}})");
  BOOST_TEST(service.post("/unregister", seed_unregistration).body ==
             R"({"status":"unregistered successfully","removed_instances":["vllm-prefill-node1|default|0"]})");
  const raw_answer again = service.post("/unregister", seed_unregistration);
  BOOST_TEST(again.status == 404);
  BOOST_TEST(has(again, R"("reason":"service_not_found")"));
}

BOOST_AUTO_TEST_CASE(tells_whether_a_registration_changed_anything) {
  // Engines register again after every restart of theirs or ours.
  api_fixture service;
  BOOST_TEST(has(service.join("a"), R"("changed":true,"replaced":false)"));
  BOOST_TEST(has(service.join("a"), R"("changed":false,"replaced":false)"));
  BOOST_TEST(has(service.join("a", 0, "vLLM", R"(,"topic":"kv")"), R"("changed":true,"replaced":true)"));
  BOOST_TEST(has(service.join("a", 0, "Mooncake"), R"("changed":true,"replaced":false)"));  // a pool beside the engine
}

BOOST_AUTO_TEST_CASE(fills_in_defaults_and_warns_of_unknown_types) {
  // What a registration left out must be visible, and an unknown type must not keep a publisher away.
  api_fixture service;
  const raw_answer answer = service.post("/register", R"({"endpoint":"ipc:///tmp/kvc-test.sock","type":"NewEngine","model":"m",
    "instance_id":"x","block_size":16,"medium":"SSD"})");
  BOOST_TEST(answer.status == 200);
  BOOST_TEST(has(answer, R"("warnings":["type NewEngine is not known)"));

  const raw_answer shown = service.get("/services?instance_id=x");
  for (const std::string text : {R"("count":1)", R"("Type":"auto")", R"("TenantID":"default")", R"("tenant_id":"default")", R"("DPRank":0)",
                                 R"("LoraName":"")", R"("AdditionalSalt":"")", R"("hash_seed":1337)", R"("medium":"DISK")",
                                 R"("BlockSize":16)", R"("class":"engine")", R"("shared":false)", R"("last_seqno":null)"}) {
    BOOST_TEST(has(shown, text), text);
  }
  BOOST_TEST(service.get("/services?instance_id=nobody").body == R"({"count":0,"services":[]})");
  service.join("p", 0, "mooncake");
  const raw_answer pool = service.get("/services?instance_id=p");
  for (const std::string text : {R"("medium":"CPU")", R"("class":"pool")", R"("shared":true)", R"("Type":"Mooncake")"}) {
    BOOST_TEST(has(pool, text), text);
  }
}

BOOST_AUTO_TEST_CASE(counts_copies_only_for_engines_that_announce_them) {
  // Counting a publisher that repeats itself would keep evicted blocks for ever; not counting vLLM would lose blocks that are still there.
  api_fixture service;
  for (const auto& [type, counting] : std::vector<std::pair<std::string, std::string>>{
           {"vLLM", "true"}, {"auto", "true"}, {"SGLang", "false"}, {"TRTLLM", "false"}, {"standard", "false"}, {"Mooncake", "false"}}) {
    BOOST_TEST_CONTEXT(type) {
      BOOST_TEST(service.join(type, 0, type).status == 200);
      BOOST_TEST(has(service.get("/services?instance_id=" + type), "\"copy_counting\":" + counting));
    }
  }
  BOOST_TEST(service.join("told", 0, "SGLang", R"(,"copy_counting":true)").status == 200);
  BOOST_TEST(has(service.get("/services?instance_id=told"), R"("copy_counting":true)"));
}

BOOST_AUTO_TEST_CASE(refuses_registrations_by_field) {
  // A client error never changes state, and names what to mend.
  api_fixture service;
  struct example {
    std::string replaced, by, reason, field;
  };
  const std::vector<example> examples{
      {R"("endpoint": "tcp://1.1.1.1:5557",)", "", "missing", "endpoint"},
      {"tcp://1.1.1.1:5557", "tcp://1.1.1.1", "invalid_value", "endpoint"},
      {"tcp://1.1.1.1:5558", "udp://1.1.1.1:5558", "invalid_value", "replay_endpoint"},
      {"tcp://1.1.1.1:5557", "tcp://*:5557", "invalid_value", "endpoint"},  // as an engine is told to bind
      {"tcp://1.1.1.1:5557", "tcp://0.0.0.0:5557", "invalid_value", "endpoint"},
      {"tcp://1.1.1.1:5557", "tcp://[::]:5557", "invalid_value", "endpoint"},
      {"tcp://1.1.1.1:5558", "tcp://*:5558", "invalid_value", "replay_endpoint"},
      {"tcp://1.1.1.1:5558", "tcp://0.0.0.0:5558", "invalid_value", "replay_endpoint"},
      {R"("type": "vLLM",)", "", "missing", "type"},
      {R"("vLLM")", "3", "invalid_type", "type"},
      {R"("modelname": "deepseek",)", "", "missing", "modelname"},
      {R"("deepseek")", R"("")", "invalid_value", "modelname"},
      {R"("instance_id": "vllm-prefill-node1",)", "", "missing", "instance_id"},
      {R"("vllm-prefill-node1")", R"("")", "invalid_value", "instance_id"},
      {R"("block_size": 128)", R"("block_size": 0)", "out_of_range", "block_size"},
      {R"("block_size": 128)", R"("block_size": "128")", "invalid_type", "block_size"},
      {R"("dp_rank": 0)", R"("dp_rank": -1)", "out_of_range", "dp_rank"},
      {R"("dp_rank": 0)", R"("bind": "yes")", "invalid_type", "bind"},
      {R"("dp_rank": 0)", R"("lora_id": 3)", "invalid_value", "lora_id"},
      {R"("dp_rank": 0)", R"("shared": true)", "invalid_value", "shared"},
      {R"("dp_rank": 0)", R"("hash_seed": -1)", "out_of_range", "hash_seed"},
      {R"("dp_rank": 0)", R"("after_loss": "hope")", "invalid_value", "after_loss"},
      {R"("dp_rank": 0)", R"("expect_idle": 1)", "invalid_type", "expect_idle"},
  };
  for (const example& each : examples) {
    std::string body(seed_registration);
    body.replace(body.find(each.replaced), each.replaced.size(), each.by);
    const raw_answer answer = service.post("/register", body);
    BOOST_TEST(answer.status == 400);
    BOOST_TEST(has(answer, "\"reason\":\"" + each.reason + "\",\"field\":\"" + each.field + "\""), body << answer.body);
  }
  BOOST_TEST(has(service.get("/services"), R"("count":0)"));
  service.join("a");
  const raw_answer conflict = service.join("b", 0, "vLLM", R"(,"hash_seed":7)");
  BOOST_TEST(conflict.status == 400);
  BOOST_TEST(has(conflict, R"("field":"hash_seed")"));
  BOOST_TEST(has(conflict, "use, 1337"), conflict.body);
}

BOOST_AUTO_TEST_CASE(the_only_publisher_of_a_partition_may_change_its_seed) {
  // Nobody else's hashes are contradicted, and the registration could not be mended otherwise.
  api_fixture service;
  service.join("a");
  const raw_answer changed = service.join("a", 0, "vLLM", R"(,"hash_seed":7)");
  BOOST_TEST(changed.status == 200);
  BOOST_TEST(has(changed, R"("replaced":true)"), changed.body);
  BOOST_TEST(has(service.get("/services"), R"("count":1)"));

  BOOST_TEST(service.join("b", 0, "vLLM", R"(,"hash_seed":7)").status == 200);
  const raw_answer conflict = service.join("a", 0, "vLLM", R"(,"hash_seed":8)");
  BOOST_TEST(conflict.status == 400);
  BOOST_TEST(has(conflict, "use, 7"), conflict.body);
}

BOOST_AUTO_TEST_CASE(a_refused_registration_teaches_no_word_for_a_medium) {
  // There is room for few, and none is ever forgotten.
  api_fixture service;
  service.join("a");
  const std::size_t known = service.media.size();
  for (int seed = 1; seed < 20; ++seed) {
    const std::string number = std::to_string(seed);
    BOOST_TEST(service.join("b", 0, "vLLM", R"(,"hash_seed":)" + number + R"(,"medium":"W)" + number + "\"").status == 400);
  }
  BOOST_TEST(service.media.size() == known);
  BOOST_TEST(service.join("b", 0, "vLLM", R"(,"medium":"TPU")").status == 200);
  BOOST_TEST(service.media.size() == known + 1);
  BOOST_TEST(has(service.join("b", 0, "vLLM", R"(,"medium":"tpu")"), R"("changed":false)"));
}

BOOST_AUTO_TEST_CASE(what_is_bound_here_has_no_name_of_a_host) {
  api_fixture service;
  const auto ask = [&](std::string_view endpoint) {
    std::string body(seed_registration);
    body.replace(body.find("tcp://1.1.1.1:5557"), 18, endpoint);
    body.insert(1, R"("bind": true,)");
    return service.post("/register", body);
  };
  for (const char* each : {"tcp://engine-1.cluster.local:15557", "tcp://localhost:15557"}) {
    const raw_answer refused = ask(each);
    BOOST_TEST(refused.status == 400, each);
    BOOST_TEST(has(refused, R"("field":"endpoint")"), refused.body);
  }
  for (const char* each : {"tcp://eth0:15557", "tcp://eth0.100:15557", "tcp://127.0.0.1:15557"}) BOOST_TEST(ask(each).status == 200, each);
}

BOOST_AUTO_TEST_CASE(unregisters_by_rank_tenant_and_class) {
  // A missing rank means all of them; a type chooses between the engine and the pool of an instance.
  api_fixture service;
  for (const std::uint32_t rank : {0U, 1U, 2U}) service.join("a", rank);
  service.join("a", 0, "Mooncake");
  service.join("b");

  BOOST_TEST(service.post("/unregister", R"({"instance_id":"a","tenant_id":"other"})").status == 404);
  BOOST_TEST(has(service.post("/unregister", R"({"instance_id":"a","dp_rank":1})"), R"(["a|default|1"])"));
  BOOST_TEST(has(service.post("/unregister", R"({"instance_id":"a","type":"Mooncake"})"), R"(["a|default|0"])"));
  BOOST_TEST(has(service.post("/unregister", R"({"instance_id":"a"})"), R"(["a|default|0","a|default|2"])"));
  BOOST_TEST(has(service.get("/services"), R"("count":1)"));
  BOOST_TEST(has(service.post("/unregister", "{}"), R"("reason":"missing","field":"instance_id")"));
}

BOOST_AUTO_TEST_CASE(tells_404_from_405_and_415) {
  // Each sends the client looking in another place.
  api_fixture service;
  BOOST_TEST(service.get("/nothing").status == 404);
  const raw_answer wrong = service.get("/query");
  BOOST_TEST(wrong.status == 405);
  BOOST_TEST(wrong.header("allow") == "POST");
  BOOST_TEST(service.post("/metrics", "").header("allow") == "GET, HEAD");
  BOOST_TEST(service.post("/query", "<x/>", {{"Content-Type", "application/xml"}}).status == 415);
  BOOST_TEST(has(service.post("/query", "{"), R"("reason":"invalid_json")"));
  BOOST_TEST(has(service.post("/query", "[]"), R"("reason":"invalid_type")"));
  BOOST_TEST(service.get("/healthz/").status == 200);
}

BOOST_AUTO_TEST_CASE(asks_for_tokens_when_there_are_any) {
  // Health and metrics stay open for probes; writing needs more than reading.
  test::api_settings settings;
  settings.tokens = {"all"};
  settings.read_tokens = {"read"};
  api_fixture service(settings);
  const test::header_list all{{"Authorization", "Bearer all"}};
  const test::header_list read{{"Authorization", "Bearer read"}};

  for (const std::string open : {"/healthz", "/livez", "/health", "/readyz", "/ready", "/metrics", "/openapi.json"}) {
    BOOST_TEST(service.get(open).status == 200, open);
  }
  const raw_answer missing = service.get("/services");
  BOOST_TEST(missing.status == 401);
  BOOST_TEST(missing.header("www-authenticate") == "Bearer");
  BOOST_TEST(has(missing, R"("reason":"unauthorized")"));
  BOOST_TEST(service.get("/services", read).status == 200);
  const raw_answer forbidden = service.post("/register", seed_registration, read);
  BOOST_TEST(forbidden.status == 403);
  BOOST_TEST(has(forbidden, R"("reason":"forbidden")"));
  BOOST_TEST(service.post("/register", seed_registration, all).status == 200);
  // A query that has objects moved changes something, too.
  const std::string moving = R"({"model":"m","block_size":4,"token_ids":[1,2,3,4],"instance_id":"a","prefetch":true})";
  BOOST_TEST(service.post("/query", moving, read).status == 403);
  BOOST_TEST(has(service.post("/query_batch", R"({"queries":[)" + moving + "]}", read), R"("reason":"forbidden")"));
  BOOST_TEST(service.post("/query", moving, all).status == 200);
}

BOOST_AUTO_TEST_CASE(tells_when_answers_can_be_relied_on) {
  // Alive at once; ready when streams are whole or had their time; never while draining.
  test::api_settings settings;
  settings.streams.ready_grace = std::chrono::hours(1);
  api_fixture service(settings);
  BOOST_TEST(service.get("/readyz").status == 200);
  service.join("a");

  const raw_answer waiting = service.get("/readyz");
  BOOST_TEST(waiting.status == 503);
  BOOST_TEST(waiting.header("retry-after") == "1");
  BOOST_TEST(has(waiting, "a|default|0 is joining"));
  BOOST_TEST(service.get("/livez").body == R"({"status":"healthy"})");
  service.find_member("a").status->state = core::stream_state::whole;
  BOOST_TEST(service.get("/ready").status == 200);

  service.fleet.drain();
  BOOST_TEST(has(service.get("/readyz"), R"("reason":"draining")"));
  BOOST_TEST(has(service.join("b"), R"("reason":"draining")"));
  BOOST_TEST(has(service.get("/health"), R"("draining":true)"));
}

BOOST_AUTO_TEST_CASE(is_not_ready_while_something_beside_the_streams_is_missing) {
  // A balancer that asks here must hear what the service manager hears.
  std::atomic<bool> is_reserved{false};
  test::api_settings settings;
  settings.also_missing = [&is_reserved] {
    return is_reserved ? std::vector<std::string>() : std::vector<std::string>{"index_reserve: 1 of 64 GiB"};
  };
  api_fixture service(settings);
  const raw_answer waiting = service.get("/readyz");
  BOOST_TEST(waiting.status == 503);
  BOOST_TEST(has(waiting, "index_reserve: 1 of 64 GiB"));
  BOOST_TEST(!has(waiting, "streams"));
  is_reserved = true;
  BOOST_TEST(service.get("/readyz").status == 200);
}

BOOST_AUTO_TEST_CASE(shows_workers_and_partitions) {
  // Operators look here first.
  api_fixture service;
  service.join("a", 0);
  service.join("a", 1);
  service.join("a", 1, "Mooncake");
  const raw_answer workers = service.get("/workers");
  BOOST_TEST(has(workers, R"("count":2)"));
  BOOST_TEST(has(workers, R"({"instance_id":"a","tenant_id":"default","dp_rank":1,"state":"joining","whole":false,"lag_ms":null,)"
                          R"("blocks":{"GPU":0,"CPU":0,"DISK":0},"missing":0,)"
                          R"("delay_ms":null,"unproven_absences":0,"connected":false,"generation":2})"));
  for (const auto& each : *service.fleet.view().get()) {  // who is short of blocks says so beside an engine that is only joining
    if (each->registration.worker.kind == core::publisher_class::pool) each->status->state.store(core::stream_state::incomplete);
  }
  BOOST_TEST(has(service.get("/workers"), R"("dp_rank":1,"state":"incomplete","whole":false)"));
  const std::vector<std::uint32_t> prompt{1, 2, 3, 4, 5, 6, 7, 8};
  service.hold(service.find_member("a"), prompt, 0, 2);
  const raw_answer partitions = service.get("/global_view");
  BOOST_TEST(has(partitions, R"({"count":1,"partitions":[{"tenant_id":"default","model":"m","lora_name":"","additional_salt":"",)"
                             R"("block_size":4,"hash_seed":1337,"blocks":2,)"));
  BOOST_TEST(has(partitions, R"("workers":3)"));
}

BOOST_AUTO_TEST_CASE(exposes_metrics_that_parse) {
  // A scrape that one bad line makes unreadable is no scrape.
  api_fixture service;
  service.join("in \"quotes\"\\n");
  service.join("a");
  service.post("/query", R"({"model":"m","block_size":4,"token_ids":[1,2,3,4]})");
  service.post("/query", "{");
  const raw_answer answer = service.get("/metrics");
  BOOST_TEST(answer.header("content-type").starts_with("text/plain"));

  std::size_t lines = 0;
  std::size_t at = 0;
  while (at < answer.body.size()) {
    const std::size_t end = answer.body.find('\n', at);
    BOOST_REQUIRE(end != std::string::npos);
    const std::string line = answer.body.substr(at, end - at);
    at = end + 1;
    ++lines;
    const std::string_view named = line.starts_with("# HELP ") || line.starts_with("# TYPE ") ? std::string_view(line).substr(7) : line;
    BOOST_TEST((named.starts_with("kvc_") || named.starts_with("process_")), line);
    if (line.starts_with("# ")) continue;
    const std::size_t blank = line.rfind(' ');
    BOOST_REQUIRE(blank != std::string::npos);
    std::size_t used = 0;
    BOOST_TEST(std::isfinite(std::stod(line.substr(blank + 1), &used)), line);
    BOOST_TEST(used == line.size() - blank - 1);
  }
  BOOST_TEST(lines > 100U);
  BOOST_TEST(has(answer, "kvc_http_requests_total{route=\"query\",status=\"2xx\"} 1\n"));
  BOOST_TEST(has(answer, "kvc_http_requests_total{route=\"query\",status=\"4xx\"} 1\n"));
  BOOST_TEST(has(answer, "kvc_http_handling_seconds_count{route=\"query\"} 2\n"));
  BOOST_TEST(has(answer, "kvc_stream_blocks{tenant=\"default\",instance=\"a\",rank=\"0\",class=\"engine\",medium=\"GPU\"} 0\n"));
}

BOOST_AUTO_TEST_CASE(describes_its_surface) {
  // Generators read it; every route must be there.
  api_fixture service;
  const raw_answer answer = service.get("/openapi.json");
  BOOST_TEST(answer.header("content-type") == "application/json");
  BOOST_TEST(has(answer, R"("openapi":"3.1.0")"));
  for (const auto& each : net::all_routes()) BOOST_TEST(has(answer, "\"" + std::string(each.path) + "\":{"), each.path);
  net::request_document document;
  BOOST_TEST(!document.read(answer.body, net::wire_form::json, net::request_document::shape::single).has_value());  // it is JSON
}

BOOST_AUTO_TEST_SUITE_END()

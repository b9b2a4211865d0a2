// Prefetches of many clients at a time, relayed to servers that answer oddly, in part, late, never, or go away: each client is told what
// became of its own request.
//
// KVC_PROPERTY_STREAMS sets how many requests each client makes, KVC_PROPERTY_SEED the seed.
#include <array>
#include <atomic>
#include <chrono>
#include <cstdint>
#include <memory>
#include <mutex>
#include <random>
#include <string>
#include <string_view>
#include <thread>
#include <vector>

#include <boost/json/object.hpp>
#include <boost/json/parse.hpp>
#include <boost/json/serialize.hpp>
#include <boost/test/unit_test.hpp>

#include "tests/support/net/coordinator_fixture.hpp"
#include "tests/support/net/heard_log.hpp"
#include "tests/support/net/stub_mp_server.hpp"
#include "tests/support/setting.hpp"

BOOST_AUTO_TEST_SUITE(coordinator_prefetch_lives)

namespace {

using namespace kvc;
using test::raw_answer;
using told = test::stub_mp_server::told;
namespace json = boost::json;

/// What a server does about one request; the request says which row, and `#` in a body stands for the name of the request.
struct behaviour {
  told answer;
  /// What a submission comes to: a body under 200, or what a refusal's detail begins with (behind `prefetch submit to 'ID' failed: `).
  int submitted = 200;
  std::string_view told_of_it{};
};

const std::vector<behaviour>& behaviours() {
  static const std::vector<behaviour> rows{
      {{202, R"({"request_id":"#","chunks":3,"status":"submitted"})"}, 200, R"("request_id":"#","chunks":3,"status":"submitted")"},
      {{200, R"({"status":"#"})"}, 200, R"("request_id":"","chunks":0,"status":"#")"},
      {{202, R"({"request_id":"#","chunks":"7","more":[{}]})"}, 200, R"("request_id":"#","chunks":7,"status":"submitted")"},
      {{299, R"( {"request_id" : "#"} )"}, 200, R"("request_id":"#","chunks":0,"status":"submitted")"},
      {{200, "no JSON of #", "text/plain"}, 500, "the MP server's answer is not understood"},
      {{200, ""}, 500, "the MP server's answer is not understood"},
      {{200, R"(["#"])"}, 500, "the MP server's answer is not understood"},
      {{200, R"({"request_id":null,"chunks":1})"}, 500, "the MP server's answer is not understood"},
      {{200, R"({"request_id":"#","chunks":1.5})"}, 500, "the MP server's answer is not understood"},
      {{202, R"({"request_id":"#","status":7})"}, 500, "the MP server's answer is not understood"},
      {{400, R"({"detail":"#"})"}, 502, R"(HTTP 400: {"detail":"#"})"},
      {{302, ""}, 502, "HTTP 302"},
      {{500, "Internal Server Error", "text/plain"}, 502, "HTTP 500: Internal Server Error"},
      {{503, R"({"detail":"model of # not known yet"})"}, 502, "HTTP 503"},
      {{.status = 202, .body = R"({"request_id":"#"})", .breaks_off = true}, 502, ""},
      {{.status = 202, .body = R"({"request_id":"#"})", .most_sent = 9}, 502, ""},
      {{.status = 202, .body = R"({"request_id":"#"})", .most_sent = 60}, 502, ""},
      {{.status = 202, .body = std::string(3'000, ' ') + R"({"request_id":"#"})", .most_sent = 2'000}, 502, ""},
      {{.status = 202, .body = R"({"request_id":"#"})", .is_silent = true}, 502, ""},  // the last one, see `live`
  };
  return rows;
}

std::string with_name(std::string_view text, std::string_view name) {
  std::string out;
  for (const char each : text) each == '#' ? out += name : out += each;
  return out;
}

/// A request is called `ROW-CLIENT-NUMBER`.
told decide(const test::stub_mp_server::asked& request) {
  std::string name;
  if (request.method == "POST") {
    name = json::parse(request.body).at("model_name").as_string();
  } else {
    name = request.target.substr(request.target.rfind('/') + 1);
  }
  told answer = behaviours().at(std::stoul(name)).answer;
  answer.body = with_name(answer.body, name);
  return answer;
}

bool is_broken(const told& answer) {
  return answer.breaks_off || answer.is_silent || answer.most_sent != static_cast<std::size_t>(-1);
}

struct prefetch_clients {
  explicit prefetch_clients(const test::coordinator_options& options, bool short_of_time) : service(options), is_short(short_of_time) {
    for (int i = 0; i < 3; ++i) {
      servers.push_back(std::make_unique<test::stub_mp_server>(decide));
      service.join("s" + std::to_string(i), servers.back()->port());
    }
    test::stub_mp_server gone;
    service.join("away", gone.port());
  }

  std::vector<std::unique_ptr<test::stub_mp_server>> servers;
  test::coordinator_fixture service;
  bool is_short;  ///< a call may have no time for its answer, however soon that comes
  std::mutex guard;
  std::string complaint;

  void complain(const std::string& what, const raw_answer& answer) {
    const std::lock_guard locked(guard);
    if (complaint.empty()) complaint = what + ": " + std::to_string(answer.status) + " " + answer.body;
  }

  /// Whether the one member of an answer says something that begins so.
  static bool is_detail(const raw_answer& answer, const std::string& beginning) {
    const json::value body = json::parse(answer.body);
    return body.as_object().size() == 1 && std::string(body.at("detail").as_string()).starts_with(beginning);
  }

  void submit(test::raw_client& client, const std::string& id, std::size_t row, const std::string& name) {
    const behaviour& expected = behaviours()[row];
    const raw_answer answer = client.ask(
        "POST", "/cache/prefetches", R"({"instance_id":")" + id + R"(","model_name":")" + name + R"(","world_size":1,"token_ids":[1,2]})");
    const std::string what = with_name(expected.told_of_it, name);
    bool is_right = false;
    if (id == "nobody") {
      is_right = answer.status == 404 && is_detail(answer, "no MP server registered with instance_id='nobody'");
    } else if (id == "away") {
      is_right = answer.status == 502 && is_detail(answer, "prefetch submit to 'away' failed: ");
    } else if (expected.submitted == 200) {
      is_right = answer.status == 200 && answer.body == R"({"instance_id":")" + id + R"(",)" + what + "}";
    } else if (expected.submitted == 500) {
      is_right = answer.status == 500 && is_detail(answer, what);
    } else {
      is_right = answer.status == 502 && is_detail(answer, "prefetch submit to '" + id + "' failed: " + what);
    }
    if (is_short && answer.status == 502) is_right = is_detail(answer, "prefetch submit to '" + id + "' failed: ");
    if (!is_right) complain("submission " + name + " to " + id, answer);
  }

  void poll(test::raw_client& client, const std::string& id, std::size_t row, const std::string& name) {
    const told& relayed = behaviours()[row].answer;
    const std::string body = with_name(relayed.body, name);
    const raw_answer answer = client.ask("GET", "/cache/prefetches/" + id + "/" + name);
    bool is_right = false;
    if (id == "nobody") {
      is_right = answer.status == 404 && is_detail(answer, "no MP server registered with instance_id='nobody'");
    } else if (id == "away" || is_broken(relayed)) {
      is_right = answer.status == 502 && is_detail(answer, "prefetch status from '" + id + "' failed: ");
    } else {
      boost::system::error_code no_json;
      (void)json::parse(body, no_json);
      const std::string wanted = no_json ? json::serialize(json::object{{"detail", body}}) : body;
      is_right = answer.status == static_cast<int>(relayed.status) && answer.body == wanted;
    }
    if (is_short && answer.status == 502) is_right = is_detail(answer, "prefetch status from '" + id + "' failed: ");
    if (!is_right) complain("poll " + name + " of " + id, answer);
  }

  /// One client's requests over one connection, which no answer may spoil.
  void live(std::uint64_t seed, std::size_t number, std::uint64_t requests) {
    std::mt19937_64 random(seed * 100 + number);
    test::raw_client client(service.port());
    for (std::uint64_t i = 0; i < requests; ++i) {
      constexpr std::array<std::string_view, 8> ids{"s0", "s1", "s2", "s0", "s1", "s2", "away", "nobody"};
      const std::size_t row = random() % (behaviours().size() - (is_short ? 0 : 1));
      const std::string name = std::to_string(row) + "-" + std::to_string(number) + "-" + std::to_string(i);
      const std::string id(ids[random() % ids.size()]);
      random() % 2 == 0 ? submit(client, id, row, name) : poll(client, id, row, name);
    }
  }
};

void play(bool is_short) {
  const std::uint64_t seed = test::setting("KVC_PROPERTY_SEED", 55);
  const std::uint64_t requests = test::setting("KVC_PROPERTY_STREAMS", 60);
  BOOST_TEST_MESSAGE("seed " << seed << ", " << requests << " requests of each client");
  const test::heard_log log;
  test::coordinator_options options;
  if (is_short) options.coordinator.call_timeout = std::chrono::milliseconds(30);
  options.lanes = 1 + seed % 2;
  prefetch_clients all(options, is_short);
  std::vector<std::thread> clients;
  for (std::size_t i = 0; i < 6; ++i) clients.emplace_back([&all, seed, requests, i] { all.live(seed, i, requests); });
  for (std::thread& each : clients) each.join();
  BOOST_REQUIRE_MESSAGE(all.complaint.empty(), "seed " << seed << ": " << all.complaint);
}

}  // namespace

BOOST_AUTO_TEST_CASE(every_client_is_told_of_its_own_request) {
  play(false);
}

BOOST_AUTO_TEST_CASE(calls_that_are_given_up_spoil_no_other) {
  play(true);
}

BOOST_AUTO_TEST_SUITE_END()

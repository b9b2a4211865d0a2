// Sessions over real loopback sockets, against a service that answers what the test wants.
#include <functional>

#include <boost/test/unit_test.hpp>

#include "tests/support/net/http_fixture.hpp"

BOOST_AUTO_TEST_SUITE(http_server_)

namespace {

using namespace kvc;
using namespace kvc::net;
using namespace std::chrono_literals;
using test::raw_answer;
using test::raw_client;
using test::with;
using server_fixture = test::served<test::toy_service>;

}  // namespace

BOOST_AUTO_TEST_CASE(keeps_a_connection_for_many_requests) {
  // Routers hold few connections and send everything over them.
  const server_fixture under_test;
  raw_client client = under_test.connect();

  for (int i = 0; i < 50; ++i) {
    const raw_answer answer = client.ask("POST", "/echo", std::string(static_cast<std::size_t>(i) * 1'000, 'y'));
    BOOST_TEST(answer.status == 200);
    BOOST_TEST(answer.body.size() == static_cast<std::size_t>(i) * 1'000);
    BOOST_TEST(answer.header("connection") == "");
    BOOST_TEST(answer.header("date").ends_with(" GMT"));
  }
  BOOST_TEST(under_test.sum(&core::lane_counters::connections_accepted) == 1U);
}

BOOST_AUTO_TEST_CASE(answers_pipelined_requests_in_their_order) {
  // A client may send the next request before the last answer has come, waiting handlers included.
  const server_fixture under_test;
  raw_client client = under_test.connect();
  std::string all;
  for (int i = 0; i < 100; ++i) all += raw_client::request("POST", "/echo", std::to_string(i));
  all += raw_client::request("POST", "/wait?patience=20", "waited");
  all += raw_client::request("POST", "/echo", "last");

  BOOST_TEST(client.send(all));
  for (int i = 0; i < 100; ++i) BOOST_TEST(client.receive().body == std::to_string(i));
  BOOST_TEST(client.receive().body == "waited");
  BOOST_TEST(client.receive().body == "last");
}

BOOST_AUTO_TEST_CASE(refuses_a_body_of_one_byte_too_many) {
  // The limit must hold for the parser that is really used, with a length and in chunks.
  const server_fixture under_test(with([](http_settings& settings) { settings.max_body_bytes = 1'000; }));

  BOOST_TEST(test::ask(under_test.port(), "POST", "/size", std::string(1'000, 'x')).body == "1000");
  const raw_answer sized = test::ask(under_test.port(), "POST", "/size", std::string(1'001, 'x'));
  BOOST_TEST(sized.status == 413);
  BOOST_TEST(sized.header("connection") == "close");
  BOOST_TEST(sized.body.find(R"("reason":"body_too_large")") != std::string::npos);

  for (const auto& [extra, status] : {std::pair("", 200), std::pair("1\r\nx\r\n", 413)}) {
    raw_client client = under_test.connect();
    client.send("POST /size HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n3e8\r\n" + std::string(1'000, 'x') + "\r\n" + extra +
                "0\r\n\r\n");
    BOOST_TEST(client.receive().status == status);
  }
  BOOST_TEST(under_test.sum(&core::lane_counters::bodies_refused) == 2U);
}

BOOST_AUTO_TEST_CASE(tells_a_client_why_its_huge_body_is_refused) {
  // A client that writes all of 100 MB before it reads must find the answer and not a reset connection.
  const server_fixture under_test;
  raw_client client = under_test.connect();
  const std::string piece(1U << 20, 'x');

  BOOST_TEST(client.send("POST /size HTTP/1.1\r\nHost: x\r\nContent-Length: 104857600\r\n\r\n"));
  bool all_taken = true;
  for (int i = 0; i < 100; ++i) all_taken = all_taken && client.send(piece);
  BOOST_TEST(all_taken);
  BOOST_TEST(client.receive().status == 413);
  BOOST_TEST(test::ask(under_test.port(), "POST", "/echo", "still here").body == "still here");
}

BOOST_AUTO_TEST_CASE(takes_a_large_body_within_the_limit) {
  // 60 MiB arrive whole, and a claimed length alone costs nothing.
  const server_fixture under_test;
  BOOST_TEST(test::ask(under_test.port(), "POST", "/size", std::string(60U << 20, 'x')).body == std::to_string(60U << 20));
}

BOOST_AUTO_TEST_CASE(refuses_a_header_that_is_too_large) {
  // A head without end must not be collected.
  const server_fixture under_test;
  const raw_answer answer = test::ask(under_test.port(), "GET", "/echo", {}, {{"X", std::string(17'000, 'x')}});
  BOOST_TEST(answer.status == 413);
}

BOOST_AUTO_TEST_CASE(refuses_trailers_and_chunk_extensions_that_are_too_large) {
  // They are for nobody here, and a client that never ends them must not be listened to for ever.
  const server_fixture under_test;
  const std::string head = "POST /size HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n";
  std::string trailers;
  while (trailers.size() < 100'000) trailers += "A: b\r\n";

  for (const std::string& body : {"2\r\n{}\r\n0\r\n" + trailers, "2;x=" + std::string(100'000, 'y')}) {
    raw_client client = under_test.connect();
    client.send(head + body);
    const raw_answer answer = client.receive();
    BOOST_TEST(answer.status == 413);
    BOOST_TEST(answer.header("connection") == "close");
    BOOST_TEST(answer.body.find("trailers and chunk extensions") != std::string::npos);
  }
  raw_client client = under_test.connect();
  client.send(head + "2\r\n{}\r\n0\r\nChecksum: 1\r\n\r\n");
  BOOST_TEST(client.receive().body == "2");
}

BOOST_AUTO_TEST_CASE(refuses_what_is_not_http) {
  // Port scanners, TLS clients and the like get one answer and are gone.
  const server_fixture under_test;
  raw_client client = under_test.connect();
  client.send("\x16\x03\x01 hello\r\n\r\n");
  BOOST_TEST(client.receive().status == 400);
  client.finish();
  BOOST_TEST(client.is_closed());
}

BOOST_AUTO_TEST_CASE(never_takes_a_body_for_the_next_request) {
  // A coding we do not read leaves no telling where the body ends; a request hidden in it would be carried out behind a proxy's back.
  const server_fixture under_test;
  for (const std::string coding : {"gzip", "identity", "xchunked", "chunked, identity", "gzip, chunked", ""}) {
    raw_client client = under_test.connect();
    client.send("POST /echo HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: " + coding + "\r\n\r\nGET /size HTTP/1.1\r\nHost: x\r\n\r\n");
    const raw_answer answer = client.receive();
    BOOST_TEST(answer.status == 400, coding);
    BOOST_TEST(answer.header("connection") == "close");
    BOOST_TEST(answer.body.find("Transfer-Encoding") != std::string::npos);
    client.finish();
    BOOST_TEST(client.is_closed());
  }
  raw_client nameless = under_test.connect();
  nameless.send("GET /size HTTP/1.1\r\n\r\n");
  BOOST_TEST(nameless.receive().body.find("Host") != std::string::npos);
}

BOOST_AUTO_TEST_CASE(answers_a_client_that_asks_before_it_sends) {
  // curl asks first with large bodies and would wait a second for nothing.
  const server_fixture under_test;
  const std::string head = "Host: x\r\nExpect: 100-continue\r\nContent-Length: 5\r\n\r\n";

  raw_client client = under_test.connect();
  client.send("POST /echo HTTP/1.1\r\n" + head);
  BOOST_TEST(client.receive().status == 100);
  client.send("hello");
  BOOST_TEST(client.receive().body == "hello");

  client.send("POST /nothing HTTP/1.1\r\n" + head);
  BOOST_TEST(client.receive().status == 404);  // without having sent the body

  raw_client old = under_test.connect();  // would take what comes first for the answer
  old.send("POST /echo HTTP/1.0\r\n" + head + "hello");
  BOOST_TEST(old.receive().body == "hello");
}

BOOST_AUTO_TEST_CASE(a_request_after_a_bad_one_is_its_own) {
  // What is kept from one request to the next is memory, not meaning.
  const server_fixture under_test;
  raw_client client = under_test.connect();
  BOOST_TEST(client.ask("POST", "/nothing", "{}").status == 404);
  BOOST_TEST(client.ask("POST", "/echo", std::string(5'000, 'a')).body.size() == 5'000U);
  BOOST_TEST(client.ask("POST", "/echo", "b").body == "b");
  BOOST_TEST(client.ask("GET", "/size").body == "0");
}

BOOST_AUTO_TEST_CASE(takes_the_request_of_a_client_that_closes_behind_it) {
  // A half-closed connection still gets its answer, also when the end arrives together with the request.
  const server_fixture under_test;
  raw_client client = under_test.connect();
  client.send(raw_client::request("POST", "/echo", "last words"));
  client.finish();
  BOOST_TEST(client.receive().body == "last words");
  BOOST_TEST(client.is_closed());
  BOOST_TEST(under_test.sum(&core::lane_counters::connections_timed_out) == 0U);
}

BOOST_AUTO_TEST_CASE(refuses_connections_over_the_limit) {
  // One too many is told to come back; when one leaves there is room again.
  server_fixture under_test(with([](http_settings& settings) { settings.max_connections = 2; }));
  raw_client first = under_test.connect();
  BOOST_TEST(first.ask("POST", "/echo", "1").body == "1");
  {
    raw_client second = under_test.connect();
    BOOST_TEST(second.ask("POST", "/echo", "2").body == "2");
    raw_client third = under_test.connect();
    const raw_answer refused = third.receive();
    BOOST_TEST(refused.status == 503);
    BOOST_TEST(refused.header("retry-after") == "1");
    BOOST_TEST(refused.header("connection") == "close");
  }
  BOOST_TEST(server_fixture::eventually([&] { return under_test.server.connections() == 1; }));
  BOOST_TEST(test::ask(under_test.port(), "POST", "/echo", "3").body == "3");
  BOOST_TEST(under_test.sum(&core::lane_counters::connections_refused) == 1U);
}

BOOST_AUTO_TEST_CASE(bounds_the_memory_of_all_bodies) {
  // Two bodies of 2 MiB do not fit into 3; what is left goes on serving.
  const server_fixture under_test(with([](http_settings& settings) { settings.body_budget_bytes = 3U << 20; }));
  raw_client holder = under_test.connect();
  holder.send("POST /size HTTP/1.1\r\nHost: x\r\nContent-Length: 2097152\r\n\r\n" + std::string(2'097'151, 'x'));
  BOOST_TEST(server_fixture::eventually([&] { return under_test.sum(&core::lane_counters::bytes_in) > 2'097'151; }));

  const raw_answer refused = test::ask(under_test.port(), "POST", "/size", std::string(2'097'152, 'x'));
  BOOST_TEST(refused.status == 503);
  BOOST_TEST(refused.header("retry-after") == "1");
  BOOST_TEST(test::ask(under_test.port(), "POST", "/size", "small").body == "5");
  holder.send("x");
  BOOST_TEST(holder.receive().body == "2097152");
}

BOOST_AUTO_TEST_CASE(takes_any_body_within_the_limit_while_the_budget_is_unused) {
  // A budget that is small, but larger than the largest body, is for one body at least; it was refused for ever.
  const server_fixture under_test(with([](http_settings& settings) {
    settings.max_body_bytes = 100'000;
    settings.body_budget_bytes = 150'000;
  }));
  for (int i = 0; i < 3; ++i) {
    // The body before may still be counted for a moment after its answer has come.
    BOOST_TEST(server_fixture::eventually(
        [&] { return test::ask(under_test.port(), "POST", "/size", std::string(100'000, 'x')).body == "100000"; }));
  }
}

BOOST_AUTO_TEST_CASE(serves_others_beside_many_idle_connections) {
  // Routers keep pools; most of their connections do nothing most of the time.
  const server_fixture under_test;
  std::vector<raw_client> idle;
  for (int i = 0; i < 400; ++i) idle.push_back(under_test.connect());

  BOOST_TEST(server_fixture::eventually([&] { return under_test.server.connections() == 400; }));
  for (int i = 0; i < 20; ++i) BOOST_TEST(test::ask(under_test.port(), "POST", "/echo", "hi").body == "hi");
  for (std::size_t i = 0; i < idle.size(); i += 40) BOOST_TEST(idle[i].ask("POST", "/echo", "awake").body == "awake");
}

BOOST_AUTO_TEST_CASE(answers_head_like_get_without_a_body) {
  // Probes use it.
  const server_fixture under_test;
  raw_client client = under_test.connect();
  const raw_answer head = client.ask("HEAD", "/large");

  BOOST_TEST(head.status == 200);
  BOOST_TEST(head.header("content-length") == std::to_string(8U << 20));
  BOOST_TEST(client.ask("POST", "/echo", "after").body == "after");
}

BOOST_AUTO_TEST_CASE(a_body_that_replies_share_comes_before_their_own) {
  // Also to clients that take it in many pieces, and no byte of it twice.
  const server_fixture under_test;
  const std::string all = *under_test.service.shared + std::string(100'000, 'o');
  std::vector<raw_client> clients;
  for (int i = 0; i < 3; ++i) {
    clients.push_back(under_test.connect());
    clients.back().shrink_receive_buffer(64 << 10);
    clients.back().send(raw_client::request("POST", "/shared", std::string(100'000, 'o')));
  }
  for (raw_client& each : clients) {
    const raw_answer answer = each.receive();
    BOOST_TEST(answer.header("content-length") == std::to_string(all.size()));
    BOOST_TEST((answer.body == all));
    BOOST_TEST((each.ask("POST", "/shared").body == *under_test.service.shared));
    each.send(raw_client::request("HEAD", "/shared"));
    BOOST_TEST(each.receive(true).header("content-length") == std::to_string(8U << 20));
    BOOST_TEST(each.ask("POST", "/echo", "after").body == "after");
  }
}

BOOST_AUTO_TEST_CASE(closes_when_the_client_says_so) {
  // By header, and by being HTTP/1.0.
  const server_fixture under_test;
  raw_client polite = under_test.connect();
  BOOST_TEST(polite.ask("POST", "/echo", "x", {{"Connection", "close"}}).header("connection") == "close");
  BOOST_TEST(polite.is_closed());
  raw_client old = under_test.connect();
  old.send("GET /size HTTP/1.0\r\n\r\n");
  BOOST_TEST(old.receive().body == "0");
  BOOST_TEST(old.is_closed());
}

BOOST_AUTO_TEST_CASE(keeps_the_connection_of_an_old_client_that_asks_for_it) {
  // HTTP/1.0 closes unless both sides say otherwise; ApacheBench would wait for the end of the connection.
  const server_fixture under_test;
  raw_client client = under_test.connect();
  for (int i = 0; i < 2; ++i) {
    client.send("GET /size HTTP/1.0\r\nConnection: keep-alive\r\n\r\n");
    const raw_answer answer = client.receive();
    BOOST_TEST(answer.body == "0");
    BOOST_TEST(answer.header("connection") == "keep-alive");
  }
}

BOOST_AUTO_TEST_CASE(takes_an_empty_line_behind_a_request_for_nothing) {
  // Neither as a bad request nor as the beginning of one, which would have to come soon.
  const server_fixture under_test(with([](http_settings& settings) { settings.header_timeout = 1ms; }), 1);
  raw_client client = under_test.connect();
  client.send(raw_client::request("POST", "/echo", "a") + "\r\n");
  BOOST_TEST(client.receive().body == "a");
  BOOST_TEST(test::ask(under_test.port(), "POST", "/wait?patience=50", "the deadline of a head has passed").status == 200);
  BOOST_TEST(client.ask("POST", "/echo", "b").body == "b");
  client.send("\r\n" + raw_client::request("POST", "/echo", "c"));
  BOOST_TEST(client.receive().body == "c");
}

BOOST_AUTO_TEST_CASE(takes_an_empty_line_in_two_pieces_for_nothing_either) {
  // The first half may be the beginning of a head; with the second it is known to be none, and the connection rests as before.
  const server_fixture under_test(with([](http_settings& settings) { settings.header_timeout = 500ms; }), 1);
  raw_client client = under_test.connect();
  BOOST_TEST(client.ask("POST", "/echo", "a").body == "a");
  const auto bytes_in = [&] { return under_test.sum(&core::lane_counters::bytes_in); };
  const auto before = bytes_in();
  client.send("\r");
  BOOST_REQUIRE(server_fixture::eventually([&] { return bytes_in() == before + 1; }));
  client.send("\n");
  BOOST_REQUIRE(server_fixture::eventually([&] { return bytes_in() == before + 2; }));

  BOOST_TEST(test::ask(under_test.port(), "POST", "/wait?patience=700", "the deadline of a head has passed").status == 200);
  BOOST_TEST(client.ask("POST", "/echo", "b").body == "b");
  BOOST_TEST(under_test.sum(&core::lane_counters::connections_timed_out) == 0U);
}

BOOST_AUTO_TEST_CASE(refuses_a_form_it_does_not_read) {
  // With 415, so that the client looks at its headers and not at its JSON.
  const server_fixture under_test;
  BOOST_TEST(test::ask(under_test.port(), "POST", "/echo", "<x/>", {{"Content-Type", "application/xml"}}).status == 415);
  BOOST_TEST(test::ask(under_test.port(), "POST", "/echo", "{}", {{"Content-Encoding", "gzip"}}).status == 415);
  BOOST_TEST(test::ask(under_test.port(), "POST", "/echo", "{}", {{"Content-Type", "text/plain"}}).status == 200);
}

BOOST_AUTO_TEST_CASE(finishes_the_request_in_hand_when_it_stops) {
  // Two phases: idle sessions leave at once, a waiting one gets its answer with `Connection: close`.
  server_fixture under_test;
  raw_client idle = under_test.connect();
  BOOST_TEST(idle.ask("POST", "/echo", "x").status == 200);
  raw_client busy = under_test.connect();
  BOOST_TEST(busy.ask("POST", "/echo", "x").status == 200);
  const std::string first = raw_client::request("POST", "/echo", "x");
  const std::string last_two =
      raw_client::request("POST", "/wait?patience=200", "waited") + raw_client::request("POST", "/echo", "never answered");
  BOOST_TEST(busy.send(last_two));
  const std::uint64_t sent = 2 * first.size() + last_two.size();
  BOOST_TEST(server_fixture::eventually([&] { return under_test.sum(&core::lane_counters::bytes_in) == sent; }));

  std::thread stopping([&] { under_test.lanes.stop(10s); });
  BOOST_TEST(idle.is_closed());
  const raw_answer last = busy.receive();
  BOOST_TEST(last.body == "waited");
  BOOST_TEST(last.header("connection") == "close");
  busy.finish();
  BOOST_TEST(busy.is_closed());
  stopping.join();
}

BOOST_AUTO_TEST_CASE(a_body_is_whole_however_long_its_answer_takes) {
  // It lies in a buffer of the lane's when it arrives, which the next request overwrites.
  const server_fixture under_test({}, 1);
  raw_client patient = under_test.connect();
  const std::string mine(3'000, 'm');
  patient.send(raw_client::request("POST", "/wait?patience=200", mine));
  raw_client other = under_test.connect();
  for (int i = 0; i < 10; ++i) BOOST_TEST(other.ask("POST", "/echo", std::string(4'000, 'o')).body == std::string(4'000, 'o'));
  BOOST_TEST(patient.receive().body == mine);
}

BOOST_AUTO_TEST_CASE(names_a_port_that_is_taken) {
  // Sharing a port with another server by accident would split the traffic between two indexes.
  server_fixture first;
  server_fixture second;
  const auto failure = second.server.listen("127.0.0.1", first.port());

  BOOST_REQUIRE(failure.has_value());
  BOOST_TEST(failure->message().find("127.0.0.1:" + std::to_string(first.port())) != std::string::npos);
  BOOST_TEST(second.server.listen("not an address", 1).has_value());
}

BOOST_AUTO_TEST_CASE(a_handler_that_fails_is_a_500_at_once) {
  // Its client must not wait for a deadline to learn that there is no answer.
  const server_fixture under_test(with([](auto& settings) { settings.handler_timeout = 1h; }));
  raw_client client = under_test.connect();

  const raw_answer failed = client.ask("GET", "/wait?patience=none");
  BOOST_TEST(failed.status == 500);
  BOOST_TEST(failed.body == "Internal Server Error");
  BOOST_TEST(client.ask("POST", "/fails", "{}").status == 500, "also where nobody is waited for");
  BOOST_TEST(client.ask("GET", "/size").status == 200, "the connection goes on");
}

BOOST_AUTO_TEST_SUITE_END()

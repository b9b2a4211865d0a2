// The pure parts of the HTTP side: targets, forms, routes, access, endpoints, the parser, replies.
#include <limits>

#include <boost/test/unit_test.hpp>

#include "net/answer_writer.hpp"
#include "net/api_types.hpp"
#include "net/http_auth.hpp"
#include "net/http_parser.hpp"
#include "net/http_reply.hpp"
#include "net/http_router.hpp"
#include "net/http_shared.hpp"
#include "net/http_target.hpp"

BOOST_AUTO_TEST_SUITE(http_units)

namespace {

using namespace kvc;
using namespace kvc::net;
using step = request_parser::step;

/// Feeds all bytes, `piece` at a time, and answers the last step.
step feed_all(request_parser& parser, std::string_view bytes, std::size_t piece) {
  std::string waiting;
  step now = step::needs_more;
  while (!bytes.empty()) {
    waiting += bytes.substr(0, piece);
    bytes.remove_prefix(std::min(piece, bytes.size()));
    do {
      const auto [next, used] = parser.feed(waiting);
      waiting.erase(0, used);
      now = next;
    } while (now == step::has_head);
    if (now != step::needs_more) break;
  }
  return now;
}

}  // namespace

BOOST_AUTO_TEST_CASE(decodes_targets) {
  // What a router sees must not depend on how a client writes the same path.
  BOOST_TEST(parse_target("/query")->path == "/query");
  BOOST_TEST(parse_target("/query/")->path == "/query");
  BOOST_TEST(parse_target("/")->path == "/");
  BOOST_TEST(parse_target("/%71uery")->path == "/query");
  BOOST_TEST(parse_target("http://host:1/services?instance_id=a%20b+c&x&=1#f")->path == "/services");
  BOOST_TEST(parse_target("/%C3%a9?x=%F0%9F%98%80")->path == "/\xC3\xA9");
  const auto query = parse_target("http://host:1/services?instance_id=a%20b+c&x&=1#f")->query;
  BOOST_TEST(query.size() == 3U);
  BOOST_TEST(query[0].second == "a b c");
  BOOST_TEST(query[1].first == "x");
  BOOST_TEST(parse_target("http://host")->path == "/");
  BOOST_TEST(parse_target("/stores/x%2F")->path == "/stores/x/");  // a name that ends with one
  BOOST_TEST(parse_target("/stores/x%2F/")->path == "/stores/x/");
  for (const std::string no_scheme : {"a?x=http://b/healthz", "a#://b/healthz"})
    BOOST_TEST(!parse_target(no_scheme).has_value(), no_scheme);
  for (const std::string bad : {"query", "/%", "/%4", "/%zz", "*", "/a?b=%", "/%ff", "/\xff", "/%ED%A0%80", "/a?b=%fe", "/a?%fe"})
    BOOST_TEST(!parse_target(bad).has_value(), bad);
}

BOOST_AUTO_TEST_CASE(knows_the_form_of_bodies_and_answers) {
  // JSON is taken under any label, but a body that is neither gets 415 and not a puzzling JSON error.
  for (const std::string type : {"", "application/json", "Application/JSON; charset=utf-8", "application/problem+json", "text/plain",
                                 "application/x-www-form-urlencoded", "application/xml"}) {
    BOOST_TEST((body_form(type, "", R"( {"a":1})") == wire_form::json), type);
  }
  for (const std::string type : {"application/msgpack", "application/x-msgpack", "application/MSGPACK;v=1"}) {
    BOOST_TEST((body_form(type, "", "\x80") == wire_form::msgpack), type);
  }
  BOOST_TEST(!body_form("application/xml", "", "<a/>").has_value());
  BOOST_TEST(!body_form("application/json", "gzip", "{}").has_value());
  BOOST_TEST((body_form("application/json", "identity", "nonsense") == wire_form::json));
  BOOST_TEST((accepted_form("", wire_form::msgpack) == wire_form::msgpack));
  BOOST_TEST((accepted_form("*/*", wire_form::msgpack) == wire_form::msgpack));
  BOOST_TEST((accepted_form("text/html, application/json;q=0.9", wire_form::msgpack) == wire_form::json));
  BOOST_TEST((accepted_form("application/x-msgpack", wire_form::json) == wire_form::msgpack));
  BOOST_TEST((accepted_form("application/json;q=0, application/msgpack", wire_form::json) == wire_form::msgpack));
  BOOST_TEST((accepted_form("application/msgpack;q=0.5, application/json", wire_form::msgpack) == wire_form::json));
  BOOST_TEST((accepted_form("application/json ; v=1 ; Q=0.25,application/msgpack;q=0.251", wire_form::json) == wire_form::msgpack));
  BOOST_TEST((accepted_form("application/json, application/msgpack", wire_form::msgpack) == wire_form::json));
  BOOST_TEST((accepted_form("application/msgpack;q=1.000, application/json;q=1", wire_form::json) == wire_form::msgpack));
  BOOST_TEST((accepted_form("application/msgpack;q=0.0", wire_form::json) == wire_form::json));
  BOOST_TEST((accepted_form("application/msgpack;q=, application/json;q=0.9", wire_form::json) == wire_form::msgpack));
}

BOOST_AUTO_TEST_CASE(finds_routes) {
  // 404 and 405 tell a client different things.
  BOOST_TEST((find_route("POST", "/query").entry->endpoint == endpoint::query));
  BOOST_TEST((find_route("GET", "/livez").entry->endpoint == endpoint::alive));
  BOOST_TEST((find_route("HEAD", "/metrics").entry->endpoint == endpoint::metrics));
  BOOST_TEST(find_route("GET", "/query").entry == nullptr);
  BOOST_TEST(find_route("GET", "/query").allowed == "POST");
  BOOST_TEST(find_route("POST", "/services").allowed == "GET, HEAD");
  BOOST_TEST(find_route("GET", "/nothing").path_exists == false);
  BOOST_TEST(find_route("GET", "/Query").path_exists == false);
}

BOOST_AUTO_TEST_CASE(checks_tokens) {
  // Reading and writing are told apart, and an unknown token is no better than none.
  const std::vector<std::string> all{"master"};
  const std::vector<std::string> readers{"reader", "other"};
  BOOST_TEST(!check_access(access::write, "", {}, {}).has_value());
  BOOST_TEST(!check_access(access::open, "", all, readers).has_value());
  BOOST_TEST((check_access(access::read, "", all, readers)->kind == refusal_kind::unauthorized));
  BOOST_TEST((check_access(access::read, "Basic master", all, readers)->kind == refusal_kind::unauthorized));
  BOOST_TEST((check_access(access::read, "Bearer maste", all, readers)->kind == refusal_kind::unauthorized));
  BOOST_TEST((check_access(access::write, "Bearer reader", all, readers)->kind == refusal_kind::forbidden));
  BOOST_TEST(!check_access(access::read, "bearer other", all, readers).has_value());
  BOOST_TEST(!check_access(access::write, "Bearer  master", all, readers).has_value());
}

BOOST_AUTO_TEST_CASE(knows_endpoints) {
  // A typo in an endpoint must be refused at registration, not discovered as a stream that never connects.
  for (const std::string good : {"tcp://1.1.1.1:5557", "tcp://host-1.example:1", "tcp://[::1]:5557", "tcp://[fe80::1%eth0]:5557",
                                 "tcp://*:5557", "ipc:///tmp/a.sock", "ipc://@abstract"}) {
    BOOST_TEST(is_endpoint(good), good);
  }
  for (const std::string bad : {"",
                                "tcp://",
                                "tcp://host",
                                "tcp://host:",
                                "tcp://:5557",
                                "tcp://host:0",
                                "tcp://host:65536",
                                "tcp://host:5x",
                                "tcp://::1:5557",
                                "tcp://[]:5557",
                                "tcp://[1:2]:5",
                                "tcp://[:::::]:80",
                                "tcp://[fe80::1%]:1",
                                "tcp://[::1:5557",
                                "tcp://ho st:1",
                                "udp://host:1",
                                "http://host:1",
                                "inproc://x",
                                "ipc://",
                                "tcp://a/b:1",
                                "host:5557"}) {
    BOOST_TEST(!is_endpoint(bad), bad);
  }
}

BOOST_AUTO_TEST_CASE(parses_requests_however_they_are_cut) {
  // The network cuts bytes anywhere.
  const std::string text = "POST /query?a=b HTTP/1.1\r\nHost: x\r\nContent-Type: a/b\r\nContent-Length: 5\r\n\r\nhello";
  for (std::size_t piece = 1; piece <= text.size(); ++piece) {
    request_parser parser(1'024, 64);
    parser.begin();
    BOOST_TEST((feed_all(parser, text, piece) == step::complete));
    BOOST_TEST(parser.method() == "POST");
    BOOST_TEST(parser.target() == "/query?a=b");
    BOOST_TEST(parser.header("content-type") == "a/b");
    BOOST_TEST(parser.body() == "hello");
    BOOST_TEST(parser.keep_alive());
  }
  const std::string chunked = "POST / HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n3\r\nhel\r\n2;x=y\r\nlo\r\n0\r\n\r\n";
  for (std::size_t piece = 1; piece <= chunked.size(); ++piece) {
    request_parser parser(1'024, 64);
    parser.begin();
    BOOST_TEST((feed_all(parser, chunked, piece) == step::complete), piece);
    BOOST_TEST(parser.body() == "hello");
  }
}

BOOST_AUTO_TEST_CASE(skips_some_empty_lines_before_a_request) {
  // Old clients send one behind a body; one without end is no request.
  const std::string request = "GET / HTTP/1.1\r\nHost: x\r\n\r\n";
  for (std::size_t lines = 0; lines <= 9; ++lines) {
    std::string text;
    for (std::size_t i = 0; i < lines; ++i) text += "\r\n";
    for (const std::size_t piece : {1U, 3U, 10'000U}) {
      request_parser parser(1'024, 64);
      parser.begin();
      BOOST_TEST(!parser.has_begun());
      BOOST_TEST((feed_all(parser, text + request, piece) == (lines <= 8 ? step::complete : step::bad)), lines);
    }
  }
}

BOOST_AUTO_TEST_CASE(holds_limits_to_the_byte) {
  // Limit and limit + 1 are different answers, whichever way the length is told.
  const auto sized = [](std::size_t bytes) {
    return "POST / HTTP/1.1\r\nHost: x\r\nContent-Length: " + std::to_string(bytes) + "\r\n\r\n" + std::string(bytes, 'x');
  };
  const auto chunked = [](std::size_t bytes) {
    return "POST / HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n1\r\nx\r\n3f\r\n" + std::string(63, 'x') + "\r\n" +
           (bytes > 64 ? "1\r\nx\r\n" : "") + "0\r\n\r\n";
  };
  for (const std::size_t piece : {1U, 7U, 10'000U}) {
    for (const auto& [text, expected] : {std::pair(sized(64), step::complete), std::pair(sized(65), step::body_too_large),
                                         std::pair(chunked(64), step::complete), std::pair(chunked(65), step::body_too_large)}) {
      request_parser parser(1'024, 64);
      parser.begin();
      BOOST_TEST((feed_all(parser, text, piece) == expected), text);
    }
    std::string fields;
    for (int i = 0; i < 400; ++i) fields += "X: y\r\n";
    const std::string begun = "GET / HTTP/1.1\r\nHost: x\r\nX: ";
    for (const auto& [head, expected] :
         {std::pair(begun + std::string(2'000, 'x'), step::head_too_large), std::pair(begun + "\r\n" + fields, step::head_too_large),
          std::pair(begun + std::string(1'020 - begun.size(), 'x'), step::complete),
          std::pair(begun + std::string(1'021 - begun.size(), 'x'), step::head_too_large)}) {
      request_parser parser(1'024, 64);
      parser.begin();
      BOOST_TEST((feed_all(parser, head + "\r\n\r\n", piece) == expected), piece << ": " << head);
    }
  }
}

BOOST_AUTO_TEST_CASE(bounds_what_a_chunked_body_has_beside_its_content) {
  // Trailers and chunk extensions are kept until they are complete; without a bound a client could fill the memory with them.
  const std::string head = "POST / HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n";
  std::string trailers;
  std::string extensions;
  std::string small_chunks;
  for (int i = 0; i < 300; ++i) {
    trailers += "A: b\r\n";
    extensions += "1;abcdefghijklmnopqrstuvwxyz=y\r\nx\r\n";
    small_chunks += "1\r\nx\r\n";
  }
  const std::string few = "2\r\n{}\r\n0\r\n" + trailers.substr(0, 600) + "\r\n";
  for (const std::size_t piece : {1U, 7U, 10'000U}) {
    for (const auto& [body, expected] :
         {std::pair(few, step::complete), std::pair(small_chunks + "0\r\n\r\n", step::complete),
          std::pair("2\r\n{}\r\n0\r\n" + trailers, step::frame_too_large),           // before its end
          std::pair("2\r\n{}\r\n0\r\n" + trailers + "\r\n", step::frame_too_large),  // or with it
          std::pair(extensions, step::frame_too_large), std::pair("2;x=" + std::string(1'100, 'y'), step::frame_too_large),
          std::pair("0;x=" + std::string(1'100, 'y'), step::frame_too_large)}) {
      request_parser parser(1'024, 512);
      parser.begin();
      BOOST_TEST((feed_all(parser, head + body, piece) == expected), body);
    }
  }
}

BOOST_AUTO_TEST_CASE(refuses_what_is_not_http) {
  // Ambiguous lengths are how requests are smuggled past proxies.
  const std::string post = "POST / HTTP/1.1\r\nHost: x\r\n";
  const std::string rest = "\r\n\r\n0\r\n\r\n";
  for (const std::string& text :
       {std::string("hello\r\n\r\n"), std::string("GET /\r\n\r\n"), std::string("GET / HTTP/2.0\r\n\r\n"),
        std::string("GET / HTTP/1.1\r\n\r\n"), std::string("GET / HTTP/1.0\r\nHost: x\r\nHost: x\r\n\r\n"),
        "GET / HTTP/1.1\r\nHost: x\r\nHost: y" + rest, post + "Content-Length: 1\r\nTransfer-Encoding: chunked" + rest,
        post + "Transfer-Encoding: chunked\r\nContent-Length: 1" + rest, post + "Content-Length: 1\r\nContent-Length: 2\r\n\r\nx",
        post + "Content-Length: 5\r\nTransfer-Encoding: identity" + rest, post + "Content-Length: -1\r\n\r\n",
        post + "Transfer-Encoding: chunked\r\n\r\nzz\r\n", post + "Transfer-Encoding: chunked\r\nTransfer-Encoding: chunked" + rest,
        "POST / HTTP/1.0\r\nTransfer-Encoding: chunked" + rest}) {
    request_parser parser(1'024, 64);
    parser.begin();
    BOOST_TEST((feed_all(parser, text, text.size()) == step::bad), text);
  }
  for (const std::string coding : {"gzip", "identity", "xchunked", "chunked, identity", "gzip, chunked", "chunked, chunked", ""}) {
    request_parser parser(1'024, 64);
    parser.begin();
    BOOST_TEST((feed_all(parser, post + "Transfer-Encoding: " + coding + rest, 10'000) == step::bad), coding);
  }
  request_parser parser(1'024, 64);
  parser.begin();
  BOOST_TEST((feed_all(parser, post + "Transfer-Encoding:  Chunked" + rest, 10'000) == step::complete));
}

BOOST_AUTO_TEST_CASE(writes_both_forms) {
  // One writer, so that the two forms cannot drift apart; sizes may be announced or not.
  for (const bool announced : {true, false}) {
    std::string json;
    std::string pack;
    for (const auto& [text, form] : {std::pair(&json, wire_form::json), std::pair(&pack, wire_form::msgpack)}) {
      answer_writer out(*text, form);
      announced ? out.object(5) : out.object();
      out.member("t", "a\"\\\n\x01\x7f\xff\xc3\xa9");
      out.member("n", ~std::uint64_t{0});
      out.key("l");
      announced ? out.list(3) : out.list();
      out.boolean(true);
      out.nothing();
      out.signed_number(-1);
      out.end_list();
      out.key("e");
      announced ? out.object(0) : out.object();
      out.end_object();
      out.key("r");
      out.real(0.5);
      out.end_object();
    }
    const std::string expected =
        "{\"t\":\"a\\\"\\\\\\n\\u0001\\u007f\xEF\xBF\xBD\xC3\xA9\",\"n\":18446744073709551615,\"l\":[true,null,-1],\"e\":{},\"r\":0.5}";
    BOOST_TEST(json == expected);
    msgpack_tape tape;
    BOOST_TEST(!tape.parse(std::as_bytes(std::span(pack))));
    BOOST_TEST(tape.root().length == 5U);
    BOOST_TEST(tape.nodes().size() == 14U);
    BOOST_TEST(tape.nodes()[6].length == 3U);
    BOOST_TEST(tape.nodes()[2].text() == "a\"\\\n\x01\x7f\xEF\xBF\xBD\xC3\xA9");
  }
}

BOOST_AUTO_TEST_CASE(tells_refusals_with_their_headers) {
  // Clients act on status, reason and headers; sentences are for people.
  const http_reply overloaded = reply_with(refusal{refusal_kind::overloaded, "busy"}, wire_form::json);
  BOOST_TEST(overloaded.status == 503U);
  BOOST_TEST(reply_head(overloaded, false, "now").find("\r\nRetry-After: 1\r\n") != std::string::npos);
  BOOST_TEST(reply_head(overloaded, false, "now").find("\r\nConnection: close\r\n") != std::string::npos);
  BOOST_TEST(reply_with(refusal{refusal_kind::out_of_range, "no", "f", 3}, wire_form::json).body ==
             R"({"error":"no","reason":"out_of_range","field":"f","index":3})");
  BOOST_TEST(reply_with(refusal{refusal_kind::service_not_found, "no"}, wire_form::json).status == 404U);
  BOOST_TEST(reply_with(refusal{refusal_kind::body_too_large, "no"}, wire_form::json).status == 413U);
}

BOOST_AUTO_TEST_CASE(shares_the_body_budget) {
  // Many large bodies at once must not take all memory; small ones must never touch the shared number.
  byte_budget budget(3U << 20);
  {
    budget_share small(budget);
    BOOST_TEST(small.cover(budget_share::free_bytes));
    BOOST_TEST(budget.taken() == 0U);
    budget_share large(budget);
    BOOST_TEST(large.cover(100'000));
    BOOST_TEST(large.cover((2U << 20) + 1));
    BOOST_TEST(budget.taken() == (3U << 20));
    BOOST_TEST(!small.cover(100'000));
  }
  BOOST_TEST(budget.taken() == 0U);

  byte_budget narrow(150'000);  // less than a step
  {
    budget_share only(narrow);
    BOOST_TEST(only.cover(70'000));
    BOOST_TEST(only.cover(100'000));
    BOOST_TEST(narrow.taken() == 100'000U);
    budget_share another(narrow);
    BOOST_TEST(!another.cover(70'000));
    BOOST_TEST(only.cover(150'000));
    BOOST_TEST(!only.cover(150'001));
  }
  BOOST_TEST(narrow.taken() == 0U);
}

BOOST_AUTO_TEST_CASE(writes_dates_the_way_http_wants_them) {
  // Proxies parse this header strictly.
  date_header date;
  BOOST_TEST(date.at(784'111'777) == "Sun, 06 Nov 1994 08:49:37 GMT");
}

BOOST_AUTO_TEST_SUITE_END()

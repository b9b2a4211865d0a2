// Random requests as clients of all kinds write them, and what HTTP (RFC 9110, RFC 9112) and the documented limits say must come of each.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <random>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "net/http_server.hpp"

namespace kvc::test::http_lives {

constexpr std::size_t most_head = 2'000;
constexpr std::size_t most_body = 150'000;
constexpr std::size_t read_before_refusing = 64U << 10;  ///< longer bodies of what is refused by its head are not read
constexpr std::size_t free_of_budget = 64U << 10;

/// What a body that is made while it is sent consists of.
[[nodiscard]] inline std::string piece_of(std::uint64_t number, std::uint64_t at) {
  std::mt19937_64 random(number * 1'000 + at);
  const std::uint64_t kind = random() % 6;
  const std::size_t bytes = kind == 0 ? 0 : kind == 1 ? random() % 60'000 : random() % 300;
  return std::string(bytes, static_cast<char>('a' + random() % 26));
}

/// What is to be answered to a request.
struct expected_answer {
  std::vector<unsigned> statuses;   ///< one of these
  std::optional<std::string> body;  ///< unless nobody cares
  bool is_bare = false;             ///< to HEAD
  bool is_cut = false;              ///< the body does not come to its end, and the connection ends with it
  bool closes = false;              ///< nothing is answered behind it
  bool is_old = false;              ///< the client knows no chunks
  bool may_lack_room = false;       ///< for the body, so that it may be 503 and the end; `takes_budget` of the replies', and no end
  bool takes_budget = false;
  bool may_go_ahead = false;  ///< 100 may come before
  bool is_refusal = false;    ///< of the rest of the connection, which is read nevertheless, so that the client finds this answer
};

struct request {
  std::string bytes;
  std::size_t waits_at = 0;  ///< so many are sent before the client waits for 100 or an answer; 0: it does not wait
  expected_answer answer;
};

/// Writes requests. One owner.
class request_writer {
 public:
  request_writer(std::mt19937_64& random, bool is_tight) : random_(random), is_tight_(is_tight) {}

  [[nodiscard]] request next() {
    request made;
    const std::string lines = chance(12) ? repeated("\r\n", 1 + random_() % 3) : "";
    made = chance(10) ? malformed() : well_formed();
    made.bytes.insert(0, lines);
    if (made.waits_at != 0) made.waits_at += lines.size();
    return made;
  }

 private:
  bool chance(std::uint64_t one_in) { return random_() % one_in == 0; }
  template <class... Texts>
  std::string one_of(Texts... texts) {
    const std::vector<std::string> all{texts...};
    return all[random_() % all.size()];
  }
  static std::string repeated(std::string_view text, std::size_t times) {
    std::string all;
    for (; times > 0; --times) all += text;
    return all;
  }
  std::string letters(std::size_t bytes) {
    std::string text(bytes, ' ');
    const std::uint64_t from = random_();
    for (std::size_t i = 0; i < bytes; ++i) text[i] = static_cast<char>('a' + (from + i * i) % 26);
    return text;
  }
  std::size_t body_size() {
    switch (random_() % 12) {
      case 0: return 0;
      case 1: return most_body;
      case 2: return most_body + 1 + random_() % 20'000;
      case 3: return read_before_refusing - 1 + random_() % 3;
      case 4: return random_() % most_body;
      default: return random_() % 2'000;
    }
  }

  /// Bytes that are no request that may be answered: 400, whatever follows.
  request malformed() {
    const std::string end = "\r\n\r\n";
    const std::string good = "POST /echo HTTP/1.1\r\nHost: x\r\n";
    const std::string chunked = good + "Transfer-Encoding: chunked\r\n\r\n";
    request made;
    made.answer.statuses = {400};
    made.answer.closes = made.answer.is_refusal = true;
    switch (random_() % 11) {
      case 0:
        made.bytes = one_of("\x16\x03\x01 hello", "GET /echo", "GET  /echo HTTP/1.1", "GET /echo HTTP/2.0", "GET /e cho HTTP/1.1", "{}",
                            "G@T /echo HTTP/1.1\r\nHost: x") +
                     end;
        break;
      case 1: {  // of a head that is known to be of HEAD nothing but a head may be answered
        const std::string method = one_of("GET", "HEAD", "POST");
        made.answer.is_bare = method == "HEAD";
        made.bytes = method + " /echo HTTP/1.1" + one_of("", "\r\nHost: x\r\nHost: x", "\r\nHost: x\r\nhOsT: y") + end;
        break;
      }
      case 2:
        made.bytes = good +
                     one_of("Content-Length: 5\r\nTransfer-Encoding: chunked", "Transfer-Encoding: chunked\r\nContent-Length: 5",
                            "Content-Length: 5\r\nContent-Length: 6", "Content-Length: -1", "Content-Length: +5", "Content-Length: 5x",
                            "Content-Length: 0x5", "Content-Length: 5 5", "Content-Length: 99999999999999999999") +
                     end + "hello";
        break;
      case 3:
        made.bytes = good + "Transfer-Encoding: " + one_of("gzip", "identity", "chunked, identity", "gzip, chunked", "x", "chunkedd") + end;
        break;
      case 4: made.bytes = "POST /echo HTTP/1.0\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n"; break;
      case 5:
        made.bytes = chunked +
                     one_of("zz\r\n", "-1\r\nx", "\r\nabc", "+5\r\nhello\r\n", "0x5\r\nhello\r\n", " 5\r\nhello\r\n", "3\r\nabcX\r\n",
                            "3\r\nabcd\r\n", "g\r\n", "3\nabc\r\n") +
                     "0\r\n\r\n";
        break;
      case 6: made.bytes = good + one_of("A : b", ": b", "A b", "A(: b", "Con\ttent: b") + end; break;
      case 7:
        made.bytes = good + "X: " + letters(most_head + random_() % 5'000) + end;
        made.answer.statuses = {413};
        break;
      case 8: {
        made.bytes = good + repeated("X: y\r\n", most_head / 4) + "\r\n";
        made.answer.statuses = {413};
        break;
      }
      case 9:
        made.bytes = chunked + one_of("2;x=" + letters(most_head + 500) + "\r\n{}\r\n0\r\n\r\n",
                                      "2\r\n{}\r\n0\r\n" + repeated("A: b\r\n", most_head / 3) + "\r\n");
        made.answer.statuses = {413};
        break;
      default: made.bytes = chunked + "ffffffffffffffffffff\r\nabc"; made.answer.statuses = {400, 413};
    }
    if (chance(2)) made.bytes += letters(random_() % 3'000);
    return made;
  }

  /// The body as it goes over the wire behind its head.
  std::string framed(const std::string& body, bool in_chunks) {
    if (!in_chunks) return body;
    std::string text;
    for (std::size_t at = 0; at < body.size();) {
      const std::size_t bytes = std::min<std::size_t>(body.size() - at, 1 + random_() % (chance(3) ? 70'000 : 5'000));
      const std::string digits = one_of("0123456789abcdef", "0123456789ABCDEF");
      std::string size;
      for (std::size_t rest = bytes; rest > 0; rest /= 16) size.insert(0, 1, digits[rest % 16]);
      text += (chance(5) ? "0" : "") + size + (chance(4) ? one_of(";a", ";a=b", ";a=\"b;c\"") : "") + "\r\n";
      text += body.substr(at, bytes) + "\r\n";
      at += bytes;
    }
    return text + "0\r\n" + (chance(3) ? "Checksum: 1\r\nX: y\r\n" : "") + "\r\n";
  }

  request well_formed() {
    request made;
    expected_answer& answer = made.answer;
    const std::string method = one_of("GET", "POST", "POST", "PUT", "HEAD", "DELETE");
    answer.is_bare = method == "HEAD";
    answer.is_old = chance(8);
    std::string target = one_of("/echo", "/echo", "/wait", "/stream", "/large", "/fails", "/waits_and_fails", "/nothing", "/bad%zz", "bad");
    const bool is_absolute = target == "/echo" && chance(10);

    const bool has_body = method != "GET" && method != "HEAD" && method != "DELETE" ? !chance(6) : chance(8);
    std::string body = has_body ? letters(body_size()) : "";
    const bool in_chunks = has_body && !answer.is_old && chance(3);
    const bool asks_first = has_body && chance(5);
    const std::string type = chance(10) ? one_of("application/xml", "image/png") : chance(2) ? "application/json" : "";
    const bool is_encoded = chance(30);

    const bool is_refused = target == "/nothing" || target == "/bad%zz" || target == "bad";
    const bool is_huge = body.size() > most_body;
    const bool has_content = in_chunks || !body.empty();
    if (target == "/stream") {
      const std::uint64_t number = random_() % 1'000;
      const std::uint64_t pieces = random_() % 6;
      const std::string ending = chance(3) ? one_of("broken", "throw") : "last";
      target += "?number=" + std::to_string(number) + "&pieces=" + std::to_string(pieces) + "&ending=" + ending;
      const bool has_none = ending != "last" && pieces == 0 && !answer.is_bare;  // not even a first piece, so there is time to say so
      answer.is_cut = ending != "last" && !answer.is_bare && !has_none;
      answer.body.emplace();
      for (std::uint64_t i = 0; i < pieces + (ending == "last" ? 1 : 0); ++i) *answer.body += piece_of(number, i);
      answer.statuses = {200};
      if (has_none) fail(answer, 500, false);
    } else if (target == "/large") {
      const std::size_t bytes = random_() % 400'000;
      target += "?bytes=" + std::to_string(bytes);
      answer.body = std::string(bytes, 'l');
      answer.statuses = {200};
    } else if (target == "/fails" || target == "/waits_and_fails") {
      answer.statuses = {500};
    } else if (is_refused) {
      answer.statuses = {target == "/nothing" ? 404U : 400U};
    } else {
      answer.body = body;
      answer.statuses = {200};
    }
    const bool is_streamed = target.starts_with("/stream");
    // What the head does not say it is, it is not: the length of a body comes first, then what the head is refused for, then its form.
    const bool is_early = is_refused && has_content && (in_chunks || body.size() > read_before_refusing || (asks_first && !answer.is_old));
    if (is_huge && !in_chunks) {
      fail(answer, 413, true);
    } else if (is_early) {
      answer.closes = answer.is_refusal = true;
    } else if (is_huge) {
      fail(answer, 413, true);
    } else if (!is_refused && (is_encoded || (!type.empty() && type != "application/json" && !body.empty()))) {
      fail(answer, 415, false);
    } else if (is_streamed && answer.is_old) {
      answer.closes = true;
    }
    if (answer.is_cut) answer.closes = true;
    if (is_tight_ && body.size() > free_of_budget) answer.may_lack_room = true;
    if (is_tight_ && !answer.is_bare && !is_streamed && answer.body && answer.body->size() > free_of_budget) answer.takes_budget = true;

    made.bytes = method + " " + (is_absolute ? "http://somewhere:1" : "") + target + (answer.is_old ? " HTTP/1.0\r\n" : " HTTP/1.1\r\n");
    if (!answer.is_old || chance(2)) made.bytes += one_of("Host: x\r\n", "hOST:x\r\n", "Host: \t x \t\r\n");
    if (chance(3)) made.bytes += "X-Some: " + letters(random_() % 200) + "\r\n";
    switch (random_() % 8) {
      case 0:
        made.bytes += one_of("Connection: close\r\n", "connection: Close\r\n", "Connection: x, close\r\n");
        answer.closes = true;
        break;
      case 1: made.bytes += "Connection: keep-alive\r\n"; break;
      default: answer.closes = answer.closes || answer.is_old;
    }
    if (!type.empty()) made.bytes += "Content-Type: " + type + "\r\n";
    if (is_encoded) made.bytes += "Content-Encoding: gzip\r\n";
    if (asks_first) made.bytes += one_of("Expect: 100-continue\r\n", "expect: 100-Continue\r\n");
    if (in_chunks) made.bytes += one_of("Transfer-Encoding: chunked\r\n", "transfer-encoding: Chunked\r\n");
    if (has_body && !in_chunks) made.bytes += "Content-Length: " + std::to_string(body.size()) + "\r\n";
    made.bytes += "\r\n";
    answer.may_go_ahead = asks_first && has_content && !answer.is_old && !is_early && !(is_huge && !in_chunks);
    if (asks_first && has_content && !answer.is_old && chance(2)) made.waits_at = made.bytes.size();
    made.bytes += has_body ? framed(body, in_chunks) : "";
    return made;
  }

  static void fail(expected_answer& answer, unsigned status, bool closes) {
    answer.statuses = {status};
    answer.body.reset();
    answer.is_cut = false;
    answer.closes = answer.is_refusal = closes;
  }

  std::mt19937_64& random_;
  bool is_tight_;
};

}  // namespace kvc::test::http_lives

#include "net/http_client.hpp"

#include <array>
#include <optional>
#include <utility>
#include <vector>

#include <boost/asio/connect.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/redirect_error.hpp>
#include <boost/asio/this_coro.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <boost/asio/write.hpp>
#include <boost/beast/core/error.hpp>
#include <boost/beast/core/flat_buffer.hpp>
#include <boost/beast/core/tcp_stream.hpp>
#include <boost/beast/http/parser.hpp>
#include <boost/beast/http/string_body.hpp>

#include "net/chunk_framing.hpp"
#include "net/host_text.hpp"
#include "net/name_lookup.hpp"

namespace kvc::net {

namespace beast = boost::beast;
namespace http = boost::beast::http;
using asio::ip::tcp;
using time_point = std::chrono::steady_clock::time_point;
using response_parser = http::response_parser<http::string_body>;

namespace {

constexpr std::uint32_t max_header_bytes = 64U << 10;
constexpr std::size_t chunk_bytes = 64U << 10;
constexpr int most_interim_answers = 8;  ///< to one request

/// The transport's words for "too late", "stop" and "too long" become ours; everything else passes.
error_code translate(error_code low) {
  if (low == beast::error::timeout) return errc::timed_out;
  if (low == asio::error::operation_aborted) return errc::cancelled;
  if (low == http::error::body_limit || low == http::error::header_limit) return errc::message_too_large;
  return low;
}

/// What a peer that closed an idle connection looks like from here, depending on who is faster.
bool is_closed_by_peer(const error_code& failed) {
  return failed == http::error::end_of_stream || failed == asio::error::eof || failed == asio::error::connection_reset ||
         failed == asio::error::broken_pipe || failed == asio::error::connection_aborted;
}

/// A stop that came between two waits would be lost on a caller that lets it pass without throwing, so it is looked for before each.
asio::awaitable<error_code> stopped() {
  const auto asked = co_await asio::this_coro::cancellation_state;
  co_return asked.cancelled() == asio::cancellation_type::none ? error_code() : error_code(asio::error::operation_aborted);
}

}  // namespace

struct http_client::state {
  state(asio::any_io_executor on, std::string host_name, std::uint16_t port_number)
      : executor(std::move(on)), host(std::move(host_name)), port(port_number), stream(executor) {}

  asio::any_io_executor executor;
  std::string host;
  std::uint16_t port;
  beast::tcp_stream stream;
  beast::flat_buffer received;
  bool is_open = false;

  void close() {
    error_code ignored;
    stream.socket().close(ignored);
    received.clear();
    is_open = false;
  }

  /// Whether the connection is good for another request. What has come without being asked for would be taken for the next answer.
  [[nodiscard]] bool is_quiet() {
    error_code failed;
    return received.size() == 0 && stream.socket().available(failed) == 0 && !failed;
  }

  asio::awaitable<error_code> resolve(std::vector<tcp::endpoint>& found, time_point deadline);
  asio::awaitable<error_code> open(time_point deadline);
  asio::awaitable<error_code> receive(response_parser& parser, bool& heard);
  asio::awaitable<error_code> exchange(std::string_view head, std::string_view body, std::size_t most_bytes,
                                       std::optional<response_parser>& parser, bool& heard);
};

/// All addresses of the host.
asio::awaitable<error_code> http_client::state::resolve(std::vector<tcp::endpoint>& found, time_point deadline) {
  const auto wanted = host_to_find(host);
  if (!wanted) co_return error_code(asio::error::host_not_found);
  name_lookup names(executor);
  const auto addresses = co_await names.find(std::string(*wanted), deadline);
  if (addresses.has_error()) co_return addresses.error();
  for (const asio::ip::address& each : *addresses) found.emplace_back(each, port);
  co_return error_code{};
}

asio::awaitable<error_code> http_client::state::open(time_point deadline) {
  close();
  std::vector<tcp::endpoint> candidates;
  error_code failed = co_await resolve(candidates, deadline);
  if (failed) co_return failed;
  failed = asio::error::host_not_found;
  for (std::size_t i = 0; i < candidates.size(); ++i) {
    failed = co_await stopped();
    if (failed) break;
    close();
    // One that does not answer leaves the others their share of the time.
    const auto left = deadline - std::chrono::steady_clock::now();
    stream.expires_after(left / static_cast<int>(candidates.size() - i));
    failed = error_code{};
    co_await stream.async_connect(candidates[i], asio::redirect_error(asio::use_awaitable, failed));
    if (!failed || failed == asio::error::operation_aborted) break;
  }
  if (failed) {
    close();
    co_return failed;
  }
  stream.socket().set_option(tcp::no_delay(true), failed);
  is_open = true;
  co_return error_code{};
}

/// Reads until the answer is complete. `heard` becomes true with the first byte.
asio::awaitable<error_code> http_client::state::receive(response_parser& parser, bool& heard) {
  parser.eager(true);
  chunk_framing framing;
  framing.begin(parser);
  std::size_t head_bytes = 0;  // used while there was no whole head
  for (;;) {
    error_code failed;
    if (received.size() > 0) {
      heard = true;
      const bool had_head = parser.is_header_done();
      const std::size_t content = parser.get().body().size();
      const std::size_t used = parser.put(received.data(), failed);
      received.consume(used);
      if (failed && failed != http::error::need_more) co_return failed;
      if (parser.is_done()) co_return error_code{};
      const std::size_t waiting = failed ? received.size() : 0;
      if (!parser.is_header_done()) {
        // The library's limit is for what it has not used yet: fields that come one by one would never reach it.
        head_bytes += used;
        if (head_bytes + waiting > max_header_bytes) co_return error_code(http::error::header_limit);
      } else if (had_head && parser.chunked()) {
        framing.note(used, parser.get().body().size() - content);
        if (framing.is_over(waiting, max_header_bytes)) co_return error_code(errc::message_too_large);
      }
      if (!failed && received.size() > 0) continue;
      failed = error_code{};
    }
    failed = co_await stopped();
    if (failed) co_return failed;
    const auto space = received.prepare(chunk_bytes);
    const std::size_t got = co_await stream.async_read_some(space, asio::redirect_error(asio::use_awaitable, failed));
    received.commit(got);
    if (failed == asio::error::eof) {
      if (!parser.got_some()) co_return error_code(http::error::end_of_stream);
      error_code cut_short;
      parser.put_eof(cut_short);
      co_return cut_short;
    }
    if (failed) co_return failed;
  }
}

/// Sends a request and reads its answer; interim ones (1xx) before it are passed over. A server that refuses a request while it is being
/// sent says why and closes: then the answer is there although the request is not.
asio::awaitable<error_code> http_client::state::exchange(std::string_view head, std::string_view body, std::size_t most_bytes,
                                                         std::optional<response_parser>& parser, bool& heard) {
  error_code failed;
  const std::array<asio::const_buffer, 2> message{asio::buffer(head), asio::buffer(body)};
  co_await asio::async_write(stream, message, asio::redirect_error(asio::use_awaitable, failed));
  const error_code unsent = failed;
  if (unsent && !is_closed_by_peer(unsent)) co_return unsent;
  for (int interim = 0; interim <= most_interim_answers; ++interim) {
    parser.emplace();
    parser->body_limit(most_bytes);
    parser->header_limit(max_header_bytes);
    parser->skip(head.starts_with("HEAD "));
    failed = co_await receive(*parser, heard);
    if (!failed && parser->get().result_int() / 100 == 1) continue;
    if (unsent) close();
    co_return failed && unsent && !heard ? unsent : failed;
  }
  co_return error_code(errc::not_understood);
}

http_client::http_client(asio::any_io_executor executor, std::string host, std::uint16_t port)
    : state_(std::make_unique<state>(std::move(executor), std::move(host), port)) {}
http_client::~http_client() = default;
http_client::http_client(http_client&&) noexcept = default;
http_client& http_client::operator=(http_client&&) noexcept = default;

asio::awaitable<result<http_client::answer>> http_client::call(std::string_view method, std::string target, std::string body,
                                                               std::chrono::steady_clock::duration patience, std::string_view content_type,
                                                               std::size_t most_bytes) {
  state& self = *state_;
  const time_point deadline = std::chrono::steady_clock::now() + patience;
  const auto host = host_to_find(self.host);
  if (!host) co_return error_code(asio::error::host_not_found);
  std::string head;
  head.append(method).append(" ").append(target).append(" HTTP/1.1\r\nHost: ").append(host_field(*host, self.port)).append("\r\n");
  if (!body.empty() || method == "POST" || method == "PUT") {
    head.append("Content-Type: ").append(content_type).append("\r\nContent-Length: ").append(std::to_string(body.size())).append("\r\n");
  }
  head.append("\r\n");

  error_code failed;
  for (;;) {
    const bool reused = self.is_open && self.is_quiet();
    if (!reused) {
      failed = co_await self.open(deadline);
      if (failed) co_return translate(failed);
    }
    self.stream.expires_at(deadline);
    bool heard = false;
    std::optional<response_parser> parser;
    failed = co_await self.exchange(head, body, most_bytes, parser, heard);
    if (failed) {
      self.close();
      // Only a connection that was good before, and said nothing since, may be tried again without asking twice for the same thing.
      if (reused && !heard && is_closed_by_peer(failed)) continue;
      co_return translate(failed);
    }
    self.stream.expires_never();
    if (!parser->get().keep_alive() || !self.is_quiet()) self.close();
    answer got;
    got.status = parser->get().result_int();
    got.content_type = std::string(parser->get()[http::field::content_type]);
    got.body = std::move(parser->get().body());
    co_return got;
  }
}

}  // namespace kvc::net

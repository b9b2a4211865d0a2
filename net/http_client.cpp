#include "net/http_client.hpp"

#include <algorithm>
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
#include <boost/beast/core/buffers_prefix.hpp>
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
constexpr std::size_t most_at_once = 64U << 10;  ///< of a request, sent in the turn it is made in
constexpr int most_interim_answers = 8;          ///< to one request

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

/// What is sent, head and body. Kept by the operation that sends it, which may end later than the call does.
struct whole_request {
  std::string head;
  std::string body;

  [[nodiscard]] std::size_t size() const noexcept { return head.size() + body.size(); }
  /// What is behind the first `sent` bytes.
  [[nodiscard]] std::array<asio::const_buffer, 2> behind(std::size_t sent) const {
    const std::size_t of_head = std::min(sent, head.size());
    return {asio::buffer(head) + of_head, asio::buffer(body) + (sent - of_head)};
  }
};

/// A stop that came between two waits would be lost on a caller that lets it pass without throwing, so it is looked for before each.
asio::awaitable<error_code> stopped() {
  const auto asked = co_await asio::this_coro::cancellation_state;
  co_return asked.cancelled() == asio::cancellation_type::none ? error_code() : error_code(asio::error::operation_aborted);
}

/// A connection and what has come over it. A new one each time: what is being sent over one that was given up ends by itself, and over
/// nothing else.
struct connection {
  explicit connection(const asio::any_io_executor& on) : stream(on) {}

  beast::tcp_stream stream;
  beast::flat_buffer received;
  bool is_open = false;

  void close() {
    stream.close();
    received.clear();
    is_open = false;
  }
};

/// The rest of a request that did not fit into the socket, while it is being sent beside the reading of the answer.
struct unsent_rest {
  std::shared_ptr<connection> over;
  bool is_wanted = true;  ///< by a call that has not ended
  bool is_over = false;
  error_code failed;
};

/// Ends a connection unless the whole of a request and of its answer has gone over it, whatever way an exchange ends. The client may have
/// gone by then.
class exchange_end {
 public:
  explicit exchange_end(std::shared_ptr<connection> of) noexcept : of_(std::move(of)) {}
  ~exchange_end() {
    const bool is_sent = !unsent || (unsent->is_over && !unsent->failed);
    if (unsent) unsent->is_wanted = false;
    if (!is_answered || !is_sent) of_->close();
  }
  exchange_end(const exchange_end&) = delete;
  exchange_end& operator=(const exchange_end&) = delete;

  std::shared_ptr<unsent_rest> unsent;  ///< null: it was sent at once, or could not be
  bool is_answered = false;

 private:
  std::shared_ptr<connection> of_;
};

}  // namespace

struct http_client::state {
  state(asio::any_io_executor on, std::string host_name, std::uint16_t port_number)
      : executor(std::move(on)), host(std::move(host_name)), port(port_number) {}

  asio::any_io_executor executor;
  std::string host;
  std::uint16_t port;
  std::shared_ptr<connection> link;  ///< null before the first call

  void close() {
    if (link) link->close();
  }

  /// Whether the connection is good for another request. What has come without being asked for would be taken for the next answer.
  [[nodiscard]] bool is_quiet() {
    error_code failed;
    return link->received.size() == 0 && link->stream.socket().available(failed) == 0 && !failed;
  }

  asio::awaitable<error_code> resolve(std::vector<tcp::endpoint>& found, time_point deadline);
  asio::awaitable<error_code> open(time_point deadline);
  asio::awaitable<error_code> receive(response_parser& parser, bool& heard);
  [[nodiscard]] std::shared_ptr<unsent_rest> send(std::shared_ptr<const whole_request> asked, error_code& failed);
  asio::awaitable<error_code> exchange(std::shared_ptr<const whole_request> asked, std::size_t most_bytes,
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
  link = std::make_shared<connection>(executor);
  beast::tcp_stream& stream = link->stream;
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
  stream.socket().non_blocking(true, failed);
  link->is_open = true;
  co_return error_code{};
}

/// Reads until the answer is complete. `heard` becomes true with the first byte.
asio::awaitable<error_code> http_client::state::receive(response_parser& parser, bool& heard) {
  beast::flat_buffer& received = link->received;
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
    const std::size_t got = co_await link->stream.async_read_some(space, asio::redirect_error(asio::use_awaitable, failed));
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

/// Sends what the socket takes at once, and has the rest sent while others read: null when there is none. `failed`: why it cannot be sent.
std::shared_ptr<unsent_rest> http_client::state::send(std::shared_ptr<const whole_request> asked, error_code& failed) {
  const std::size_t sent = link->stream.socket().write_some(beast::buffers_prefix(most_at_once, asked->behind(0)), failed);
  if (failed == asio::error::would_block) failed = error_code{};
  if (failed || sent == asked->size()) return nullptr;
  auto rest = std::make_shared<unsent_rest>();
  rest->over = link;
  const auto message = asked->behind(sent);
  asio::async_write(link->stream, message, [asked = std::move(asked), rest](error_code ended, std::size_t) {
    rest->is_over = true;
    rest->failed = ended;
    // A server that has closed may have said why. In any other case nothing is going to come, and whoever reads need not wait for it.
    if (ended && !is_closed_by_peer(ended) && rest->is_wanted) rest->over->stream.close();
  });
  return rest;
}

/// Sends a request and reads its answer, at the same time: a server that refuses a request which is still being sent may close then, or
/// read on, or do neither. Interim answers (1xx) are passed over.
asio::awaitable<error_code> http_client::state::exchange(std::shared_ptr<const whole_request> asked, std::size_t most_bytes,
                                                         std::optional<response_parser>& parser, bool& heard) {
  exchange_end end(link);
  const bool is_head = asked->head.starts_with("HEAD ");
  error_code unsent;
  end.unsent = send(std::move(asked), unsent);
  if (unsent && !is_closed_by_peer(unsent)) co_return unsent;
  for (int interim = 0; interim <= most_interim_answers; ++interim) {
    parser.emplace();
    parser->body_limit(most_bytes);
    parser->header_limit(max_header_bytes);
    parser->skip(is_head);
    error_code failed = co_await receive(*parser, heard);
    if (!failed && parser->get().result_int() / 100 == 1) continue;
    end.is_answered = !failed && !unsent;
    if (!failed) co_return failed;
    if (end.unsent && end.unsent->is_over) unsent = end.unsent->failed;
    if (failed == asio::error::operation_aborted) {
      // Without a stop it was whoever sends that has ended the connection, who may meet the deadline first.
      const auto asked_to_end = co_await asio::this_coro::cancellation_state;
      const bool is_stopped = asked_to_end.cancelled() != asio::cancellation_type::none;
      if (!is_stopped) failed = unsent ? unsent : error_code(beast::error::timeout);
    }
    co_return unsent && !heard ? unsent : failed;
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
  const auto asked = std::make_shared<const whole_request>(whole_request{std::move(head), std::move(body)});

  error_code failed;
  for (;;) {
    const bool reused = self.link && self.link->is_open && self.is_quiet();
    if (!reused) {
      failed = co_await self.open(deadline);
      if (failed) co_return translate(failed);
    }
    self.link->stream.expires_at(deadline);
    bool heard = false;
    std::optional<response_parser> parser;
    failed = co_await self.exchange(asked, most_bytes, parser, heard);
    if (failed) {
      // Only a connection that was good before, and said nothing since, may be tried again without asking twice for the same thing.
      if (reused && !heard && is_closed_by_peer(failed)) continue;
      co_return translate(failed);
    }
    self.link->stream.expires_never();
    if (self.link->is_open && (!parser->get().keep_alive() || !self.is_quiet())) self.close();
    answer got;
    got.status = parser->get().result_int();
    got.content_type = std::string(parser->get()[http::field::content_type]);
    got.body = std::move(parser->get().body());
    co_return got;
  }
}

}  // namespace kvc::net

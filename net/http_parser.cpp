#include "net/http_parser.hpp"

#include <new>

#include <boost/asio/buffer.hpp>
#include <boost/beast/http/error.hpp>
#include <boost/beast/http/message.hpp>
#include <boost/beast/http/parser.hpp>

#include "net/chunk_framing.hpp"

namespace kvc::net {

namespace http = boost::beast::http;
namespace asio = boost::asio;

namespace {

/// A body that is a string and believes no length before the bytes are there; from a megabyte on it does, as growing would then copy for
/// tens of milliseconds at a time, and room that is not used yet is only addresses.
struct growing_body {
  using value_type = std::string;

  class reader {
   public:
    template <bool IsRequest, class Fields>
    reader(http::header<IsRequest, Fields>&, value_type& body) : body_(body) {}

    void init(const boost::optional<std::uint64_t>& length, error_code& failed) {
      failed = {};
      claimed_ = static_cast<std::size_t>(length.value_or(0));  // within the limit: the library has looked
    }
    template <class Buffers>
    std::size_t put(const Buffers& buffers, error_code& failed) {
      failed = {};
      if (body_.size() >= believed_from && body_.capacity() < claimed_) make_room();
      std::size_t taken = 0;
      for (auto next = asio::buffer_sequence_begin(buffers); next != asio::buffer_sequence_end(buffers); ++next) {
        const asio::const_buffer piece = *next;
        body_.append(static_cast<const char*>(piece.data()), piece.size());
        taken += piece.size();
      }
      return taken;
    }
    void finish(error_code& failed) { failed = {}; }

   private:
    static constexpr std::size_t believed_from = 1U << 20;

    void make_room() {
      try {
        body_.reserve(claimed_);
      } catch (const std::bad_alloc&) {
        claimed_ = 0;  // it grows, then, as far as it can
      }
    }

    value_type& body_;
    std::size_t claimed_ = 0;
  };
};

constexpr std::size_t most_empty_lines = 8;

request_parser::step step_for(const error_code& failed) {
  if (failed == http::error::header_limit) return request_parser::step::head_too_large;
  if (failed == http::error::body_limit) return request_parser::step::body_too_large;
  return request_parser::step::bad;
}

/// What makes a head that the library takes a request we must not answer, or nothing. It reads a coding that it does not know as no body at
/// all, and the body would then be the next request; a proxy before us may see that differently (RFC 9112, sections 3.2 and 6.3).
template <class Head>
std::string_view fault_of(const Head& head) {
  const std::size_t hosts = head.count(http::field::host);
  if (hosts > 1 || (hosts == 0 && head.version() >= 11)) return "a request has one Host header";
  const std::size_t codings = head.count(http::field::transfer_encoding);
  const bool is_chunked = codings == 1 && head.version() >= 11 && boost::beast::iequals(head[http::field::transfer_encoding], "chunked");
  if (codings != 0 && !is_chunked) return "Transfer-Encoding must be chunked and nothing else";
  return {};
}

}  // namespace

struct request_parser::state {
  std::optional<http::request_parser<growing_body>> parser;  ///< the library's serves for one request; the memory serves for all
  std::size_t empty_lines = 0;                               ///< before the request
  std::size_t head_bytes = 0;                                ///< used so far
  bool head_told = false;
  std::string_view fault;   ///< of a head that is HTTP but not taken
  bool is_chunked = false;  ///< known once the head is told
  chunk_framing framing;
};

request_parser::request_parser(std::size_t max_header_bytes, std::size_t max_body_bytes)
    : max_header_bytes_(max_header_bytes), max_body_bytes_(max_body_bytes) {}
request_parser::~request_parser() = default;

void request_parser::begin() {
  if (!state_) state_ = std::make_unique<state>();
  auto& parser = state_->parser.emplace();
  parser.header_limit(static_cast<std::uint32_t>(max_header_bytes_));
  parser.body_limit(max_body_bytes_);
  parser.eager(false);
  state_->empty_lines = 0;
  state_->head_bytes = 0;
  state_->head_told = false;
  state_->is_chunked = false;
  state_->fault = {};
}

void request_parser::end() noexcept {
  if (state_) state_->parser.reset();
}

/// Some clients end a body with a line end that is not part of it, and it comes before the next request (RFC 9112, section 2.2). True when
/// nothing else is there yet.
bool request_parser::skip_empty_lines(std::span<const char> bytes, std::size_t& used) {
  constexpr std::string_view line_end = "\r\n";
  std::string_view rest(bytes.data(), bytes.size());
  while (state_->empty_lines < most_empty_lines && rest.starts_with(line_end)) {
    rest.remove_prefix(line_end.size());
    ++state_->empty_lines;
  }
  used = bytes.size() - rest.size();
  return rest.empty() || (state_->empty_lines < most_empty_lines && rest == line_end.substr(0, 1));
}

request_parser::fed request_parser::feed(std::span<const char> bytes) {
  auto& parser = *state_->parser;
  fed result;
  if (!parser.got_some() && skip_empty_lines(bytes, result.used)) return result;
  for (;;) {
    if (parser.is_header_done() && !state_->head_told) {
      state_->head_told = true;
      state_->fault = fault_of(parser.get());
      if (!state_->fault.empty()) {
        result.now = step::bad;
        return result;
      }
      parser.eager(true);
      state_->is_chunked = parser.chunked();
      state_->framing.begin(parser);
      result.now = step::has_head;
      return result;
    }
    if (parser.is_done()) {
      result.now = step::complete;
      return result;
    }
    const std::span<const char> rest = bytes.subspan(result.used);
    if (rest.empty()) return result;
    error_code failed;
    const std::size_t content = parser.get().body().size();
    const std::size_t used = parser.put(asio::const_buffer(rest.data(), rest.size()), failed);
    result.used += used;
    if (!state_->head_told && (!failed || failed == http::error::need_more)) {
      // The library's limit is for what it has not used yet: fields that come one by one would never reach it.
      state_->head_bytes += used;
      if (state_->head_bytes + (failed ? rest.size() - used : 0) > max_header_bytes_) {
        result.now = step::head_too_large;
        return result;
      }
    }
    if (state_->is_chunked && (!failed || failed == http::error::need_more)) {
      state_->framing.note(used, parser.get().body().size() - content);
      if (state_->framing.is_over(failed ? rest.size() - used : 0, max_header_bytes_)) {
        result.now = step::frame_too_large;
        return result;
      }
    }
    if (failed == http::error::need_more) {
      result.now = step::needs_more;
      if (used == 0 || result.used == bytes.size()) return result;
    } else if (failed) {
      result.now = step_for(failed);
      return result;
    }
  }
}

std::string_view request_parser::method() const {
  return state_->parser->get().method_string();
}
std::string_view request_parser::target() const {
  return state_->parser->get().target();
}
std::string_view request_parser::header(std::string_view name) const {
  return state_->parser->get()[name];
}
bool request_parser::keep_alive() const {
  return state_->parser->get().keep_alive();
}

bool request_parser::takes_chunks() const {
  return state_->parser->get().version() >= 11;
}

bool request_parser::expects_continue() const {
  // Who speaks HTTP/1.0 would take it for the answer (RFC 9110, section 10.1.1).
  return takes_chunks() && boost::beast::iequals(state_->parser->get()[http::field::expect], "100-continue");
}

std::optional<std::uint64_t> request_parser::content_length() const {
  const auto length = state_->parser->content_length();
  return length ? std::optional<std::uint64_t>(*length) : std::nullopt;
}

std::string_view request_parser::what_is_bad() const {
  return state_->fault.empty() ? std::string_view("this is not a well-formed HTTP request") : state_->fault;
}

bool request_parser::has_begun() const {
  return state_->parser->got_some();
}
bool request_parser::has_body() const {
  return !state_->parser->is_done();
}
std::string& request_parser::body() {
  return state_->parser->get().body();
}

}  // namespace kvc::net

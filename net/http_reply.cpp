#include "net/http_reply.hpp"

#include <array>
#include <charconv>
#include <utility>

namespace kvc::net {
namespace {

struct meaning {
  unsigned status;
  std::string_view reason;
};

constexpr meaning meaning_of(refusal_kind kind) {
  switch (kind) {
    case refusal_kind::missing: return {400, "missing"};
    case refusal_kind::invalid_type: return {400, "invalid_type"};
    case refusal_kind::invalid_value: return {400, "invalid_value"};
    case refusal_kind::out_of_range: return {400, "out_of_range"};
    case refusal_kind::unsupported: return {400, "unsupported"};
    case refusal_kind::invalid_json: return {400, "invalid_json"};
    case refusal_kind::invalid_msgpack: return {400, "invalid_msgpack"};
    case refusal_kind::bad_http: return {400, "invalid_value"};
    case refusal_kind::unauthorized: return {401, "unauthorized"};
    case refusal_kind::forbidden: return {403, "forbidden"};
    case refusal_kind::service_not_found: return {404, "service_not_found"};
    case refusal_kind::unknown_path: return {404, "unsupported"};
    case refusal_kind::wrong_method: return {405, "unsupported"};
    case refusal_kind::body_too_large: return {413, "body_too_large"};
    case refusal_kind::unknown_form: return {415, "unsupported"};
    case refusal_kind::overloaded: return {503, "overloaded"};
    case refusal_kind::draining: return {503, "draining"};
  }
  return {400, "invalid_value"};
}

constexpr std::string_view phrase_of(unsigned status) {
  switch (status) {
    case 200: return "OK";
    case 202: return "Accepted";
    case 204: return "No Content";
    case 400: return "Bad Request";
    case 401: return "Unauthorized";
    case 403: return "Forbidden";
    case 404: return "Not Found";
    case 405: return "Method Not Allowed";
    case 413: return "Content Too Large";
    case 415: return "Unsupported Media Type";
    case 422: return "Unprocessable Content";
    case 500: return "Internal Server Error";
    case 502: return "Bad Gateway";
    case 503: return "Service Unavailable";
    default: return "Other";
  }
}

/// Seconds after which a shed or draining request may be tried again.
constexpr std::string_view retry_after_s = "1";

}  // namespace

std::string_view reason_of(refusal_kind kind) noexcept {
  return meaning_of(kind).reason;
}

void write_refusal(answer_writer& out, const refusal& why) {
  out.object(2U + (why.field.empty() ? 0U : 1U) + (why.index ? 1U : 0U));
  out.member("error", why.sentence);
  out.member("reason", reason_of(why.kind));
  if (!why.field.empty()) out.member("field", why.field);
  if (why.index) out.member("index", *why.index);
  out.end_object();
}

http_reply reply_with(const refusal& why, wire_form form) {
  http_reply reply;
  reply.status = meaning_of(why.kind).status;
  reply.form = form == wire_form::msgpack ? form : wire_form::json;
  answer_writer out(reply.body, reply.form);
  write_refusal(out, why);
  if (reply.status == 503) reply.headers.emplace_back("Retry-After", retry_after_s);
  if (reply.status == 401) reply.headers.emplace_back("WWW-Authenticate", "Bearer");
  return reply;
}

http_reply wrong_method_reply(std::string_view allowed, wire_form form) {
  const refusal why{refusal_kind::wrong_method, "this path does not take this method; it takes " + std::string(allowed)};
  http_reply reply = reply_with(why, form);
  reply.headers.emplace_back("Allow", allowed);
  return reply;
}

http_reply ok_reply(std::string body, wire_form form) {
  http_reply reply;
  reply.form = form;
  reply.body = std::move(body);
  return reply;
}

http_reply failed_reply() {
  http_reply reply = ok_reply("Internal Server Error", wire_form::text);
  reply.status = 500;
  return reply;
}

http_reply stream_reply(std::shared_ptr<http_body> body, wire_form form) {
  http_reply reply;
  reply.form = form;
  reply.stream = std::move(body);
  return reply;
}

http_reply not_ready_reply(std::string body, wire_form form) {
  http_reply reply = ok_reply(std::move(body), form);
  reply.status = 503;
  reply.headers.emplace_back("Retry-After", retry_after_s);
  return reply;
}

std::string_view content_type_of(wire_form form) noexcept {
  switch (form) {
    case wire_form::json: return "application/json";
    case wire_form::msgpack: return "application/msgpack";
    case wire_form::text: return "text/plain; charset=utf-8";
  }
  return "application/json";
}

void append_reply_head(std::string& head, const http_reply& reply, bool keep_alive, std::string_view date, body_framing framing) {
  head.append("HTTP/1.1 ").append(std::to_string(reply.status)).append(" ").append(phrase_of(reply.status));
  head.append("\r\nDate: ").append(date);
  const bool tells_body = has_body(reply.status);
  if (tells_body) {
    const std::string_view named = reply.content_type;
    head.append("\r\nContent-Type: ").append(named.empty() ? content_type_of(reply.form) : named);
  }
  if (!reply.stream && tells_body) {
    head.append("\r\nContent-Length: ").append(std::to_string(reply.body_bytes()));
  } else if (reply.stream && framing == body_framing::chunks) {
    head.append("\r\nTransfer-Encoding: chunked");
  }
  for (const auto& [name, value] : reply.headers) head.append("\r\n").append(name).append(": ").append(value);
  if (!keep_alive) {
    head.append("\r\nConnection: close");
  } else if (framing == body_framing::connection) {
    head.append("\r\nConnection: keep-alive");  // clients that know no chunks are HTTP/1.0 and close unless they are told
  }
  head.append("\r\n\r\n");
}

std::string reply_head(const http_reply& reply, bool keep_alive, std::string_view date, body_framing framing) {
  std::string head;
  head.reserve(256);
  append_reply_head(head, reply, keep_alive, date, framing);
  return head;
}

std::string chunk_head(std::size_t bytes) {
  std::array<char, 20> digits;
  const auto end = std::to_chars(digits.data(), digits.data() + digits.size(), bytes, 16).ptr;
  return std::string(digits.data(), end) + "\r\n";
}

}  // namespace kvc::net

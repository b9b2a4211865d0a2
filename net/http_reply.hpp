// Replies of the indexer and the writing of heads: the only place that knows its status numbers and how a refusal is told.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>

#include "net/answer_writer.hpp"
#include "net/http_message.hpp"
#include "net/refusal.hpp"

namespace kvc::net {

/// The id clients see for a kind of refusal (spec indexer-api, "Errors").
[[nodiscard]] std::string_view reason_of(refusal_kind kind) noexcept;

/// Writes `{"error":..,"reason":..,"field":..?,"index":..?}`.
void write_refusal(answer_writer& out, const refusal& why);

/// A whole reply for a refusal, with `Retry-After` and `WWW-Authenticate` where they belong.
[[nodiscard]] http_reply reply_with(const refusal& why, wire_form form);

/// 405 with the methods the path has, e.g. `GET, HEAD`.
[[nodiscard]] http_reply wrong_method_reply(std::string_view allowed, wire_form form);

/// 200 with this body.
[[nodiscard]] http_reply ok_reply(std::string body, wire_form form);

/// 503 with this body: for readiness, whose answer is a refusal and a report at once.
[[nodiscard]] http_reply not_ready_reply(std::string body, wire_form form);

/// 500 for a handler that failed, in the words that clients of the coordinator know: what went wrong is for the log.
[[nodiscard]] http_reply failed_reply();

/// 200 with a body that is made while it is sent.
[[nodiscard]] http_reply stream_reply(std::shared_ptr<http_body> body, wire_form form);

/// How a client finds the end of a body that is made while it is sent: by chunks, or, before HTTP/1.1, by the end of the connection.
enum class body_framing : std::uint8_t { chunks, connection };

/// Whether a reply with this status has a body and speaks of one (RFC 9110, sections 8.6, 15.3.5 and 15.4.5).
[[nodiscard]] constexpr bool has_body(unsigned status) noexcept {
  return status != 204 && status != 304;
}

/// Status line, headers and blank line for a reply; the body follows as it is, or is framed as told when it is made while it is sent.
/// `date` is the value of the Date header.
[[nodiscard]] std::string reply_head(const http_reply& reply, bool keep_alive, std::string_view date,
                                     body_framing framing = body_framing::chunks);

/// The same behind what is in `head` already.
void append_reply_head(std::string& head, const http_reply& reply, bool keep_alive, std::string_view date,
                       body_framing framing = body_framing::chunks);

/// What stands before and behind a chunk's bytes, and what ends a body of chunks. (Form: RFC 9112, section 7.1.)
[[nodiscard]] std::string chunk_head(std::size_t bytes);
inline constexpr std::string_view chunk_end = "\r\n";
inline constexpr std::string_view last_chunk = "0\r\n\r\n";

/// What is sent before the body of a request that asked for it.
inline constexpr std::string_view continue_head = "HTTP/1.1 100 Continue\r\n\r\n";

/// The value of the content-type header for a form.
[[nodiscard]] std::string_view content_type_of(wire_form form) noexcept;

}  // namespace kvc::net

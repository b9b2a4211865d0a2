// Bytes of a connection to requests, one after the other. Knows no socket: what arrives is fed in.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "net/errc.hpp"

namespace kvc::net {

/// One request at a time: `begin`, `feed` until it says `complete`, look at it, `begin` again.
///
/// The body grows as its bytes arrive, so that a claimed length allocates nothing. Views are valid until the next `begin` or `end`.
/// Lane: one at a time.
class request_parser {
 public:
  enum class step : std::uint8_t {
    needs_more,  ///< all usable bytes are taken; feed more
    has_head,    ///< the head has just become complete; feed on
    complete,    ///< head and body are there
    bad,         ///< not HTTP as we take it
    head_too_large,
    frame_too_large,  ///< trailers and chunk extensions together are over the header's limit
    body_too_large,
  };

  request_parser(std::size_t max_header_bytes, std::size_t max_body_bytes);
  ~request_parser();
  request_parser(const request_parser&) = delete;
  request_parser& operator=(const request_parser&) = delete;

  void begin();
  /// Lets go of the request's memory.
  void end() noexcept;

  struct fed {
    step now = step::needs_more;
    std::size_t used = 0;  ///< bytes taken; the rest must be fed again, with more behind it when `needs_more`
  };
  [[nodiscard]] fed feed(std::span<const char> bytes);

  /// False while no byte of the request has come; up to eight empty lines may stand before it.
  [[nodiscard]] bool has_begun() const;
  [[nodiscard]] std::string_view method() const;
  [[nodiscard]] std::string_view target() const;
  [[nodiscard]] std::string_view header(std::string_view name) const;
  [[nodiscard]] bool keep_alive() const;
  /// False for clients older than HTTP/1.1.
  [[nodiscard]] bool takes_chunks() const;
  [[nodiscard]] bool expects_continue() const;
  /// What the head claims; nothing when the body is chunked.
  [[nodiscard]] std::optional<std::uint64_t> content_length() const;
  /// A sentence for the client whose request is `bad`.
  [[nodiscard]] std::string_view what_is_bad() const;
  [[nodiscard]] bool has_body() const;
  [[nodiscard]] std::string& body();

 private:
  struct state;
  [[nodiscard]] bool skip_empty_lines(std::span<const char> bytes, std::size_t& used);

  std::unique_ptr<state> state_;
  std::size_t max_header_bytes_;
  std::size_t max_body_bytes_;
};

}  // namespace kvc::net

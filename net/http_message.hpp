// A request and a reply as handlers see them: no socket, no library type.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <stop_token>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace kvc::net {

class http_body;

/// How a body is written down.
enum class wire_form : std::uint8_t { json, msgpack, text };

/// A read request. All views live until the handler has returned its reply.
struct http_request {
  std::string_view method;                                 ///< upper case
  std::string_view path;                                   ///< decoded, without query and trailing slash
  std::vector<std::pair<std::string, std::string>> query;  ///< decoded
  std::string_view raw_query;                              ///< the same as it was sent, for those to whom escapes are part of a name
  std::string_view body;
  wire_form body_form = wire_form::json;
  wire_form answer_form = wire_form::json;  ///< the body's, unless Accept says otherwise
  std::string_view authorization;           ///< the header's value, empty when absent
  std::stop_token client_left;              ///< stops when the client closes its side, if the plan asked for that; from any lane
  std::string* kept_body = nullptr;  ///< where `body` lies while `answer` is waited for: who has read it may empty this, which ends `body`

  /// First value of a query parameter, or empty.
  [[nodiscard]] std::string_view parameter(std::string_view name) const noexcept {
    for (const auto& [key, value] : query) {
      if (key == name) return value;
    }
    return {};
  }
};

/// A finished reply. Status numbers are set in http_reply.cpp and, for the fleet coordinator, coordinator_reply.cpp and its handlers.
struct http_reply {
  unsigned status = 200;
  wire_form form = wire_form::json;
  std::string body;
  std::shared_ptr<const std::string> shared = {};  ///< comes before `body`; many replies may have it
  std::shared_ptr<http_body> stream = {};          ///< instead of both: made while it is sent
  std::string content_type;                        ///< empty: by form
  std::vector<std::pair<std::string, std::string>> headers;

  [[nodiscard]] std::size_t body_bytes() const noexcept { return (shared ? shared->size() : 0) + body.size(); }
};

}  // namespace kvc::net

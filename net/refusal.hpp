// Why a request is not answered with what it asked for. What each kind means on the wire (status, reason) is http_reply's business.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>

namespace kvc::net {

/// The kinds up to `forbidden` are the reasons of the API (spec indexer-api, "Errors"); the rest share one of those reasons.
enum class refusal_kind : std::uint8_t {
  missing,            ///< a required member is absent
  invalid_type,       ///< a member has the wrong type
  invalid_value,      ///< right type, unusable content
  out_of_range,       ///< a number or a count outside its range
  unsupported,        ///< known, but not offered
  invalid_json,       ///< the body is not JSON
  invalid_msgpack,    ///< the body is not MessagePack
  body_too_large,     ///< body or header over its limit
  service_not_found,  ///< no registered publisher matches
  overloaded,         ///< a bound of the server is reached; try again
  draining,           ///< the server is shutting down
  unauthorized,       ///< no token, or an unknown one
  forbidden,          ///< a token that may not do this
  unknown_path,       ///< no such route
  wrong_method,       ///< the route exists, not for this method
  unknown_form,       ///< the body's content type is not one we read
  bad_http,           ///< the request is not well-formed HTTP
};

/// One refusal: what the client is told.
struct refusal {
  refusal_kind kind = refusal_kind::invalid_value;
  std::string sentence;                             ///< plain English, for people
  std::string field = {};                           ///< member of the body it is about; empty: none
  std::optional<std::size_t> index = std::nullopt;  ///< element of that member, when it is a list
};

/// Nothing: all is well. Otherwise the first thing that is wrong.
using checked = std::optional<refusal>;

}  // namespace kvc::net

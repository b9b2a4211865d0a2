// The parts of a request head that need decoding: the target, and which form a body or an answer has. Pure.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "net/http_message.hpp"

namespace kvc::net {

/// A decoded request target.
struct http_target {
  std::string path;                                        ///< percent-decoded, without query, fragment and trailing slash; the root is "/"
  std::vector<std::pair<std::string, std::string>> query;  ///< in order, decoded, `+` is a blank
  std::string raw_query;                                   ///< not decoded, without the question mark
};

/// Takes origin form (`/a/b?c=d`) and absolute form (`http://host/a/b?c=d`). Nothing when it is neither, an escape is broken, or what
/// is decoded is not UTF-8: such a name could not be shown again.
[[nodiscard]] std::optional<http_target> parse_target(std::string_view target);

/// The form of a body with this content type, judged by the type and, where the type says nothing, by how the body begins: JSON under any
/// label is read as JSON. Nothing when the type is one we do not read and the body is not an object in JSON.
[[nodiscard]] std::optional<wire_form> body_form(std::string_view content_type, std::string_view content_encoding, std::string_view body);

/// The form the client likes best, by its quality values and then by their order; `otherwise` when it has no wish that we can meet.
[[nodiscard]] wire_form accepted_form(std::string_view accept, wire_form otherwise);

}  // namespace kvc::net

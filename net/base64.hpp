// Standard base64, strictly.
#pragma once

#include <optional>
#include <string>
#include <string_view>

namespace kvc::net {

/// The bytes; nothing when a letter is not of the standard alphabet or the padding is not as it must be (RFC 4648, section 4). Pure.
[[nodiscard]] std::optional<std::string> decode_base64(std::string_view text);

}  // namespace kvc::net

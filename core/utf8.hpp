// Whether bytes are text.
#pragma once

#include <string_view>

namespace kvc::core {

/// Whether `bytes` are well-formed UTF-8 (RFC 3629: shortest forms, no surrogates, nothing above U+10FFFF). Pure.
[[nodiscard]] bool is_utf8(std::string_view bytes) noexcept;

}  // namespace kvc::core

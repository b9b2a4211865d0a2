// Whether bytes are text.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

namespace kvc::core {

/// Whether `bytes` are well-formed UTF-8 (RFC 3629: shortest forms, no surrogates, nothing above U+10FFFF). Pure.
[[nodiscard]] bool is_utf8(std::string_view bytes) noexcept;

/// Bytes of the character at the start of `bytes`, 0 when there is none. Pure.
[[nodiscard]] std::size_t character_length(std::string_view bytes) noexcept;

/// The same text with U+FFFD for each byte that belongs to no character. Pure.
[[nodiscard]] std::string repaired_utf8(std::string_view bytes);

}  // namespace kvc::core

// Bytes written as hexadecimal digits, and texts that are such digits packed to half their length.
#pragma once

#include <array>
#include <cstddef>
#include <string>
#include <string_view>

#include "core/errc.hpp"

namespace kvc::core {

/// Appends the bytes that `hex` spells. Either case; blanks between the pairs are skipped, as Python's bytes.fromhex does.
/// Errors: `hash_not_hex`; then `out` is as before. Pure.
[[nodiscard]] result<void> decode_hex(std::string_view hex, std::string& out);

/// Appends `bytes` in lower-case hex. Pure.
void append_hex(std::string_view bytes, std::string& out);

/// A text ready to be kept: as the bytes it spells when it is pairs of lower-case digits, else as it is. One text has one packed form, and
/// the form gives the text back. The text outlives this object.
class packed_text {
 public:
  explicit packed_text(std::string_view text) noexcept;
  packed_text(const packed_text&) = delete;
  packed_text& operator=(const packed_text&) = delete;

  /// Valid as long as this object.
  [[nodiscard]] std::string_view bytes() const noexcept { return bytes_; }
  [[nodiscard]] bool is_hex() const noexcept { return is_hex_; }

 private:
  static constexpr std::size_t longest = 64;  ///< bytes packed; longer texts stay as they are
  std::array<char, longest> room_;
  std::string_view bytes_;
  bool is_hex_ = false;
};

/// The text of a packed form.
[[nodiscard]] std::string unpacked(std::string_view bytes, bool is_hex);

}  // namespace kvc::core

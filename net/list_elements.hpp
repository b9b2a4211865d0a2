// The ways token ids and hashes are written down when they are not plain integers.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>
#include <vector>

namespace kvc::net {

/// The largest u64 has 20 digits; some writers pad with zeros. What is longer is no hash, in any form of a body.
inline constexpr std::size_t longest_hash_text = 64;

/// Reads a hash written as text: decimal (with a minus sign: an int64 of the same bits) or hexadecimal after `0x`.
/// False when the text is none of these, too long or does not fit 64 bits. Pure.
[[nodiscard]] bool parse_hash(std::string_view text, std::uint64_t& value) noexcept;

/// Turns bytes that arrive in pieces into little-endian u32 tokens. One owner; `begin` starts over.
class token_bytes {
 public:
  void begin() noexcept { *this = token_bytes{}; }

  /// Appends the tokens that `bytes` completes.
  void take(std::string_view bytes, std::vector<std::uint32_t>& out);

  /// The same for base64 text, in the standard or the URL-safe alphabet. False at the first character that is neither.
  [[nodiscard]] bool take_base64(std::string_view text, std::vector<std::uint32_t>& out);

  /// Takes the tail of base64 text, whose padding may be missing. True when everything taken ends where a token ends.
  [[nodiscard]] bool finish(std::vector<std::uint32_t>& out);

 private:
  void take_byte(std::uint8_t byte, std::vector<std::uint32_t>& out);

  std::uint32_t token_ = 0;
  std::uint32_t bytes_ = 0;    ///< of the token in hand
  std::uint32_t sextets_ = 0;  ///< base64 bits in hand
  std::uint32_t held_ = 0;     ///< how many sextets those are
  std::uint32_t padding_ = 0;
};

}  // namespace kvc::net

// Whether two short stretches of bytes are the same, where a call to ask would take longer than the answer.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <string_view>

namespace kvc::net {

/// Sixteen bytes, which every CPU of a 64-bit kind compares at once.
using sixteen_bytes = std::uint64_t __attribute__((vector_size(16)));

[[nodiscard]] inline bool is_zero(std::uint64_t word) noexcept {
  return word == 0;
}
[[nodiscard]] inline bool is_zero(sixteen_bytes word) noexcept {
  return (word[0] | word[1]) == 0;
}

/// `is_same` word by word, of which the last overlaps the one before it. Precondition: there is at least one.
template <class Word>
[[nodiscard]] inline bool is_same_by(const unsigned char* left, const unsigned char* right, std::size_t count) noexcept {
  const auto differ_at = [&](std::size_t at) {
    Word ours{};
    Word theirs{};
    std::memcpy(&ours, left + at, sizeof(Word));
    std::memcpy(&theirs, right + at, sizeof(Word));
    return static_cast<Word>(ours ^ theirs);
  };
  const std::size_t last = count - sizeof(Word);
  Word differ = differ_at(last);
  for (std::size_t at = 0; at < last; at += sizeof(Word)) differ |= differ_at(at);
  return is_zero(differ);
}

/// As `memcmp(left, right, count) == 0`, for a few dozen bytes that mostly are the same: inlined, and without asking after each word. Pure.
[[nodiscard]] inline bool is_same(const unsigned char* left, const unsigned char* right, std::size_t count) noexcept {
  if (count >= sizeof(sixteen_bytes)) return is_same_by<sixteen_bytes>(left, right, count);
  if (count >= sizeof(std::uint64_t)) return is_same_by<std::uint64_t>(left, right, count);
  if (count >= sizeof(std::uint32_t)) return is_same_by<std::uint32_t>(left, right, count);
  if (count == 0) return true;
  return left[0] == right[0] && left[count / 2] == right[count / 2] && left[count - 1] == right[count - 1];
}

[[nodiscard]] inline bool is_same(std::string_view left, std::string_view right) noexcept {
  return left.size() == right.size() &&
         is_same(reinterpret_cast<const unsigned char*>(left.data()), reinterpret_cast<const unsigned char*>(right.data()), left.size());
}

}  // namespace kvc::net

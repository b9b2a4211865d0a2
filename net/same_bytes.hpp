// Whether two short stretches of bytes are the same, where a call to ask would take longer than the answer.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <string_view>

namespace kvc::net {

/// As `memcmp(left, right, count) == 0`, for a few dozen bytes that mostly are the same: inlined, and without asking after each word. Pure.
[[nodiscard]] inline bool is_same(const unsigned char* left, const unsigned char* right, std::size_t count) noexcept {
  constexpr std::size_t word = sizeof(std::uint64_t);
  if (count < word) return std::equal(left, left + count, right);
  const auto differ_at = [&](std::size_t at) {
    std::uint64_t ours = 0;
    std::uint64_t theirs = 0;
    std::memcpy(&ours, left + at, word);
    std::memcpy(&theirs, right + at, word);
    return ours ^ theirs;
  };
  const std::size_t last = count - word;  // overlaps the one before it
  std::uint64_t differ = differ_at(last);
  for (std::size_t at = 0; at < last; at += word) differ |= differ_at(at);
  return differ == 0;
}

[[nodiscard]] inline bool is_same(std::string_view left, std::string_view right) noexcept {
  return left.size() == right.size() &&
         is_same(reinterpret_cast<const unsigned char*>(left.data()), reinterpret_cast<const unsigned char*>(right.data()), left.size());
}

}  // namespace kvc::net

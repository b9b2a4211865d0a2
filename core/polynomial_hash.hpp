// The fingerprint of a chunk of tokens that can be rolled along a prompt: one value for every offset at a few instructions each.
#pragma once

#include <concepts>
#include <cstddef>
#include <cstdint>
#include <span>

namespace kvc::core {

/// What fingerprints are made of: token ids, or the 64-bit stand-ins some clients use for images.
template <class Token>
concept token_value = std::same_as<Token, std::uint32_t> || std::same_as<Token, std::uint64_t>;

/// The base of the polynomial: 2^64 divided by the golden ratio, made odd. Clients publish and query by it. (Spec coordinator-api,
/// section 3.)
inline constexpr std::uint64_t polynomial_base = 0x9E37'79B9'7F4A'7C15;

/// polynomial_base to the power of `exponent`, modulo 2^64.
[[nodiscard]] constexpr std::uint64_t base_power(std::size_t exponent) noexcept {
  std::uint64_t power = 1;
  for (std::uint64_t square = polynomial_base; exponent != 0; exponent >>= 1, square *= square) {
    if ((exponent & 1) != 0) power *= square;
  }
  return power;
}

/// x0 B^(k-1) + x1 B^(k-2) + ... + x(k-1) modulo 2^64 over all of `tokens`; 0 when there are none. Pure.
template <token_value Token>
[[nodiscard]] std::uint64_t polynomial_hash(std::span<const Token> tokens) noexcept {
  // Four interleaved polynomials in B^4, so that a step does not wait for the multiplication of the one before.
  constexpr std::uint64_t base4 = base_power(4);
  std::uint64_t a = 0;
  std::uint64_t b = 0;
  std::uint64_t c = 0;
  std::uint64_t d = 0;
  std::size_t i = 0;
  for (; i + 4 <= tokens.size(); i += 4) {
    a = a * base4 + tokens[i];
    b = b * base4 + tokens[i + 1];
    c = c * base4 + tokens[i + 2];
    d = d * base4 + tokens[i + 3];
  }
  std::uint64_t hash = a * base_power(3) + b * base_power(2) + c * polynomial_base + d;
  for (; i < tokens.size(); ++i) hash = hash * polynomial_base + tokens[i];
  return hash;
}

/// The same for long lists of 64-bit tokens, with AVX-512 where the machine has it, chosen at run time: 256 tokens in 15 ns instead of 65.
/// Pure.
[[nodiscard]] std::uint64_t polynomial_hash_of_chunk(std::span<const std::uint64_t> tokens) noexcept;
[[nodiscard]] inline std::uint64_t polynomial_hash_of_chunk(std::span<const std::uint32_t> tokens) noexcept {
  return polynomial_hash(tokens);
}

/// The hashes of all windows of one length in a prompt, from the first on.
class rolling_hash {
 public:
  /// `length`: tokens per window, at least 1.
  explicit rolling_hash(std::size_t length) noexcept : length_(length), leaving_(base_power(length)) {}

  /// Writes the hashes of the windows that begin at `from`, `from` + 1 ... for as many as `out` has room for; `out` is not empty. All of
  /// them lie within `tokens`. Windows are asked for in order, each once: `from` continues where the last call ended. Pure but for the
  /// state.
  template <token_value Token>
  void roll(std::span<const Token> tokens, std::size_t from, std::span<std::uint64_t> out) noexcept {
    std::size_t done = 0;
    if (from == 0) {
      hash_ = polynomial_hash(tokens.first(length_));
      out[0] = hash_;
      done = 1;
    }
    const Token* leaving = tokens.data() + from + done - 1;
    const Token* coming = leaving + length_;
    std::uint64_t hash = hash_;
    for (std::size_t i = done; i < out.size(); ++i) {
      // What leaves is worth x B^k after the step; taken from what comes first, so that only one multiplication is on the way from hash to
      // hash.
      hash = hash * polynomial_base + (*coming++ - *leaving++ * leaving_);
      out[i] = hash;
    }
    hash_ = hash;
  }

 private:
  std::size_t length_;
  std::uint64_t leaving_;  ///< B^k
  std::uint64_t hash_ = 0;
};

}  // namespace kvc::core

// Bodies that MP servers send to the coordinator, made before anything is timed.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

namespace kvc::perf {

/// Keys as LMCache writes them: a 32-byte hash, the rank of eight, a salt of several.
class event_texts {
 public:
  /// The same for the same arguments.
  event_texts(std::size_t keys, std::size_t salts);

  /// A whole POST /quota/events with one store per key number.
  [[nodiscard]] std::string batch(std::uint64_t number, std::span<const std::uint32_t> keys) const;

 private:
  std::vector<std::string> events_;
};

/// Requests that publish and match chunks of 256 tokens.
class blend_texts {
 public:
  static constexpr std::size_t chunk_tokens = 256;
  static constexpr std::size_t chunks_per_request = 32;

  blend_texts();

  /// A whole POST /blend/fingerprints; the tokens are fixed by the number.
  [[nodiscard]] std::string publication(std::size_t number) const;
  /// A whole POST /blend/match of `count` tokens: with `is_known` every second stretch of 8,192 is that of a publication.
  [[nodiscard]] std::string match(std::size_t count, bool is_known) const;

 private:
  [[nodiscard]] static std::vector<std::uint32_t> tokens(std::size_t number, std::size_t count);
  std::vector<std::string> words_;  ///< token ids as text
};

}  // namespace kvc::perf

// What of a chunked body is not its content, so that it can be bounded.
#pragma once

#include <cstddef>
#include <cstdint>

#include <boost/beast/core/string_type.hpp>

#include "net/errc.hpp"

namespace kvc::net {

/// Counts the bytes around the chunks of one message: their heads with extensions, their ends, and the trailers. The library has no limit
/// of its own for extensions and trailers, and keeps every trailer. Lifetime: a parser that it was given to calls it. Owner: whoever feeds
/// that parser.
class chunk_framing {
 public:
  chunk_framing() = default;
  chunk_framing(const chunk_framing&) = delete;
  chunk_framing& operator=(const chunk_framing&) = delete;

  /// A message begins. `parser` is one of Beast's.
  template <class Parser>
  void begin(Parser& parser) {
    bytes_ = 0;
    chunks_.seen = 0;
    parser.on_chunk_header(chunks_);
  }
  /// The parser has used so many bytes of the body as it came, `content` of them for what is in it.
  void note(std::size_t used, std::size_t content) noexcept { bytes_ += used - content; }
  /// Whether all this, with `waiting` bytes that the parser cannot use yet, is more than `most`.
  [[nodiscard]] bool is_over(std::size_t waiting, std::size_t most) const noexcept {
    return bytes_ + waiting > most + (chunks_.seen + 1) * free_per_chunk;
  }

 private:
  /// Of each chunk's head and end, free of charge: the longest size there is, and two line ends.
  static constexpr std::size_t free_per_chunk = 20;

  /// What the library tells of each chunk that begins.
  struct counter {
    void operator()(std::uint64_t, boost::beast::string_view, error_code&) noexcept { ++seen; }
    std::size_t seen = 0;
  };

  std::size_t bytes_ = 0;
  counter chunks_;
};

}  // namespace kvc::net

// What fields in a row said when they were last read, for events that say the same.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <memory>
#include <optional>

#include "core/event.hpp"
#include "net/same_bytes.hpp"

namespace kvc::net {

/// A few stretches of an event's map: fields that follow each other, with their names, and what came of them. Names of blocks, tokens and
/// lists of keys are in none of them, nor is the name of an adapter: behind it an event is read field by field.
///
/// Story: an engine writes block size, medium and group of each event, the same ones in the same order. Compared as one piece they
/// cost what the comparison of their bytes does: decoding a map of one block took 2,418 instructions when each was read, 1,981 so. Engines
/// that write several sorts of events in turn have a place for each, up to `most`. Owner: one stream, on its lane; it takes memory when the
/// first stretch is put in, so that a stream which never spoke has none.
class field_memory {
 public:
  /// What decides what a stretch means, beside its bytes.
  struct place {
    std::uint64_t fields_left = 0;  ///< of the event, with those of the stretch
    unsigned seen = 0;              ///< fields that were not nil so far, by bit; which of them comes again is an error
  };

  struct stretch {
    static constexpr std::size_t most_bytes = 256;

    place where;
    std::uint32_t length = 0;  ///< of `bytes`; 0: there is none
    std::uint32_t fields = 0;
    unsigned seen_after = 0;
    std::uint32_t next_member = 0;  ///< what is expected behind it
    // Of the scope, as far as the bits that came to `seen` in between tell that it was said here.
    std::uint32_t block_size = 0;
    std::uint32_t group = 0;
    std::optional<core::medium_id> medium;
    std::optional<core::dp_rank> rank;
    bool prefix_complete = true;
    std::array<unsigned char, most_bytes> bytes{};
  };

  /// The stretch that stands at `at`, of which there are `left` bytes; null: none that is known. Valid until the next `put`.
  [[nodiscard]] const stretch* find(const place& where, const unsigned char* at, std::size_t left) const noexcept {
    if (!kept_) return nullptr;
    for (const stretch& each : *kept_) {
      if (each.where.fields_left == where.fields_left && each.where.seen == where.seen && each.length != 0 && each.length <= left &&
          is_same(each.bytes.data(), at, each.length)) {
        return &each;
      }
    }
    return nullptr;
  }

  /// Room for a stretch with these bytes, in place of the one that was put in longest ago; the rest is for the caller to fill in.
  /// Precondition: `length` is in 1 .. most_bytes.
  [[nodiscard]] stretch& put(const unsigned char* at, std::size_t length) {
    if (!kept_) kept_ = std::make_unique<std::array<stretch, most>>();
    stretch& oldest = (*kept_)[next_];
    next_ = (next_ + 1) % most;
    oldest = stretch();
    oldest.length = static_cast<std::uint32_t>(length);
    std::memcpy(oldest.bytes.data(), at, length);
    return oldest;
  }

  static constexpr std::size_t most = 4;

 private:
  std::unique_ptr<std::array<stretch, most>> kept_;
  std::size_t next_ = 0;
};

}  // namespace kvc::net

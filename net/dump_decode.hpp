// Reads the compact form of a dump back, whatever bytes arrive. Pure.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "core/medium.hpp"
#include "core/snapshot.hpp"
#include "net/dump_records.hpp"
#include "net/errc.hpp"

namespace kvc::net {

/// Walks the records of a dump.
///
/// No length is believed before its bytes are there, so what is kept is bounded by the bytes given. The reader checks types, ranges and the
/// order of owner, homes, slices and ends; that the records of slices fit each other is for core::snapshot_loader to say.
/// One owner; `bytes` and `media` outlive it. `media` learns the words of the dump.
class dump_decoder {
 public:
  dump_decoder(std::span<const std::byte> bytes, core::medium_table& media) : rest_(bytes), media_(&media) {}

  enum class record : std::uint8_t { owner, home, slice, end, end_of_dump };

  /// Reads on up to the next record, or through many: a slice takes what comes until it has some `blocks_per_slice` blocks. The values are
  /// in the members below. After `end_of_dump` nothing may follow. Errors: `malformed_dump` when the bytes are no dump of this version, are
  /// cut short or out of order; the decoder is of no use afterwards.
  [[nodiscard]] result<record> next();

  dump_owner owner;
  dump_home home;
  core::dump_slice slice;
  dump_end end;

  static constexpr std::size_t blocks_per_slice = 16'384;

 private:
  [[nodiscard]] bool read_header();

  std::span<const std::byte> rest_;
  core::medium_table* media_;
  bool has_header_ = false;
  bool is_in_worker_ = false;
  std::uint64_t workers_ = 0;
};

}  // namespace kvc::net

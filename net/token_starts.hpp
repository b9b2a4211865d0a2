// Lists of integers of three and five bytes, as most token ids are written, by where all of a window begin at once.
#pragma once

#include <cstddef>
#include <cstdint>

#include "net/token_list.hpp"

namespace kvc::net {

/// Whether this CPU runs `read_u32_list_by_starts`, and fast: AVX2, and a `pext` that is one instruction within, too. Asks the CPU.
/// Any lane.
[[nodiscard]] bool has_u32_list_by_starts() noexcept;

/// As `read_u32_list`. Reads stretches of numbers of 256 and more itself and leaves what is in between, and lists of many smaller ones, to
/// `otherwise`, which reads any list. Precondition: `has_u32_list_by_starts()`. Pure; any lane.
[[nodiscard]] const unsigned char* read_u32_list_by_starts(const unsigned char* at, const unsigned char* end, std::uint32_t* out,
                                                           std::size_t count, u32_list_reader otherwise) noexcept;

}  // namespace kvc::net

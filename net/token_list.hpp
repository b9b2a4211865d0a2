// Lists of small unsigned integers, token ids above all, from MessagePack bytes straight to numbers.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

namespace kvc::net {

/// Reads `count` integers that stand one behind the other from `at` on, each in one of the forms that a number below 2^32 has when it is
/// written as short as possible: a single byte, or 0xcc, 0xcd, 0xce with one, two, four bytes. Answers the byte behind the last of them;
/// null when one is something else or the bytes end before, and then what has been written to `out` means nothing. `out` has room for
/// `count`; no byte from `end` on is looked at. Uses AVX-512 (VBMI) or AVX2 where the CPU has it (asked once, at run time). Pure; any lane.
[[nodiscard]] const unsigned char* read_u32_list(const unsigned char* at, const unsigned char* end, std::uint32_t* out,
                                                 std::size_t count) noexcept;

/// The same by plain code on every CPU: what the fast ones are tested against.
[[nodiscard]] const unsigned char* read_u32_list_scalar(const unsigned char* at, const unsigned char* end, std::uint32_t* out,
                                                        std::size_t count) noexcept;

using u32_list_reader = const unsigned char* (*)(const unsigned char*, const unsigned char*, std::uint32_t*, std::size_t) noexcept;

/// All that this CPU can run, the one that `read_u32_list` uses first, the plain one last. Any lane.
[[nodiscard]] std::span<const u32_list_reader> u32_list_readers() noexcept;

}  // namespace kvc::net

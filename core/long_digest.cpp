#include "core/long_digest.hpp"

#if defined(KVC_XXHASH_DISPATCH)
#define XXH_DISPATCH_DISABLE_REPLACE  // its names stay its own
#include <xxh_x86dispatch.h>
#else
#include <xxhash.h>
#endif

#include <array>

#include "core/wide_registers.hpp"

namespace kvc::core {
namespace {

#if defined(KVC_XXHASH_DISPATCH)

/// The library (0.8.1) leaves upper halves of registers in use. By a profile on an Intel CPU with AMX, whoever asked it waited for some 220
/// ns, half of them where it went on with other instructions and half when it asked again, for a payload of 300 bytes that takes 18.
[[gnu::target("avx")]] std::uint64_t digest_by_wide(const void* bytes, std::size_t count, std::uint64_t seed) noexcept {
  const std::uint64_t digest = XXH3_64bits_withSeed_dispatch(bytes, count, seed);
  leave_wide_registers();
  return digest;
}

const bool has_wide = [] {
  __builtin_cpu_init();
  return __builtin_cpu_supports("avx") != 0;
}();

#endif

std::uint64_t digest_of(const void* bytes, std::size_t count, std::uint64_t seed) noexcept {
#if defined(KVC_XXHASH_DISPATCH)
  return has_wide ? digest_by_wide(bytes, count, seed) : XXH3_64bits_withSeed_dispatch(bytes, count, seed);
#else
  return XXH3_64bits_withSeed(bytes, count, seed);
#endif
}

/// The library makes its choice when it is asked first, and not for several threads at once: so here, before there are any.
[[maybe_unused]] const std::uint64_t first = digest_of(std::array<char, 256>{}.data(), 256, 0);

}  // namespace

std::uint64_t long_digest(std::span<const std::byte> bytes, std::uint64_t seed) noexcept {
  return digest_of(bytes.data(), bytes.size(), seed);
}

}  // namespace kvc::core

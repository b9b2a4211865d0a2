#include "core/long_digest.hpp"

#if defined(KVC_XXHASH_DISPATCH)
#define XXH_DISPATCH_DISABLE_REPLACE  // its names stay its own
#include <xxh_x86dispatch.h>
#else
#include <xxhash.h>
#endif

#include <array>

namespace kvc::core {
namespace {

std::uint64_t digest_of(const void* bytes, std::size_t count, std::uint64_t seed) noexcept {
#if defined(KVC_XXHASH_DISPATCH)
  return XXH3_64bits_withSeed_dispatch(bytes, count, seed);
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

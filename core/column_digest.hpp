// Whether long stretches of local hashes agree, told by digests of one side: half as much memory to read as comparing hash by hash.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

namespace kvc::core {

/// So many consecutive local hashes have a digest: 1/32 of a byte for each.
inline constexpr std::uint32_t blocks_per_digest = 256;

/// Whether this CPU is quicker with digests than by comparing: by AVX-512 with carry-less multiplication of whole vectors; or by Intel's
/// of single pairs, which takes a third longer than comparing where both sides are in the second-level cache, and less than half as long
/// where the run's is not, as mostly. Where it is false nobody needs to keep any. Asked once; any lane.
[[nodiscard]] bool digests_pay() noexcept;

/// The digest of the `blocks_per_digest` hashes from `locals` on: the sum of (h[2i] + k[2i]) * (h[2i+1] + k[2i+1]) over the field of
/// 2^64 elements (modulus x^64 + x^4 + x^3 + x + 1), where the keys k follow from the spread secret (spread.hpp) as it is at the first
/// digest. Two different stretches have the same digest with a chance of one in 2^64 over keys drawn at random, whatever the stretches
/// are; so an outsider who chooses prompts without knowing the secret can do nothing about it, which is more than holds for the local
/// hashes themselves. Source: the pseudo-dot product CL-NH of Lemire and Kaser, "Faster 64-bit universal hashing using carry-less
/// multiplications" (2016), with the products taken in the field. Pure; any lane.
[[nodiscard]] std::uint64_t column_digest(const std::uint64_t* locals) noexcept;

/// The same by plain code, slowly: what the fast one is tested against.
[[nodiscard]] std::uint64_t column_digest_scalar(const std::uint64_t* locals) noexcept;

/// How many of the `digests`, from the first, are those of `hashes`, which has at least as many whole stretches; what it has behind those
/// is asked for meanwhile, as it will be looked at next. Pure; any lane.
[[nodiscard]] std::size_t common_digests(std::span<const std::uint64_t> digests, std::span<const std::uint64_t> hashes) noexcept;

}  // namespace kvc::core

#include "core/batch_digest.hpp"

#include "core/block_hasher.hpp"

namespace kvc::core {

std::uint64_t batch_digest(std::span<const std::byte> payload) noexcept {
  using how = batch_sampling;
  if (payload.size() <= how::longest_whole) return digest(payload);
  // Of each stretch where it lies, by a seed that says where that is: put together first, they were waited for at length, since a wide load
  // does not get what several narrower stores have just written (4,600 bytes in the second cache: 230 ns so, 72 as it is).
  std::uint64_t sum = 0;
  const auto add = [&](std::size_t at, std::size_t count) { sum += digest(payload.subspan(at, count), at); };
  const std::size_t behind = payload.size() - how::end_bytes;
  add(0, how::end_bytes);
  for (std::size_t at = how::sample_step; at + how::sample_bytes <= behind; at += how::sample_step) add(at, how::sample_bytes);
  add(behind, how::end_bytes);
  return sum;
}

}  // namespace kvc::core

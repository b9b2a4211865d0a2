#include "core/batch_digest.hpp"

#include <array>
#include <cstring>

#include "core/block_hasher.hpp"

namespace kvc::core {
namespace {

/// Stretches of bytes put one behind the other, and their digest; in pieces, so that a payload of any length takes the same room.
class gathered {
 public:
  explicit gathered(std::uint64_t first) noexcept : so_far_(first) {}

  /// Precondition: no more bytes than one piece has room for.
  void add(std::span<const std::byte> bytes) noexcept {
    if (bytes.size() > piece_.size() - used_) fold();
    std::memcpy(piece_.data() + used_, bytes.data(), bytes.size());
    used_ += bytes.size();
  }

  [[nodiscard]] std::uint64_t digest() noexcept {
    fold();
    return so_far_;
  }

 private:
  void fold() noexcept {
    std::memcpy(piece_.data(), &so_far_, sizeof so_far_);
    so_far_ = core::digest(std::span(piece_).first(used_));
    used_ = sizeof so_far_;
  }

  std::array<std::byte, 4'096> piece_;  // of which the first bytes are the digest of those before
  std::size_t used_ = sizeof(std::uint64_t);
  std::uint64_t so_far_;
};

}  // namespace

std::uint64_t batch_digest(std::span<const std::byte> payload) noexcept {
  using how = batch_sampling;
  if (payload.size() <= how::longest_whole) return digest(payload);
  gathered all(payload.size());
  all.add(payload.first(how::end_bytes));
  const std::size_t behind = payload.size() - how::end_bytes;
  for (std::size_t at = how::sample_step; at + how::sample_bytes <= behind; at += how::sample_step) {
    all.add(payload.subspan(at, how::sample_bytes));
  }
  all.add(payload.last(how::end_bytes));
  return all.digest();
}

}  // namespace kvc::core

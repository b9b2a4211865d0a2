// The memory that streams receive into, shared by the messages that lie in it.
#pragma once

#include <cassert>
#include <cstddef>
#include <memory>
#include <utility>
#include <vector>

namespace kvc::net {

class chunk_pool;

/// One piece of memory. Only chunk_share has any.
struct receive_chunk {
  chunk_pool* home;
  std::size_t shares;
  std::size_t capacity;
  std::unique_ptr<std::byte[]> bytes;
};

/// A share in a chunk, or in nothing: the memory stays until the last one has gone. Lane: the pool's.
class chunk_share {
 public:
  chunk_share() noexcept = default;
  chunk_share(const chunk_share& other) noexcept : chunk_(other.chunk_) {
    if (chunk_ != nullptr) ++chunk_->shares;
  }
  chunk_share(chunk_share&& other) noexcept : chunk_(std::exchange(other.chunk_, nullptr)) {}
  chunk_share& operator=(chunk_share other) noexcept {
    std::swap(chunk_, other.chunk_);
    return *this;
  }
  ~chunk_share() { reset(); }

  void reset() noexcept;
  [[nodiscard]] explicit operator bool() const noexcept { return chunk_ != nullptr; }
  /// Nobody else has a share: what lies in it may be overwritten. Precondition of all below: not empty.
  [[nodiscard]] bool is_lone() const noexcept { return chunk_->shares == 1; }
  [[nodiscard]] std::byte* data() const noexcept { return chunk_->bytes.get(); }
  [[nodiscard]] std::size_t capacity() const noexcept { return chunk_->capacity; }

 private:
  friend class chunk_pool;
  explicit chunk_share(receive_chunk* first) noexcept : chunk_(first) {}

  receive_chunk* chunk_ = nullptr;
};

/// The chunks of a lane.
///
/// Why: what the kernel copies into memory that was read a moment ago is still in the cache when it is read again, and stays out of the
/// allocator. So the chunk given back last is the next one lent, and of many streams only those that have received something have one.
/// Bounds: chunks of the usual size are kept, `most_idle` at most; larger ones are freed at once. Outlives all shares. Lane: one.
class chunk_pool {
 public:
  static constexpr std::size_t usual_bytes = 256 << 10;  ///< two long prompts of vLLM's; no other was found to be better
  static constexpr std::size_t most_idle = 16;

  chunk_pool() = default;
  chunk_pool(const chunk_pool&) = delete;
  chunk_pool& operator=(const chunk_pool&) = delete;

  /// A chunk of the usual size, whose content means nothing. Throws std::bad_alloc.
  [[nodiscard]] chunk_share take();
  /// One of exactly so many bytes. Throws std::bad_alloc.
  [[nodiscard]] chunk_share take_apart(std::size_t bytes);

 private:
  friend class chunk_share;
  void give_back(receive_chunk* chunk) noexcept;

  std::vector<std::unique_ptr<receive_chunk>> idle_;
};

inline void chunk_share::reset() noexcept {
  receive_chunk* const chunk = std::exchange(chunk_, nullptr);
  if (chunk == nullptr) return;
  assert(chunk->shares > 0);
  if (--chunk->shares == 0) chunk->home->give_back(chunk);
}

}  // namespace kvc::net

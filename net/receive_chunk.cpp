#include "net/receive_chunk.hpp"

namespace kvc::net {

chunk_share chunk_pool::take() {
  if (idle_.empty()) {
    if (idle_.capacity() == 0) idle_.reserve(most_idle);  // here, where it may fail: giving back may not
    return take_apart(usual_bytes);
  }
  receive_chunk* const chunk = idle_.back().release();
  idle_.pop_back();
  chunk->shares = 1;
  return chunk_share(chunk);
}

chunk_share chunk_pool::take_apart(std::size_t bytes) {
  auto made = std::make_unique<receive_chunk>(receive_chunk{this, 1, bytes, std::make_unique_for_overwrite<std::byte[]>(bytes)});
  return chunk_share(made.release());
}

void chunk_pool::give_back(receive_chunk* chunk) noexcept {
  std::unique_ptr<receive_chunk> done(chunk);
  if (done->capacity == usual_bytes && idle_.size() < most_idle && idle_.size() < idle_.capacity()) idle_.push_back(std::move(done));
}

}  // namespace kvc::net

// A sum that many lanes add to without meeting in one cache line.
#pragma once

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>

namespace kvc::core {

/// The calling thread's number, of no other thread before or after it.
[[nodiscard]] inline std::size_t number_of_thread() noexcept {
  static std::atomic<std::size_t> next{0};
  thread_local const std::size_t mine = next.fetch_add(1, std::memory_order_relaxed);
  return mine;
}

/// A count that goes up and down on any lane and is read now and then: reading adds up the shards and is approximate while lanes write, but
/// never below zero, although what one thread takes away may be seen before another thread's adding of it.
///
/// The first threads of a process, as many as there are shards, have a word to themselves each, and write it without a locked instruction,
/// which would wait for every write before it, to lines of new memory mostly; whoever comes later shares a word with others.
class sharded_count {
 public:
  void add(std::size_t amount) noexcept {
    const std::size_t thread = number_of_thread();
    shard& mine = shards_[thread % shards];
    if (thread < shards) {
      mine.own.store(mine.own.load(std::memory_order_relaxed) + amount, std::memory_order_relaxed);
    } else {
      mine.shared.fetch_add(amount, std::memory_order_relaxed);
    }
  }
  void subtract(std::size_t amount) noexcept { add(std::size_t{0} - amount); }
  [[nodiscard]] std::size_t sum() const noexcept {
    std::size_t all = 0;
    for (const shard& each : shards_) all += each.own.load(std::memory_order_relaxed) + each.shared.load(std::memory_order_relaxed);
    return static_cast<std::ptrdiff_t>(all) < 0 ? 0 : all;  // words may have wrapped below zero; the sum is right modulo 2^64
  }

 private:
  static constexpr std::size_t shards = 8;
  struct alignas(64) shard {
    std::atomic<std::size_t> own{0};     ///< written by the thread of this number only
    std::atomic<std::size_t> shared{0};  ///< by all later threads of this number modulo `shards`
  };

  std::array<shard, shards> shards_;
};

}  // namespace kvc::core

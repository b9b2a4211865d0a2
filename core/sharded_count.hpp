// A sum that many lanes add to without meeting in one cache line.
#pragma once

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>

namespace kvc::core {

/// The calling thread's number among the shards; threads that come later share them.
[[nodiscard]] inline std::size_t shard_of_thread() noexcept {
  static std::atomic<std::size_t> next{0};
  thread_local const std::size_t mine = next.fetch_add(1, std::memory_order_relaxed);
  return mine;
}

/// A count that goes up and down on any lane and is read now and then: reading adds up the shards and is approximate while lanes write.
class sharded_count {
 public:
  void add(std::size_t amount) noexcept { here().fetch_add(amount, std::memory_order_relaxed); }
  void subtract(std::size_t amount) noexcept { here().fetch_sub(amount, std::memory_order_relaxed); }
  [[nodiscard]] std::size_t sum() const noexcept {
    std::size_t all = 0;
    for (const shard& each : shards_) all += each.value.load(std::memory_order_relaxed);
    return all;  // a shard alone may have wrapped below zero; the sum is right modulo 2^64
  }

 private:
  static constexpr std::size_t shards = 8;
  struct alignas(64) shard {
    std::atomic<std::size_t> value{0};
  };
  [[nodiscard]] std::atomic<std::size_t>& here() noexcept { return shards_[shard_of_thread() % shards].value; }

  std::array<shard, shards> shards_;
};

}  // namespace kvc::core

#include "net/log_losses.hpp"

#include <atomic>

namespace kvc::net::log {
namespace {

std::atomic<std::uint64_t> lost{0};

}  // namespace

void set_lost_lines(std::uint64_t lines) noexcept {
  lost.store(lines, std::memory_order_relaxed);
}
std::uint64_t lost_lines() noexcept {
  return lost.load(std::memory_order_relaxed);
}

}  // namespace kvc::net::log

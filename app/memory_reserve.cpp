#include "app/memory_reserve.hpp"

#include <chrono>
#include <pthread.h>

#include "core/large_page.hpp"
#include "core/page_reserve.hpp"
#include "net/log.hpp"

namespace kvc::app {
namespace {

constexpr std::chrono::seconds news_every{2};

}  // namespace

memory_reserve::memory_reserve(std::size_t bytes)
    : pages_((bytes + core::large_page_bytes - 1) / core::large_page_bytes), is_done_(pages_ == 0) {
  if (pages_ == 0) return;
  core::keep_page_reserve(pages_);
  thread_ = std::jthread([this](const std::stop_token& stop) { fill(stop); });
  pthread_setname_np(thread_.native_handle(), "memory-reserve");
}

std::optional<std::string> memory_reserve::missing() const {
  if (is_done_.load(std::memory_order_acquire)) return std::nullopt;
  return "memory is being reserved: " + std::to_string(touched_.load(std::memory_order_relaxed) * 100 / pages_) + " %";
}

void memory_reserve::fill(const std::stop_token& stop) {
  const auto began = std::chrono::steady_clock::now();
  auto told = began;
  const auto bytes = [this] { return touched_.load(std::memory_order_relaxed) * core::large_page_bytes; };
  while (touched_.load(std::memory_order_relaxed) < pages_ && !stop.stop_requested()) {
    if (!core::grow_page_reserve()) {
      // Full before its time when the index has given pages back meanwhile, which is as good.
      if (core::page_reserve_bytes() >= pages_ * core::large_page_bytes) break;
      net::log::warn(net::log::module::app, "no memory to reserve", {{"bytes", bytes()}, {"wanted", pages_ * core::large_page_bytes}});
      break;
    }
    touched_.fetch_add(1, std::memory_order_relaxed);
    if (const auto now = std::chrono::steady_clock::now(); now - told >= news_every) {
      told = now;
      net::log::info(net::log::module::app, "reserving memory", {{"bytes", bytes()}, {"of", pages_ * core::large_page_bytes}});
    }
  }
  const auto took = std::chrono::duration_cast<std::chrono::milliseconds>(std::chrono::steady_clock::now() - began);
  net::log::info(net::log::module::app, "memory reserved", {{"bytes", bytes()}, {"took_ms", took.count()}});
  is_done_.store(true, std::memory_order_release);
}

}  // namespace kvc::app

#include "app/memory_reserve.hpp"

#include <algorithm>
#include <chrono>
#include <exception>
#include <pthread.h>
#include <utility>

#include "core/large_page.hpp"
#include "core/page_reserve.hpp"
#include "net/log.hpp"

namespace kvc::app {
namespace {

constexpr std::chrono::seconds news_every{2};
constexpr std::size_t pages_per_look = 32;  ///< so many are taken between two looks at what is left

}  // namespace

memory_reserve::memory_reserve(std::uint64_t bytes, std::function<std::uint64_t()> left)
    : pages_(static_cast<std::size_t>((bytes + core::large_page_bytes - 1) / core::large_page_bytes)),
      left_(std::move(left)),
      is_done_(pages_ == 0) {
  if (pages_ == 0) return;
  thread_ = std::jthread([this](const std::stop_token& stop) {
    try {
      fill(stop);
    } catch (const std::exception& failure) {
      net::log::warn(net::log::module::app, "no memory reserved", {{"reason", failure.what()}});
    }
    is_done_.store(true, std::memory_order_release);
  });
  pthread_setname_np(thread_.native_handle(), "memory-reserve");
}

std::optional<std::string> memory_reserve::missing() const {
  if (is_done_.load(std::memory_order_acquire)) return std::nullopt;
  return "memory is being reserved: " + std::to_string(touched_.load(std::memory_order_relaxed) * 100 / pages_) + " %";
}

std::size_t memory_reserve::pages_left() const {
  const std::uint64_t left = left_();
  return static_cast<std::size_t>((left - std::min(left, least_left)) / core::large_page_bytes);
}

void memory_reserve::fill(const std::stop_token& stop) {
  const auto began = std::chrono::steady_clock::now();
  const auto bytes = [](std::size_t pages) { return pages * core::large_page_bytes; };
  const std::size_t wanted = std::min(pages_, pages_left());  // so that no list is made for what nobody has
  core::keep_page_reserve(wanted);
  std::size_t touched = 0;
  auto told = began;
  while (touched < wanted && !stop.stop_requested()) {
    if (touched % pages_per_look == 0 && pages_left() < std::min(pages_per_look, wanted - touched)) break;
    if (!core::grow_page_reserve()) break;
    touched_.store(++touched, std::memory_order_relaxed);
    if (const auto now = std::chrono::steady_clock::now(); now - told >= news_every) {
      told = now;
      net::log::info(net::log::module::app, "reserving memory", {{"bytes", bytes(touched)}, {"of", bytes(wanted)}});
    }
  }
  const auto took = std::chrono::duration_cast<std::chrono::milliseconds>(std::chrono::steady_clock::now() - began);
  // Full before its time when the index has given pages back meanwhile, which is as good.
  const bool is_cut_short = stop.stop_requested() && touched < wanted;
  const bool is_short = !stop.stop_requested() && (wanted < pages_ || (touched < wanted && core::page_reserve_bytes() < bytes(wanted)));
  if (is_cut_short) {
    net::log::info(net::log::module::app, "reserving memory was cut short", {{"bytes", bytes(touched)}, {"of", bytes(wanted)}});
  } else if (is_short) {
    net::log::warn(net::log::module::app, "less memory reserved than index_reserve says",
                   {{"bytes", bytes(touched)}, {"of", bytes(pages_)}});
  } else {
    net::log::info(net::log::module::app, "memory reserved", {{"bytes", bytes(touched)}, {"took_ms", took.count()}});
  }
}

}  // namespace kvc::app

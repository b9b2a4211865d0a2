#include "perf/bench_first_touch.hpp"

#include <ctime>
#include <new>

#include "core/large_page.hpp"
#include "core/page_reserve.hpp"

namespace kvc::perf {
namespace {

double cpu_ms() {
  timespec now{};
  ::clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
  return static_cast<double>(now.tv_sec) * 1e3 + static_cast<double>(now.tv_nsec) / 1e6;
}

double touch_once(std::size_t bytes) {
  constexpr std::size_t small_page = 4'096;
  void* const memory = core::map_large_pages(bytes);
  if (memory == nullptr) throw std::bad_alloc();
  const double began = cpu_ms();
  for (std::size_t at = 0; at < bytes; at += small_page) static_cast<volatile char*>(memory)[at] = 1;
  const double took = cpu_ms() - began;
  core::unmap_large_pages(memory, bytes);
  return took / static_cast<double>(bytes / core::large_page_bytes);
}

}  // namespace

first_touch touch_memory(std::size_t bytes) {
  const std::size_t whole = bytes / core::large_page_bytes * core::large_page_bytes;
  const double before = touch_once(whole);
  return {.before_ms = before, .after_ms = touch_once(whole)};
}

void reserve_memory(std::size_t mebibytes) {
  const std::size_t pages = (mebibytes << 20) / core::large_page_bytes;
  core::keep_page_reserve(pages);
  for (std::size_t i = 0; i < pages && core::grow_page_reserve(); ++i) continue;
}

}  // namespace kvc::perf

#include "app/memory_trim.hpp"

#include <algorithm>
#include <exception>
#include <pthread.h>
#include <utility>

#include "net/log.hpp"

namespace kvc::app {
namespace {

constexpr std::size_t least_share = 16;  ///< of the unused bytes that a trim must give back to have been of use

}  // namespace

memory_trim::memory_trim(rules when, access arena)
    : rules_(when), arena_(std::move(arena)), thread_([this](const std::stop_token& stop) { run(stop); }) {
  pthread_setname_np(thread_.native_handle(), "memory-trim");
}

void memory_trim::run(const std::stop_token& stop) {
  unsigned periods = 1;
  std::unique_lock lock(waiting_);
  while (!wake_.wait_for(lock, stop, rules_.period * periods, [&] { return stop.stop_requested(); })) {
    try {
      periods = look_once() ? 1 : std::min(periods * 2, rules_.most_periods);
    } catch (const std::exception& failure) {
      // Sorting what is free needs memory itself, and there may be none: later, perhaps.
      net::log::warn(net::log::module::app, "memory could not be given back", {{"reason", failure.what()}});
    }
  }
}

bool memory_trim::look_once() const {
  const core::arena_usage now = arena_.look();
  if (now.mapped <= rules_.least_mapped || now.fragmentation() <= rules_.least_fragmentation) return true;
  const std::size_t given_back = arena_.trim();
  if (given_back == 0) return false;
  net::log::info(net::log::module::app, "memory given back", {{"bytes", given_back}, {"mapped_bytes", arena_.look().mapped}});
  return given_back >= (now.mapped - std::min(now.mapped, now.used_in_all())) / least_share;
}

}  // namespace kvc::app

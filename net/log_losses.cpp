#include "net/log_losses.hpp"

#include <mutex>
#include <utility>

namespace kvc::net::log {
namespace {

struct losses {
  std::mutex guard;
  std::function<std::uint64_t()> source;
  std::uint64_t last = 0;

  std::uint64_t now() {
    if (source) last = source();
    return last;
  }
};

losses& all() {
  static losses only;
  return only;
}

}  // namespace

void count_lost_lines(std::function<std::uint64_t()> lines) {
  losses& here = all();
  const std::lock_guard lock(here.guard);
  (void)here.now();
  here.source = std::move(lines);
}

std::uint64_t lost_lines() {
  losses& here = all();
  const std::lock_guard lock(here.guard);
  return here.now();
}

}  // namespace kvc::net::log

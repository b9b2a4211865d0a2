#include "net/budget_watch.hpp"

#include <chrono>

#include "net/log.hpp"

namespace kvc::net {
namespace {

using news = core::index_budget::news;
using steady = std::chrono::steady_clock;

}  // namespace

void budget_watch::look() {
  const news found = budget_->look();
  const std::lock_guard holding(telling_);
  tell_kept_back();
  if (found != news::none && lines_.take(steady::now())) tell(found);
}

void budget_watch::tell(news found) {
  const auto totals = budget_->so_far();
  switch (found) {
    case news::none: break;
    case news::begins:
      log::info(log::module::stream, "index over its budget, evicting",
                {{"budget_bytes", budget_->bytes()}, {"used_bytes", budget_->used()}});
      break;
    case news::ends:
      log::info(log::module::stream, "index within its budget again",
                {{"budget_bytes", budget_->bytes()},
                 {"used_bytes", budget_->used()},
                 {"evicted_blocks", totals.blocks},
                 {"passes", totals.passes}});
      break;
    case news::gives_up:
      log::warn(log::module::stream, "index over its budget, nothing left to evict",
                {{"budget_bytes", budget_->bytes()},
                 {"used_bytes", budget_->used()},
                 {"evicted_blocks", totals.blocks},
                 {"passes", totals.passes}});
      break;
  }
}

void budget_watch::tell_kept_back() {
  const auto lines = lines_.settle(steady::now());
  if (!lines) return;
  log::info(
      log::module::stream, "index goes over its budget and back",
      {{"budget_bytes", budget_->bytes()}, {"used_bytes", budget_->used()}, {"changes", *lines}, {"evicting", budget_->is_evicting()}});
}

void budget_watch::note_failure(std::size_t lane, const char* why) noexcept {
  try {
    const std::lock_guard holding(telling_);
    const auto now = steady::now();
    const std::uint64_t others = failures_.settle(now).value_or(0);
    if (others == 0 && !failures_.take(now)) return;
    log::error(log::module::stream, "eviction failed, tried again", {{"lane", lane}, {"reason", why}, {"not_told_before", others}});
  } catch (...) {
    // There is no memory for a line; the next failure tells.
  }
}

}  // namespace kvc::net

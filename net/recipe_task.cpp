#include "net/recipe_task.hpp"

#include <bit>
#include <cstddef>
#include <cstdint>
#include <exception>
#include <map>
#include <vector>

#include <boost/asio/post.hpp>
#include <boost/asio/redirect_error.hpp>
#include <boost/asio/steady_timer.hpp>
#include <boost/asio/this_coro.hpp>
#include <boost/asio/use_awaitable.hpp>

#include "core/recipe_watch.hpp"
#include "net/log.hpp"

namespace kvc::net {
namespace {

/// Members compared in one turn, less than a millisecond's work. Of larger partitions, windows are compared that begin elsewhere each time.
constexpr std::size_t members_per_turn = 64;

asio::awaitable<bool> is_cancelled() {
  const asio::cancellation_state now = co_await asio::this_coro::cancellation_state;
  co_return now.cancelled() != asio::cancellation_type::none;
}

void tell(const service_info& service, const core::recipe_notes::finding& now) {
  const core::registration& from = service.registration;
  // Names that differ are a warning, too: who asks by engines' hashes misses, and nothing else says so.
  const log::level severity = now.verdict > core::recipe_verdict::agrees ? log::level::warn : log::level::info;
  log::write(log::module::stream, severity, "hash recipe",
             {{"instance", from.worker.instance},
              {"tenant", from.worker.tenant},
              {"dp_rank", from.worker.rank.get()},
              {"model", from.partition.model},
              {"verdict", core::to_string(now.verdict)},
              {"shared_roots", now.shared_roots},
              {"agreeing_roots", now.agreeing_roots},
              {"shared_blocks", now.shared_inner},
              {"contradictions", now.contradicted}});
}

void compare(const std::vector<const service_info*>& members, const core::recipe_window& which) {
  const auto member = [&](std::size_t i) -> const service_info& { return *members[(which.first + i) % members.size()]; };
  std::vector<core::recipe_member> samples;
  samples.reserve(which.count);
  for (std::size_t i = 0; i < which.count; ++i) samples.push_back({member(i).registration.type, member(i).recipe->sample()});
  const auto found = core::compare_recipes(samples);
  for (std::size_t i = 0; i < which.count; ++i) {
    if (member(i).recipe->update(found[i], which.count < members.size())) tell(member(i), found[i]);
  }
}

/// Waits and compares. False when cancelled meanwhile.
asio::awaitable<bool> make_round(asio::steady_timer& pause, std::chrono::milliseconds rhythm, const core::published<fleet_view>& fleet,
                                 std::size_t round) {
  boost::system::error_code woken;
  pause.expires_after(rhythm);
  co_await pause.async_wait(asio::redirect_error(asio::use_awaitable, woken));
  if (co_await is_cancelled()) co_return false;
  const auto services = fleet.get();
  std::map<core::partition_key, std::vector<const service_info*>> partitions;
  for (const auto& each : *services) partitions[each->registration.partition].push_back(each.get());
  for (const auto& [key, members] : partitions) {
    for (const core::recipe_window& each : core::recipe_windows(members.size(), members_per_turn, round)) {
      compare(members, each);
      co_await asio::post(asio::use_awaitable);
      if (co_await is_cancelled()) co_return false;
    }
  }
  co_return true;
}

/// The first time and then ever more rarely.
void tell_of_failure(const char* why, std::uint64_t so_far) noexcept {
  if (!std::has_single_bit(so_far)) return;
  try {
    log::error(log::module::stream, "hash recipes not compared, tried again", {{"reason", why}, {"so_far", so_far}});
  } catch (...) {
    // There is no memory for a line.
  }
}

}  // namespace

asio::awaitable<void> watch_recipes(lane& home, const core::published<fleet_view>& fleet, std::chrono::milliseconds rhythm) {
  co_await asio::this_coro::reset_cancellation_state(asio::enable_total_cancellation());
  co_await asio::this_coro::throw_if_cancelled(false);
  asio::steady_timer pause(home.context);
  std::uint64_t failures = 0;
  for (std::size_t round = 0;; ++round) {
    try {
      if (!co_await make_round(pause, rhythm, fleet, round)) co_return;
    } catch (const std::exception& failed) {  // costs this round, not all that would come
      tell_of_failure(failed.what(), ++failures);
    }
  }
}

}  // namespace kvc::net

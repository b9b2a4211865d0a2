#include "perf/sim_mp_fleet.hpp"

#include <algorithm>
#include <cstdio>
#include <future>
#include <utility>

#include <boost/asio/post.hpp>
#include <boost/asio/redirect_error.hpp>
#include <boost/asio/steady_timer.hpp>
#include <boost/asio/use_awaitable.hpp>

#include "perf/sim_picture.hpp"

namespace kvc::sim {
namespace {

using steady = std::chrono::steady_clock;

steady::duration seconds(double length) {
  return std::chrono::duration_cast<steady::duration>(std::chrono::duration<double>(length));
}

constexpr std::uint32_t most_prefetches = 4;  ///< at one time

}  // namespace

mp_fleet::mp_fleet(const mp_options& chosen, mp_restarts restarts)
    : lanes_(1, catalog_),
      world_(lanes_.at(0), chosen),
      service_(world_, chosen.coordinator_host, chosen.coordinator_port, mp_patience),
      restarts_(std::move(restarts)) {
  for (std::uint32_t i = 0; i < chosen.servers; ++i) servers_.push_back(std::make_unique<mp_server>(world_, i));
}

mp_fleet::~mp_fleet() = default;

asio::awaitable<void> mp_fleet::go_on(bool with_progress, std::promise<void>& ended) {
  const finish_line line(ended);
  co_await whole(with_progress);
}

mp_outcome mp_fleet::run(bool with_progress) {
  for (const auto& each : servers_) {
    const std::string wrong = each->open(lanes_);
    if (!wrong.empty()) world_.complain(wrong);
  }
  if (world_.complaint_count() == 0) {
    std::promise<void> ended;
    lanes_.start(false);
    asio::post(world_.home.context, [this, with_progress, &ended] {
      if (with_progress) service_.stop_on_signals();
      world_.home.tasks.spawn("mp fleet", go_on(with_progress, ended));
    });
    ended.get_future().wait();
    if (!lanes_.stop(mp_patience)) world_.complain("tasks of the servers did not end");
  }
  outcome_.counts = world_.counts;
  outcome_.complaints = world_.complaints();
  outcome_.complaint_count = world_.complaint_count();
  return std::move(outcome_);
}

asio::awaitable<void> mp_fleet::set_quotas(double gigabytes) {
  for (std::uint32_t i = 0; i < world_.chosen.salts; ++i) {
    const std::string target = "/quota/" + mp_salt_segment(world_.salt_name(i));
    char body[64];
    std::snprintf(body, sizeof(body), R"({"limit_gb":%.17g})", gigabytes);
    const auto answered = co_await service_.ask("PUT", target, body);
    if (!answered) co_return;
    if (answered->status != 200) world_.complain("PUT " + target + " answered " + std::to_string(answered->status));
  }
}

double mp_fleet::chosen_quota_gb() const noexcept {
  constexpr double gib = 1024.0 * 1024.0 * 1024.0;
  return static_cast<double>(world_.chosen.quota) * static_cast<double>(world_.chosen.object_bytes) / gib;
}

asio::awaitable<void> mp_fleet::set_up() {
  for (std::uint64_t i = 0; i < world_.chosen.preload; ++i) world_.storage.put(world_.new_key(), world_.chosen.object_bytes);
  co_await set_quotas(chosen_quota_gb());
}

asio::awaitable<std::optional<double>> mp_fleet::metric(std::string name) {
  const auto page = co_await service_.ask("GET", "/metrics", {});
  if (!page || page->status != 200) co_return std::nullopt;
  co_return mp_read_metric(page->body, name);
}

/// A coordinator that tells no state of its listing is taken to be through with it once the last page was asked for.
asio::awaitable<void> mp_fleet::watch_resync() {
  if (world_.resync_is_over) co_return;
  const auto state = co_await metric("kvc_coordinator_resync_state");
  world_.resync_is_over = state ? *state >= 2 : world_.last_page_served;
  if (world_.resync_is_over) world_.last_page_served = true;  // whoever lists now does it for himself
}

void mp_fleet::maybe_prefetch() {
  if (prefetches_under_way_ >= most_prefetches || world_.random.below(4) != 0) return;
  const auto& target = servers_[world_.random.below(static_cast<std::uint32_t>(servers_.size()))];
  world_.home.tasks.spawn("mp prefetch", prefetch(target->id()));
}

/// Submits a prefetch through the coordinator and polls it to its end. Without faults nothing of it may fail.
asio::awaitable<void> mp_fleet::prefetch(std::string instance_id) {
  ++prefetches_under_way_;
  ++world_.counts.prefetches;
  net::http_client own(world_.home.context.get_executor(), world_.chosen.coordinator_host, world_.chosen.coordinator_port);
  const std::string body = R"({"instance_id":")" + instance_id + R"(","model_name":")" + world_.chosen.model +
                           R"(","world_size":4,"token_ids":[1,2,3,4],"cache_salt":""})";
  const std::uint64_t changes = world_.coordinator_changes;
  std::string target = "/cache/prefetches";
  unsigned status = 0;
  bool is_complete = false;
  std::string said;
  for (int calls = 0; calls < 5 && !is_complete; ++calls) {
    // Named before the call: temporaries of conditional expressions do not survive an await with GCC 12.
    const std::string_view method = calls == 0 ? "POST" : "GET";
    std::string sent;
    if (calls == 0) sent = body;
    const auto answered = co_await own.call(method, target, std::move(sent), mp_patience * 2);
    status = answered ? answered->status : 0;
    said = answered ? answered->body : answered.error().message();
    if (status != 200) break;
    if (calls == 0) {
      const auto id = mp_read_text(said, "request_id");
      if (!id || id->empty()) break;
      target += "/" + instance_id + "/" + *id;
    }
    is_complete = mp_read_text(said, "status") == "completed";
  }
  ++(is_complete ? world_.counts.prefetches_completed : world_.counts.prefetches_failed);
  // A coordinator that goes takes its calls along, and the next one knows nobody at first.
  const bool is_cut = status == 0 && world_.coordinator_changes != changes;
  const bool has_trouble = world_.chosen.faults != 0 || world_.coordinator_changes > 0;
  const bool is_explained = is_cut || (has_trouble && (status == 200 || status == 404 || status >= 500));
  if (!is_complete && !is_explained) world_.complain("a prefetch ended with " + std::to_string(status) + ": " + said.substr(0, 200));
  --prefetches_under_way_;
  world_.news.cancel();
}

asio::awaitable<void> mp_fleet::play_turns() {
  const auto deadline = steady::now() + mp_patience;
  std::uint32_t restarts_left = world_.chosen.turns > 2 ? restarts_.times : 0;
  for (std::uint32_t turn = 0; !world_.is_stopping; ++turn) {
    const bool has_plans = world_.counts.deletion_requests >= world_.chosen.plans;
    if (turn >= world_.chosen.turns && has_plans && world_.resync_is_over) break;
    if (turn >= world_.chosen.turns && steady::now() > deadline) {
      world_.complain(has_plans ? "the listing at the start did not end" : "the deletion requests did not come");
      break;
    }
    // What is only waited for must be able to end: a storage that grows as fast as it is listed is never listed to its end.
    const bool is_only_waiting = turn >= world_.chosen.turns;
    if (is_only_waiting) co_await service_.nap(std::chrono::milliseconds(20));
    const std::uint32_t most_events = !is_only_waiting ? 20 : world_.resync_is_over ? 2 : 0;
    // Nor does a listing end that is cut short each time, where a busy machine takes long over each try.
    if (is_only_waiting && steady::now() > deadline - mp_patience / 2) world_.is_quiet = true;
    // As likely in one of the turns that are left as in another.
    const std::uint32_t places = world_.chosen.turns - 1 > turn ? world_.chosen.turns - 1 - turn : 0;
    if (restarts_left > 0 && turn > 0 && world_.random.below(std::max(places, 1U)) < restarts_left) {
      --restarts_left;
      co_await restart_coordinator();
      if (world_.is_stopping) break;
    }
    for (const auto& each : servers_) {
      co_await each->turn(world_.random.between(0, most_events));
      if (each == servers_.front()) co_await watch_resync();
      if (world_.is_stopping) break;
    }
    maybe_prefetch();
  }
}

asio::awaitable<void> mp_fleet::play_seconds() {
  const mp_options& chosen = world_.chosen;
  const double turns_per_s = static_cast<double>(servers_.size()) / chosen.flush_s;
  const auto events = static_cast<std::uint32_t>(std::max(1.0, static_cast<double>(chosen.events_per_s) / turns_per_s));
  const auto began = steady::now();
  const auto end = chosen.seconds > 0 ? began + seconds(chosen.seconds) : steady::time_point::max();
  auto due = began;
  for (std::size_t turn = 0; !world_.is_stopping && steady::now() < end; ++turn) {
    co_await servers_[turn % servers_.size()]->turn(world_.random.between(0, 2 * events));
    co_await watch_resync();
    maybe_prefetch();
    due += seconds(1 / turns_per_s);
    while (!world_.is_stopping && steady::now() < std::min(due, end)) {
      co_await service_.nap(std::min<steady::duration>(std::min(due, end) - steady::now(), std::chrono::milliseconds(200)));
    }
  }
}

asio::awaitable<void> mp_fleet::show_progress() {
  const auto began = steady::now();
  asio::steady_timer timer(world_.home.context);
  while (is_playing_) {
    boost::system::error_code woken;
    timer.expires_after(std::chrono::seconds(1));
    co_await timer.async_wait(asio::redirect_error(asio::use_awaitable, woken));
    if (woken || !is_playing_) break;
    const mp_counts& counts = world_.counts;
    const auto so_far = std::chrono::duration_cast<std::chrono::seconds>(steady::now() - began).count();
    std::printf("%5lld s  %s events told, %s objects stored, %s deletion requests, %s pages, %s prefetches\n",
                static_cast<long long>(so_far), grouped(counts.stores + counts.lookups + counts.removals).c_str(),
                grouped(world_.storage.size()).c_str(), grouped(counts.deletion_requests).c_str(), grouped(counts.pages).c_str(),
                grouped(counts.prefetches).c_str());
    std::fflush(stdout);
  }
}

asio::awaitable<void> mp_fleet::play() {
  is_playing_ = true;
  if (world_.chosen.turns > 0) {
    co_await play_turns();
  } else {
    co_await play_seconds();
  }
  is_playing_ = false;
}

asio::awaitable<void> mp_fleet::whole(bool with_progress) {
  co_await set_up();
  if (world_.complaint_count() == 0) {
    is_playing_ = true;
    if (with_progress) world_.home.tasks.spawn("mp progress", show_progress());
    co_await play();
    co_await settle();
    co_await take_stock();
    outcome_.was_compared = co_await compare("at the end");
    if (world_.chosen.drain) co_await drain();
    if (!world_.chosen.keep) {
      for (const auto& each : servers_) co_await each->leave();
    }
  }
  world_.release.cancel();
  service_.ignore_signals();
}

}  // namespace kvc::sim

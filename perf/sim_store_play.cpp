#include "perf/sim_store_play.hpp"

#include <algorithm>
#include <cstdio>
#include <utility>

#include <boost/asio/post.hpp>
#include <boost/asio/redirect_error.hpp>
#include <boost/asio/steady_timer.hpp>
#include <boost/asio/use_awaitable.hpp>

#include "perf/sim_picture.hpp"

namespace kvc::sim {
namespace {

namespace asio = boost::asio;
using steady = std::chrono::steady_clock;

/// Keys of one probe, as routers ask for the blocks of a prompt.
constexpr std::uint32_t keys_of_probe = 32;
constexpr double turns_per_s = 20;

steady::duration seconds(double length) {
  return std::chrono::duration_cast<steady::duration>(std::chrono::duration<double>(length));
}

/// The store is filled when somebody listens, not before.
store_options filled_later(store_options chosen) {
  chosen.objects = 0;
  return chosen;
}

}  // namespace

store_play::store_play(const store_options& chosen)
    : store_(filled_later(chosen)),
      world_(store_.world()),
      service_(world_, chosen.conductor_host, chosen.conductor_port, store_patience),
      objects_to_put_(chosen.objects) {}

store_play::~store_play() = default;

asio::awaitable<void> store_play::go_on(bool with_progress, std::promise<void>& ended) {
  const finish_line line(ended);
  co_await whole(with_progress);
}

store_outcome store_play::run(bool with_progress) {
  const std::string wrong = store_.open();
  if (!wrong.empty()) {
    world_.complain(wrong);
  } else {
    std::promise<void> ended;
    store_.at_home([&](store_world& world) {
      if (with_progress) service_.stop_on_signals();
      world.home.tasks.spawn("store play", go_on(with_progress, ended));
    });
    ended.get_future().wait();
    if (!store_.stop()) world_.complain("tasks of the store did not end");
  }
  outcome_.counts = world_.counts;
  outcome_.storage = world_.storage.counts();
  for (const auto& each : world_.publishers) outcome_.replays += each->replays_served();
  outcome_.complaints = world_.complaints();
  outcome_.complaint_count = world_.complaint_count();
  return std::move(outcome_);
}

asio::awaitable<std::optional<exist_answer>> store_play::probe(std::span<const std::string> keys, bool with_prefetch) {
  std::string body = exist_body(world_.chosen, keys, with_prefetch);
  const auto answered = co_await service_.ask("POST", "/exist", std::move(body));
  if (!answered) co_return std::nullopt;
  auto told = answered->status == 200 ? read_exist(answered->body, keys.size(), with_prefetch) : std::nullopt;
  if (!told) {
    world_.complain("POST /exist answered " + std::to_string(answered->status) + ": " + answered->body.substr(0, 200));
    co_return std::nullopt;
  }
  ++world_.counts.probes;
  world_.counts.keys_probed += keys.size();
  for (const std::size_t each : told->outcomes) ++world_.counts.outcomes[each];
  for (std::size_t i = 0; i < keys.size(); ++i) {
    // What the conductor does not know while the master cannot be asked, it may not call missing.
    const bool may_be_unavailable = told->exists[i] == unavailable && world_.chosen.faults != 0;
    if (told->exists[i] != 1 && told->exists[i] != 0 && !may_be_unavailable)
      world_.complain("key '" + keys[i] + "' was answered " + std::to_string(told->exists[i]));
    if (with_prefetch && told->exists[i] != 1 && told->outcomes[i] != 0) {
      world_.complain("key '" + keys[i] + "' does not exist and is prefetched");
    }
  }
  co_return told;
}

void store_play::have_trouble() {
  if (pressed_turns_ > 0 && --pressed_turns_ == 0) world_.storage.set_pressure(false);
  if (successor_) world_.elect(*std::exchange(successor_, std::nullopt));
  store_fault fault{};
  if (!world_.happens(
          {store_fault::pressure, store_fault::leader, store_fault::drop, store_fault::segment, store_fault::client, store_fault::clear},
          fault)) {
    return;
  }
  const auto masters = static_cast<std::uint32_t>(world_.publishers.size());
  const std::uint32_t segment = world_.random.below(world_.chosen.rules.segments);
  switch (fault) {
    case store_fault::pressure:
      pressed_turns_ = world_.random.between(1, 3);
      world_.storage.set_pressure(true);
      break;
    case store_fault::leader:
      successor_ = (world_.leader().value_or(0) + 1 + world_.random.below(masters)) % masters;
      world_.depose();
      break;
    case store_fault::drop:
      for (const auto& each : world_.publishers) each->lose_next();
      break;
    case store_fault::segment:
    case store_fault::client: world_.storage.lose_segment(segment, fault == store_fault::client); break;
    default: world_.storage.remove_all(); break;
  }
  world_.tell();
}

void store_play::work(std::uint32_t events) {
  store_storage& storage = world_.storage;
  dice& random = world_.random;
  for (std::uint32_t i = 0; i < events; ++i) {
    const std::uint32_t chance = random.below(100);
    const bool is_text = world_.chosen.keys == store_key_form::text;
    const auto some = storage.near((is_text ? "b\u00e9b\u00e9/" : "") + std::to_string(random.next()));
    const auto now = world_.now();
    if (chance < 45 || !some) {
      auto made = world_.new_object();
      const bool with_disk = random.unit() < world_.chosen.disk_share;
      ever_.push_back(made.key);
      static_cast<void>(storage.put(made.key, world_.chosen.object_bytes, now, with_disk, std::move(made.block)));
    } else if (chance < 70) {
      storage.get(*some, now);
    } else if (chance < 85) {
      storage.evict(*some, now);
    } else if (chance < 92) {
      storage.copy(*some, chance < 88);
    } else {
      storage.remove(*some);
    }
  }
  world_.tell();
}

/// Some neighbours in the order of their making, as the blocks of a prompt are, and now and then one that nobody has.
asio::awaitable<void> store_play::probe_some() {
  if (ever_.empty()) co_return;
  std::vector<std::string> keys;
  const std::uint32_t first = world_.random.below(static_cast<std::uint32_t>(ever_.size()));
  for (std::size_t i = first; i < ever_.size() && keys.size() < keys_of_probe; ++i) keys.push_back(ever_[i]);
  if (world_.random.below(4) == 0) keys.push_back("nobody-has-" + std::to_string(world_.random.below(1'000)));
  const bool with_prefetch = world_.random.below(3) != 0;
  co_await probe(keys, with_prefetch);
}

asio::awaitable<void> store_play::turn(std::uint32_t events) {
  have_trouble();
  work(events);
  co_await probe_some();
}

asio::awaitable<void> store_play::play() {
  const store_options& chosen = world_.chosen;
  if (chosen.turns > 0) {
    for (std::uint32_t i = 0; i < chosen.turns && !world_.is_stopping; ++i) co_await turn(world_.random.between(0, 20));
    co_return;
  }
  const auto events = static_cast<std::uint32_t>(std::max(1.0, static_cast<double>(chosen.events_per_s) / turns_per_s));
  const auto end = chosen.seconds > 0 ? steady::now() + seconds(chosen.seconds) : steady::time_point::max();
  auto due = steady::now();
  while (!world_.is_stopping && steady::now() < end) {
    co_await turn(world_.random.between(0, 2 * events));
    due += seconds(1 / turns_per_s);
    while (!world_.is_stopping && steady::now() < std::min(due, end)) co_await service_.nap(std::min(due, end) - steady::now());
  }
}

asio::awaitable<void> store_play::show_progress() {
  const auto began = steady::now();
  asio::steady_timer timer(world_.home.context);
  while (is_playing_) {
    boost::system::error_code woken;
    timer.expires_after(std::chrono::seconds(1));
    co_await timer.async_wait(asio::redirect_error(asio::use_awaitable, woken));
    if (woken || !is_playing_) break;
    const auto so_far = std::chrono::duration_cast<std::chrono::seconds>(steady::now() - began).count();
    const store_storage::counters& counts = world_.storage.counts();
    std::printf("%5lld s  %s objects, %s put, %s offloaded, %s probed for, %s promoted, %s refused\n", static_cast<long long>(so_far),
                grouped(world_.storage.all().size()).c_str(), grouped(counts.puts).c_str(), grouped(counts.offloaded).c_str(),
                grouped(world_.counts.keys_probed).c_str(), grouped(counts.promoted).c_str(),
                grouped(counts.rejected_by_watermark + counts.rejected_by_queue).c_str());
    std::fflush(stdout);
  }
}

asio::awaitable<void> store_play::whole(bool with_progress) {
  co_await register_all();
  if (world_.complaint_count() == 0) {
    for (std::uint64_t i = 0; i < objects_to_put_; ++i) {
      auto made = world_.new_object();
      const bool with_disk = world_.random.unit() < world_.chosen.disk_share;
      ever_.push_back(made.key);
      static_cast<void>(world_.storage.put(made.key, world_.chosen.object_bytes, world_.now(), with_disk, std::move(made.block)));
      if (i % 64 == 63) world_.tell();  // no faster than a publisher's queue takes it
    }
    world_.tell();
    is_playing_ = true;
    if (with_progress) world_.home.tasks.spawn("store progress", show_progress());
    co_await play();
    is_playing_ = false;
    co_await settle();
    if (!world_.chosen.keep) co_await leave();
  }
  world_.release.cancel();
  service_.ignore_signals();
}

}  // namespace kvc::sim

// The end of a run of a stand-in store: quiet, comparison, and what is on SSD brought back.
#include <algorithm>
#include <chrono>
#include <string>
#include <utility>
#include <vector>

#include <boost/asio/use_awaitable.hpp>

#include "perf/sim_store_play.hpp"

namespace kvc::sim {
namespace {

namespace asio = boost::asio;
using steady = std::chrono::steady_clock;

constexpr std::size_t keys_at_once = 128;
constexpr std::chrono::milliseconds between_rounds{20};

std::string answered(std::int64_t told) {
  if (told == 1) return "that it exists";
  return told == 0 ? "that it does not exist" : "that it cannot say (" + std::to_string(told) + ")";
}

bool is_on_ssd_only(const store_storage::object& what) {
  return what.has(store_medium::local_disk, true) && !what.has(store_medium::memory, true);
}

}  // namespace

asio::awaitable<void> store_play::settle() {
  world_.is_quiet = true;
  world_.release.cancel();
  world_.storage.set_pressure(false);
  if (!world_.leader()) world_.elect(successor_.value_or(0));
  world_.tell();
  // What no number follows is missed by nobody: a batch behind the last one shows that it is lost.
  for (const auto& each : world_.publishers) {
    each->lose_next(false);
    each->beat();
  }
  for (const auto& each : world_.publishers) {
    for (std::string& key : each->take_lost_puts()) unheard_.insert(std::move(key));
  }
  std::ranges::sort(ever_);
  const auto repeated = std::ranges::unique(ever_);
  ever_.erase(repeated.begin(), repeated.end());
  co_await compare();
  if (world_.complaint_count() == 0 && world_.storage.chosen().offloads) co_await bring_back();
  outcome_.objects = world_.storage.all().size();
  outcome_.on_ssd_only =
      static_cast<std::uint64_t>(std::ranges::count_if(world_.storage.all(), [](const auto& each) { return is_on_ssd_only(each.second); }));
}

/// Whether what the conductor says of a key can be right.
bool store_play::agrees(const std::string& key, std::int64_t told) const {
  const store_storage::object* what = world_.storage.find(key);
  const bool is_there = what != nullptr && what->is_anywhere();
  if (told == (is_there ? 1 : 0)) return true;
  // A list with such a key in it comes apart, so that nobody can ask where it is: what is silent about it, stays unknown.
  const bool cannot_be_asked = key.find(',') != std::string::npos && (told == 0 || told == 1);
  return cannot_be_asked || (is_there && told == 0 && unheard_.contains(key));
}

/// Those of the keys about which the conductor is wrong, or unsure, at this moment.
asio::awaitable<std::vector<store_play::difference>> store_play::differing(std::span<const std::string> among) {
  std::vector<difference> wrong;
  while (!among.empty()) {
    const auto some = among.first(std::min(keys_at_once, among.size()));
    among = among.subspan(some.size());
    const auto told = co_await probe(some, false);
    if (!told) co_return wrong;
    for (std::size_t i = 0; i < some.size(); ++i) {
      if (!agrees(some[i], told->exists[i])) wrong.push_back({some[i], told->exists[i]});
    }
  }
  co_return wrong;
}

/// Waits until all that the masters have told has been applied: what is still on its way changes answers that are right already.
asio::awaitable<void> store_play::hear_out() {
  const auto deadline = steady::now() + store_patience;
  world_.tell();
  for (std::size_t master = 0; master < world_.publishers.size(); ++master) {
    const std::uint64_t wanted = world_.publishers[master]->next_seqno();
    while (world_.complaint_count() == 0) {
      const auto rows = co_await service_.ask("GET", "/services", {});
      if (rows && read_applied(rows->body, instance(master)) >= wanted) break;
      if (steady::now() > deadline) world_.complain("the conductor has not applied all that " + instance(master) + " has told");
      world_.publishers[master]->beat();
      co_await service_.nap(between_rounds);
    }
  }
}

asio::awaitable<void> store_play::compare() {
  outcome_.keys_compared = ever_.size();
  outcome_.unheard = static_cast<std::uint64_t>(
      std::ranges::count_if(unheard_, [&](const std::string& key) { return world_.storage.find(key) != nullptr; }));
  const auto deadline = steady::now() + store_patience;
  const auto goes_on = [&] { return steady::now() < deadline && world_.complaint_count() == 0; };
  std::vector<difference> wrong;
  bool is_final = false;
  while (!is_final && goes_on()) {
    co_await hear_out();
    const std::uint64_t before = world_.storage.changes();
    std::vector<std::string> open = ever_;
    while (!open.empty() && goes_on()) {
      wrong = co_await differing(open);
      open.clear();
      for (const difference& each : wrong) open.push_back(each.key);
      if (!open.empty()) co_await service_.nap(between_rounds);
    }
    // Once more over all of them: nothing that was right may have become wrong meanwhile. Unsure it may be: a busy machine keeps a master's
    // answer beyond its deadline, and then the next one decides.
    if (open.empty()) wrong = co_await differing(ever_);
    const bool is_unsure = std::ranges::any_of(wrong, [](const difference& each) { return each.told == unavailable; });
    // Promotions still end, and evict others for their room: a comparison counts when nothing has happened to the store meanwhile.
    is_final = open.empty() && !is_unsure && world_.storage.changes() == before;
  }
  const bool has_said_why = world_.complaint_count() != 0 || !wrong.empty();
  if (!is_final && !has_said_why) world_.complain("the store has not come to rest, so that nothing could be compared");
  for (const difference& each : wrong) {
    const store_storage::object* what = world_.storage.find(each.key);
    const bool is_there = what != nullptr && what->is_anywhere();
    world_.complain("key '" + each.key + "' is " + (is_there ? "" : "not ") + "in the store, and the conductor says " +
                    answered(each.told));
  }
  outcome_.was_compared = is_final && world_.complaint_count() == 0;
}

/// Asks for some of what is on SSD only, as a router would, until it is in memory.
asio::awaitable<void> store_play::bring_back() {
  const std::size_t most = std::min<std::size_t>(keys_at_once, static_cast<std::size_t>(world_.chosen.memory_objects / 16 + 1));
  std::vector<std::string> keys;
  for (const auto& [key, what] : world_.storage.all()) {
    if (keys.size() < most && is_on_ssd_only(what) && can_be_looked_up(key) && !unheard_.contains(key)) keys.push_back(key);
  }
  const auto deadline = steady::now() + store_patience;
  std::vector<std::string> left = keys;
  while (!left.empty() && steady::now() < deadline && world_.complaint_count() == 0) {
    const auto told = co_await probe(left, true);
    if (!told) co_return;
    co_await service_.nap(between_rounds);
    std::erase_if(left, [&](const std::string& key) {
      const store_storage::object* what = world_.storage.find(key);
      return what == nullptr || what->has(store_medium::memory, true);
    });
  }
  outcome_.brought = keys.size() - left.size();
  for (const std::string& key : left) world_.complain("key '" + key + "' was asked for and is still on SSD only");
}

}  // namespace kvc::sim

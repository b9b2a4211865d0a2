#include "tests/support/net/promotion_stage.hpp"

#include <algorithm>
#include <exception>
#include <iterator>

#include <boost/asio/bind_cancellation_slot.hpp>
#include <boost/asio/co_spawn.hpp>
#include <boost/test/unit_test.hpp>

#include "net/exist_wait.hpp"

namespace kvc::test {
namespace {

using namespace std::chrono_literals;
using steady = std::chrono::steady_clock;
using net::prefetch_word;
using enum core::replica_kind;
using enum core::replica_state;

constexpr std::uint32_t backends = 2;

net::store_settings settings_of_lives() {
  net::store_settings with;
  with.prefetch_dedup = 40ms;
  with.prefetch_cooldown = 15ms;
  with.prefetch_deadline = 60ms;
  with.prefetch_in_flight = 12;
  with.prefetch_concurrency = 2;
  with.reconcile_rate = 0;  // the table is the test's
  return with;
}

wanted wanted_of(core::replica_set where) {
  if (!where.has(memory, complete) && !where.has(disk, complete) && !where.has(local_disk, complete)) return wanted::missing;
  if (where.has(memory, complete)) return wanted::nothing;
  if (where.has(memory, in_flight)) return wanted::join;
  return where.has(local_disk, complete) ? wanted::start : wanted::nothing;
}

}  // namespace

promotion_stage::client::client(promotion_stage& in, net::lane& on)
    : where(on), lookup(in.objects_, in.promotions_, in.reconciler_, in.settings_.max_key_bytes) {}

promotion_stage::promotion_stage(two_lanes& in, std::uint64_t seed)
    : in_(in), seed_(seed), settings_(settings_of_lives()), ledger_(seed, settings_) {
  for (std::uint32_t i = 0; i < backends; ++i) {
    BOOST_REQUIRE(objects_.open("store " + std::to_string(i)) == i);
    for (std::size_t key = 0; key < keys_.size(); ++key) place(i, key);
    if (chance(80)) add(i);
  }
  ledger_.trouble = chance(25) ? 0 : 30;
}

void promotion_stage::act() {
  drain();
  const auto backend = static_cast<std::uint32_t>(ledger_.random() % backends);
  const std::uint64_t what = ledger_.random() % 100;
  if (what < 25) {
    place(backend, ledger_.random() % keys_.size());
  } else if (what < 55) {
    probe(backend);
  } else if (what < 60) {
    ask_for_prompt(backend);
  } else if (what < 80) {
    wait_for(backend, chance(50) ? 1 + ledger_.random() % 30 : 10'000, 150ms, some_keys());
  } else if (what < 84 && !clients_.empty()) {
    clients_[ledger_.random() % clients_.size()]->leave.emit(net::asio::cancellation_type::terminal);
  } else if (what < 89) {
    chance(60) ? add(backend) : remove(backend);
  } else if (what < 92) {
    begin_anew(backend);
  } else if (what < 94) {
    truth_.is_there = !truth_.is_there;
  }
  drain();
}

void promotion_stage::drain() {
  for (bool is_idle = false; !is_idle;) {
    is_idle = true;
    for (std::size_t i = 0; i < in_.lanes.size(); ++i) {
      while (in_.lanes.at(i).context.poll_one() != 0) {
        is_idle = false;
        hear();
        if (promotions_.in_flight() > settings_.prefetch_in_flight) ledger_.note("more on their way than may be");
      }
    }
  }
  const steady::time_point now = steady::now();
  ledger_.settle(now);
  for (const std::uint32_t each : std::exchange(lost_, {})) ledger_.lose_queue(each, now);
}

void promotion_stage::come_to_rest() {
  ledger_.trouble = 0;
  truth_.is_there = true;
  settings_.prefetch_deadline = 10s;
  for (std::uint32_t i = 0; i < backends; ++i) {
    ledger_.lose_queue(i, steady::now());  // what has waited for too long
    if (!promotions_.target(i)) add(i);
    promotions_.forget(i);  // or a store without room would rest for long
    forget(i);
  }
  drain();
}

bool promotion_stage::ask_for_rest(time_point since) {
  drain();
  constexpr std::array<core::replica_view, 1> on_disk{{{local_disk, complete, "a"}}};
  bool is_asked = false;
  for (std::uint32_t i = 0; i < backends; ++i) {
    std::vector<std::size_t> missing;
    for (std::size_t key = 0; key < keys_.size(); ++key) {
      const auto last = ledger_.last_of({i, tenant_of(key), keys_[key]});
      const bool is_new = last && last->wished_from >= since;
      if (is_new && (last->is_open() || (last->is_sure && last->is_done()))) continue;
      put(i, key, on_disk);
      missing.push_back(key);
    }
    is_asked = is_asked || !missing.empty();
    if (!missing.empty()) wait_for(i, 10'000, 10'000ms, missing);
  }
  drain();
  return is_asked || ledger_.open() != 0;
}

void promotion_stage::fall_silent() {
  ledger_.is_silent = true;
  settings_.prefetch_deadline = 600s;
  for (std::uint32_t i = 0; i < backends; ++i) {
    promotions_.forget(i);
    forget(i);
  }
  static_cast<void>(ask_for_rest(steady::now()));
  if (ledger_.open() == 0) ledger_.note("nothing was begun before the end");
}

bool promotion_stage::is_at_rest() const {
  if (promotions_.in_flight() != 0 || !clients_.empty()) return false;
  for (std::uint32_t i = 0; i < backends; ++i) {
    const auto target = promotions_.target(i);
    if (target && (target->runners != 0 || !target->queue.empty())) return false;
  }
  return true;
}

std::string promotion_stage::unrest() const {
  std::string all = std::to_string(promotions_.in_flight()) + " in flight, " + std::to_string(clients_.size()) + " waiting";
  for (std::uint32_t i = 0; i < backends; ++i) {
    const auto target = promotions_.target(i);
    if (target) all += ", runners " + std::to_string(target->runners) + ", queue " + std::to_string(target->queue.size());
  }
  return all;
}

std::vector<std::string> promotion_stage::wrongs() const {
  using service = net::promotion_service;
  std::vector<std::string> all = ledger_.wrong;
  const auto want = [&all](std::string_view what, std::uint64_t is, std::uint64_t should_be) {
    if (is != should_be) all.push_back(std::string(what) + ": " + std::to_string(is) + ", not " + std::to_string(should_be));
  };
  const auto said = [this](prefetch_word word) { return said_[static_cast<std::size_t>(word)]; };
  const std::uint64_t good = count(service::accepted) + count(service::already);
  const std::uint64_t bad = count(service::rejected_pressure) + count(service::unsupported) + count(service::gone) + count(service::failed);
  want("ends", good + bad, count(service::started));
  want("started", count(service::started), said(prefetch_word::started));
  want("joined", count(service::joined), said(prefetch_word::joined));
  want("suppressed", count(service::suppressed), said(prefetch_word::suppressed));
  want("no store", count(service::no_store), said(prefetch_word::failed));
  std::uint64_t causes = 0;
  for (const auto& each : promotions_.counts().suppressed) causes += each.load();
  want("causes", causes, count(service::suppressed));
  std::uint64_t lengths = 0;
  for (std::size_t i = 0; i < core::latency_histogram::bucket_count; ++i) lengths += promotions_.counts().latency.in_bucket(i);
  want("lengths", lengths, good);
  if (count(service::accepted) > ledger_.told_accepted) all.emplace_back("more accepted than anybody said");
  return all;
}

void promotion_stage::put(std::uint32_t backend, std::size_t key, std::span<const core::replica_view> replicas) {
  objects_.write(backend, [&](core::object_table& table) {
    static_cast<void>(table.set(table.owner(objects_.name(backend), tenant_of(key)), keys_[key], replicas, objects_.now()));
  });
}

void promotion_stage::place(std::uint32_t backend, std::size_t key) {
  std::vector<core::replica_view> all;
  if (chance(80)) all.push_back({local_disk, complete, "a"});
  if (chance(20)) all.push_back({disk, complete, "/d"});
  if (chance(20)) all.push_back({memory, chance(50) ? complete : in_flight, "a"});
  put(backend, key, all);
}

core::replica_set promotion_stage::where(std::uint32_t backend, const std::string& tenant, const std::string& key) const {
  return objects_.read(backend, [&](const core::object_table& table) {
    const std::uint32_t owner = table.find_owner(objects_.name(backend), tenant);
    const std::uint32_t object = owner == core::no_record ? core::no_record : table.find(owner, key);
    return object == core::no_record ? core::replica_set() : table.replicas(object);
  });
}

void promotion_stage::forget(std::uint32_t backend) {
  ledger_.begin_anew(backend);
  ledger_.pressed.erase(backend);
  ledger_.rests_until.erase(backend);
}

void promotion_stage::add(std::uint32_t backend) {
  constexpr std::array<std::size_t, 3> widths{1, 3, 128};
  const std::size_t width = widths[ledger_.random() % widths.size()];
  promotions_.add_target(backend, std::make_unique<moody_mover>(in_.lanes.at(0), objects_, ledger_, backend, width));
  lost_.push_back(backend);
  forget(backend);
}

void promotion_stage::remove(std::uint32_t backend) {
  if (!promotions_.target(backend)) return;
  promotions_.remove_target(backend);
  lost_.push_back(backend);
  forget(backend);
}

void promotion_stage::begin_anew(std::uint32_t backend) {
  if (chance(50)) {
    promotions_.forget(backend);
    forget(backend);
  } else {
    promotions_.forget_ends(backend);
    ledger_.begin_anew(backend);
  }
}

std::vector<std::size_t> promotion_stage::some_keys() {
  const std::string tenant = chance(30) ? "ada" : "default";
  std::vector<std::size_t> some;
  for (std::size_t left = 1 + ledger_.random() % 5; left != 0;) {
    const std::size_t key = ledger_.random() % keys_.size();
    if (tenant_of(key) != tenant) continue;
    some.push_back(key);  // perhaps once more
    --left;
  }
  return some;
}

std::shared_ptr<promotion_stage::client> promotion_stage::make_client(std::uint32_t backend, std::span<const std::size_t> keys) {
  auto made = std::make_shared<client>(*this, in_.lanes.at(ledger_.random() % 2));
  made->backend = backend;
  for (const std::size_t each : keys) made->texts.push_back(keys_[each]);
  made->request.keys.assign(made->texts.begin(), made->texts.end());
  made->request.tenant = tenant_of(keys.front()) == "ada" ? "ada" : "default";
  made->request.backend = objects_.name(backend);
  made->request.prefetch = true;
  made->request.preferred = chance(70) ? "" : "here";
  return made;
}

std::vector<wanted> promotion_stage::needs_of(const client& by) const {
  std::vector<wanted> needs;
  for (const std::string& each : by.texts) needs.push_back(wanted_of(where(by.backend, std::string(by.request.tenant), each)));
  return needs;
}

void promotion_stage::probe(std::uint32_t backend) {
  const auto by = make_client(backend, some_keys());
  const std::vector<wanted> needs = needs_of(*by);
  const bool may_be_full = promotions_.in_flight() != 0;
  by->asked = steady::now();
  by->lookup.run(by->request, by->answer);
  judge_all(*by, steady::now(), may_be_full, needs);
}

/// As queries do of a store that knows prompts only.
void promotion_stage::ask_for_prompt(std::uint32_t backend) {
  const std::string name = "prefix " + std::to_string(ledger_.random() % 3);
  const std::string_view key = name;
  constexpr std::array<std::uint32_t, 2> tokens{1, 2};
  const bool may_be_full = promotions_.in_flight() != 0;
  prefetch_word word{};
  const steady::time_point from = steady::now();
  promotions_.ask({.backend = backend, .tenant = "default", .preferred = "", .model = "m", .salt = "", .tokens = tokens},
                  std::span(&key, 1), std::span(&word, 1));
  judge({backend, "default", name}, wanted::start, word, "", from, steady::now(), may_be_full);
}

void promotion_stage::wait_for(std::uint32_t backend, std::uint64_t wait_ms, std::chrono::milliseconds longest,
                               std::span<const std::size_t> keys) {
  for (const std::string_view tenant : {"ada", "default"}) {
    std::vector<std::size_t> mine;
    std::ranges::copy_if(keys, std::back_inserter(mine), [&](std::size_t each) { return tenant_of(each) == tenant; });
    if (mine.empty()) continue;
    const auto by = make_client(backend, mine);
    by->request.wait_ms = wait_ms;
    by->longest = longest;
    clients_.push_back(by);
    net::asio::co_spawn(by->where.context, ask_and_wait(this, by),
                        net::asio::bind_cancellation_slot(by->leave.slot(), [this, by](const std::exception_ptr&) {
                          std::erase(clients_, by);  // answered, or gone away
                        }));
  }
}

net::asio::awaitable<void> promotion_stage::ask_and_wait(promotion_stage* in, std::shared_ptr<client> by) {
  in->newest_ = {by, in->needs_of(*by), in->promotions_.in_flight() != 0};
  by->asked = steady::now();
  co_await net::look_and_wait(by->where, in->promotions_, by->lookup, by->request, by->answer, by->longest);
  in->hear();  // what was answered at once
  in->check(*by);
}

/// What a probe was told that has just begun to wait.
void promotion_stage::hear() {
  if (!newest_.by) return;
  const beginning said = std::exchange(newest_, {});
  judge_all(*said.by, steady::now(), said.may_be_full, said.needs);
}

}  // namespace kvc::test

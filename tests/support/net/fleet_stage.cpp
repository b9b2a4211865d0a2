// What happens on the stage.
#include "tests/support/net/fleet_stage.hpp"

#include <algorithm>
#include <array>
#include <charconv>
#include <iterator>
#include <set>
#include <string_view>
#include <utility>
#include <variant>

#include "net/api_instances.hpp"
#include "net/api_quota.hpp"
#include "net/api_usage_events.hpp"
#include "net/coordinator_loops.hpp"
#include "net/coordinator_reading.hpp"

namespace kvc::test {
namespace {

using namespace std::chrono_literals;
using kind = fleet_news::kind;

constexpr std::size_t objects_per_page = 7;

net::coordinator_settings settings_by(std::mt19937_64& random) {
  net::coordinator_settings settings;
  settings.blend_max_chunks = 16;
  settings.resync_poll_interval = 1us;
  settings.eviction_ratio = static_cast<double>(1 + random() % 100) / 100;
  settings.trigger_watermark = static_cast<double>(1 + random() % 100) / 100;
  settings.eviction_unit = random() % 2 == 0 ? core::eviction_unit::keys : core::eviction_unit::bytes;
  return settings;
}

/// A limit as it is sent: that many bytes, exactly.
std::string in_gib(double bytes) {
  std::array<char, 32> digits{};
  return {digits.data(), std::to_chars(digits.data(), digits.data() + digits.size(), core::gib_of_bytes(bytes)).ptr};
}

std::string segment_of(const std::string& salt) {
  return salt.empty() ? "_default" : salt;
}

std::vector<std::string> registered(const lone_coordinator& by) {
  std::vector<std::string> ids;
  for (const auto& [number, each] : by.context.tables.servers.all()) ids.push_back(each.server.instance_id);
  return ids;
}

}  // namespace

fleet_stage::fleet_stage(std::uint64_t seed, bool is_faithful) : random_(seed), is_faithful_(is_faithful), settings_(settings_by(random_)) {
  for (int i = 0; i < 4; ++i) {
    fleet_server& each = servers_.emplace_back();
    each.id = "s" + std::to_string(i);
    each.has_incarnation = i % 2 == 1;
  }
  servers_.back().id += std::string(2'000, 'x');  // a batch of such a sender is worth some events
  begin(false);
}

void fleet_stage::complain(const std::string& what) {
  if (complaint_.empty()) complaint_ = what;
}

void fleet_stage::play() {
  for (int i = 0; i < 400 && complaint_.empty(); ++i) {
    now_ += std::chrono::milliseconds(random_() % 2'000);
    happen();
    for (std::uint64_t turns = random_() % 12; turns != 0; --turns) at().turn();
  }
  come_to_rest();
  compare();
}

void fleet_stage::happen() {
  fleet_server& one = some_server();
  switch (random_() % 16) {
    case 0: return join_or_leave();
    case 1:
    case 2: return change_quota();
    case 3:
    case 4: return evict();
    case 5: return at().spawn(list_usage(at(), nullptr));
    case 6:
      if (chance(20)) return begin(true);
      break;
    case 7:
      if (chance(4)) return restart(some_server());
      break;
    case 8:
      if (chance(4)) use_much(one);
      tell(one);  // and more at once
      break;
    default: break;
  }
  for (std::uint64_t i = random_() % 8; i != 0; --i) {
    one.use(static_cast<kind>(random_() % 3), static_cast<unsigned>(random_() % 40), chance(10) ? 0 : random_() % 100);
  }
  chance(4) ? tell_again(one) : tell(one);
}

/// More than is applied in one turn.
void fleet_stage::use_much(fleet_server& one) {
  const bool is_of_one_kind = chance(2);
  for (int i = 0; i < 2'500; ++i) {
    const auto what = is_of_one_kind ? kind::store : static_cast<kind>(random_() % 3);
    one.use(what, static_cast<unsigned>(random_() % 150), random_() % 100);
  }
}

void fleet_stage::restart(fleet_server& one) {
  if (is_faithful_) tell(one);
  if (!is_faithful_ || one.untold.empty()) one.restart();
}

void fleet_stage::tell(fleet_server& one) {
  if (one.has_long_request || one.untold.empty()) return;
  std::vector<fleet_batch> batches = one.next_batches();
  if (!is_faithful_ && chance(5)) {
    one.delayed.insert(one.delayed.end(), batches.begin(), batches.end());
    return;
  }
  if (!is_faithful_ && chance(10)) return;  // lost
  one.told.insert(one.told.end(), batches.begin(), batches.end());
  send(one, std::move(batches));
}

/// What is late, or has come before.
void fleet_stage::tell_again(fleet_server& one) {
  if (one.has_long_request) return;
  if (!one.delayed.empty()) {
    const auto end = one.has_incarnation ? one.delayed.end() : std::next(one.delayed.begin());
    std::vector<fleet_batch> late(one.delayed.begin(), end);
    one.delayed.erase(one.delayed.begin(), end);
    return send(one, std::move(late));
  }
  if (one.told.empty()) return;
  const bool is_any = one.has_incarnation || !is_faithful_;
  send(one, {is_any ? one.told[random_() % one.told.size()] : one.told.back()});
}

/// It is believed at once: batches of a sender come in in the order in which they were sent, and no others are about its objects.
void fleet_stage::send(fleet_server& one, std::vector<fleet_batch> batches) {
  one.has_long_request = batches.size() > 1;
  ++one.requests;
  for (const fleet_batch& each : batches) {
    if (!one.sender.admits(each, one.has_incarnation, figures_)) continue;
    for (const fleet_news& news : each.news) one.belief.hear(news);
  }
  at().spawn(record(at(), one, one.body_of(batches, random_())));
}

asio::awaitable<void> fleet_stage::record(lone_coordinator& to, fleet_server& from, std::string body) {
  using net::coordinator_endpoint;
  const auto asked = from.has_incarnation ? coordinator_endpoint::event_batches : coordinator_endpoint::usage_events;
  const auto read = std::make_unique<net::coordinator_reading>();
  const auto refused = net::read_coordinator_body(asked, body, *read);
  if (refused) {
    complain("refused: " + refused->body);
  } else if (from.has_incarnation) {
    (void)co_await net::record_event_batches(to.context, to.home, std::get<net::event_batches>(read->what));
  } else {
    (void)co_await net::record_usage_events(to.context, to.home, std::get<net::usage_batch>(read->what));
  }
  if (--from.requests == 0) from.has_long_request = false;
}

void fleet_stage::join_or_leave() {
  const std::string id = some_server().id;
  if (chance(3)) {
    (void)net::heartbeat_reply(tables(), id, now_);
  } else if (chance(3)) {
    (void)net::remove_instance_reply(tables(), id);
  } else if (chance(3)) {
    (void)tables().servers.sweep(now_);
  } else {
    join(id);
  }
}

void fleet_stage::join(const std::string& id) {
  const std::string body = R"({"ip":"127.0.0.1","http_port":1,"instance_id":")" + id + "\"}";
  net::coordinator_reading read;
  if (net::read_coordinator_body(net::coordinator_endpoint::add_instance, body, read)) return complain("a registration is refused");
  const net::http_reply reply = net::add_instance_reply(tables(), std::get<core::mp_server>(read.what), 0, 0, now_);
  if (reply.status != 200) complain(reply.body);
}

void fleet_stage::change_quota() {
  const std::string salt(fleet_salts[random_() % fleet_salts.size()]);
  const double bytes = chance(5) ? 0 : static_cast<double>(random_() % 2'000);
  if (chance(8)) {
    default_ = chance(3) ? std::optional<double>() : bytes;
    const std::string body = R"({"default_limit_gb":)" + (default_ ? in_gib(*default_) : "null") + "}";
    net::coordinator_reading read;
    const bool is_set = !net::read_coordinator_body(net::coordinator_endpoint::set_default_quota, body, read) &&
                        net::set_default_quota_reply(tables(), std::get<net::default_quota_order>(read.what)).status == 200;
    if (!is_set) complain("the default limit was not set");
  } else if (chance(4)) {
    const net::http_reply reply = net::remove_quota_reply(tables(), segment_of(salt), {});
    const bool was_there = quotas_.erase(salt) == 1;
    if ((reply.body.find("\"removed\"") != std::string::npos) != was_there) complain("a quota was removed otherwise: " + reply.body);
  } else {
    quotas_[salt] = bytes;
    set_quota(salt, bytes);
  }
}

void fleet_stage::set_quota(const std::string& salt, double bytes) {
  const std::string body = R"({"limit_gb":)" + in_gib(bytes) + "}";
  net::coordinator_reading read;
  const bool is_set = !net::read_coordinator_body(net::coordinator_endpoint::set_quota, body, read) &&
                      net::set_quota_reply(tables(), segment_of(salt), std::get<net::quota_order>(read.what)).status == 200;
  if (!is_set) complain("a quota was not set");
}

/// As the eviction loop does it, with calls that chance answers.
void fleet_stage::evict() {
  if (is_planning_ || tables().holds_eviction()) return;
  is_planning_ = true;
  at().spawn(plan(at()));
}

asio::awaitable<void> fleet_stage::plan(lone_coordinator& by) {
  core::evictor& planner = by.context.tables.evictions;
  while (planner.expire(now_)) co_await net::yield_home(by.context);
  planner.begin();
  while (!planner.step(1 + random_() % 50)) co_await net::yield_home(by.context);
  for (const auto& each : planner.take_pieces(now_)) by.spawn(have_deleted(by, each));
  is_planning_ = false;
}

asio::awaitable<void> fleet_stage::have_deleted(lone_coordinator& by, core::evictor::piece piece) {
  core::evictor& planner = by.context.tables.evictions;
  std::set<core::owned_object_key> keys;
  const auto take = [&](const core::object_key& key) {
    core::owned_object_key kept{std::string(key.hash), std::string(key.model), key.kv_rank, key.object_group, std::string(key.salt)};
    if (!keys.insert(std::move(kept)).second) complain("a key is sent twice in one piece");
  };
  for (std::optional<std::size_t> from = 0; from;) {
    from = planner.visit_keys(piece.id, *from, {.keys = 1 + random_() % 20}, take);
    if (from) co_await net::yield_home(by.context);
  }
  if (keys.size() > piece.keys) complain("a piece has more keys than it said");
  for (std::uint64_t turns = random_() % 30; turns != 0; --turns) co_await net::yield_home(by.context);
  enum : std::uint64_t { unheard, refused, some_stay, answer_lost, others };
  const std::uint64_t fate = is_kind_ ? others : random_() % 8;
  if (fate == unheard) planner.failed(piece.id);
  if (fate == refused) planner.refused(piece.id);
  if (fate == unheard || fate == refused) co_return;
  for (const core::owned_object_key& each : keys) {
    const auto [owner, object] = fleet_object(each.hash);
    fleet_server& server = *std::ranges::find(servers_, owner, &fleet_server::name);
    if (fleet_key(owner, object) != each) complain("a key is sent that is none");
    const bool stays = fate == some_stay && chance(2);
    // Of what is only believed to be stored a server tells that it has gone.
    if (!stays && (server.stored.contains(object) || !is_faithful_)) server.use(kind::remove, object, 0);
  }
  fate == answer_lost ? planner.failed(piece.id) : planner.accepted(piece.id);
}

/// A coordinator starts; `again`: in the place of one that is killed, and lists what there is.
void fleet_stage::begin(bool again) {
  coordinator_.reset();
  for (fleet_server& each : servers_) {
    each.begin_anew();
    each.belief.is_listing = again;
  }
  figures_ = {};
  is_planning_ = false;
  coordinator_ = std::make_unique<lone_coordinator>(settings_);
  for (const auto& [salt, bytes] : quotas_) set_quota(salt, bytes);
  tables().quotas.set_default_limit(default_);
  if (!again) return;
  tables().resync = core::resync_fsm::phase::waiting;
  const auto ask_server = [this, &by = at()](net::coordinator_context&, core::resync_fsm& machine) { return ask(by, machine); };
  at().home.tasks.spawn("listing", net::resync_once(at().context, ask_server));
  for (int i = 0; i < 20; ++i) at().turn();  // it begins before anything else is heard
}

/// A page of what is stored at this moment, if the server answers.
asio::awaitable<fleet_stage::listing_action> fleet_stage::ask(lone_coordinator& by, core::resync_fsm& machine) {
  for (std::uint64_t turns = random_() % 5; turns != 0; --turns) co_await net::yield_home(by.context);
  const bool is_there = by.context.tables.servers.find(machine.server()) != nullptr;
  if (!is_there || (!is_resting_ && chance(8))) co_return machine.on_failure(std::chrono::steady_clock::now(), registered(by));
  std::vector<std::pair<core::owned_object_key, std::uint64_t>> page;
  const std::string after = machine.token().value_or("");
  std::string last;
  bool has_more = false;
  for (fleet_server& each : servers_) {
    for (const auto& [object, bytes] : each.stored) {
      const std::string place = each.name() + ":" + std::to_string(1'000 + object);
      has_more = place > after && page.size() == objects_per_page;
      if (has_more) break;
      if (place <= after) continue;
      page.emplace_back(fleet_key(each.name(), object), bytes);
      each.belief.list(object, bytes);
      last = place;
    }
    if (has_more) break;
  }
  for (const auto& [key, bytes] : page) {
    if (chance(3)) co_await net::yield_home(by.context);
    (void)by.context.tables.usage.seed(key.view(), bytes);
  }
  const auto next = has_more ? std::optional<std::string_view>(last) : std::nullopt;
  co_return machine.on_page(std::chrono::steady_clock::now(), next, registered(by));
}

}  // namespace kvc::test

// Random lives of stores and of the streams that tell of them, without sockets: from payloads and answers to the table and the index.
//
// KVC_LIVES_SEED sets the first life, KVC_LIVES_SEEDS how many there are, KVC_LIVES_ACTS how often things go wrong.
#include <algorithm>
#include <array>
#include <chrono>
#include <cstdint>
#include <deque>
#include <memory>
#include <optional>
#include <random>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <boost/test/unit_test.hpp>

#include "core/catalog.hpp"
#include "net/event_encode.hpp"
#include "net/exist_lookup.hpp"
#include "net/object_shelves.hpp"
#include "net/promotion_service.hpp"
#include "net/store_reconciler.hpp"
#include "tests/support/net/odd_store.hpp"
#include "tests/support/net/told_stream.hpp"
#include "tests/support/setting.hpp"

namespace kvc::test {
BOOST_AUTO_TEST_SUITE(store_lives)

namespace {

using namespace std::chrono_literals;
using steady = std::chrono::steady_clock;

constexpr std::size_t looked_at_per_second = 1'000;

net::store_settings settings_of_lives() {
  net::store_settings with;
  with.prefetch_dedup = 50ms;
  with.prefetch_cooldown = 20ms;
  with.prefetch_deadline = 2s;
  with.reconcile_age = 125ms;
  with.reconcile_rate = looked_at_per_second;
  with.store_call_timeout = 100ms;
  return with;
}

/// A store with the masters that lead in turn, each of which publishes.
struct backend {
  backend(std::uint64_t seed, std::string named, net::event_form spoken)
      : store(seed), name(std::move(named)), form(spoken), on_the_way(1 + seed % 2) {}

  odd_store store;
  std::string name;
  net::event_form form;
  std::vector<odd_thing> things;
  std::vector<std::shared_ptr<told_stream>> masters;
  std::size_t leader = 0;
  std::vector<std::deque<std::optional<std::string>>> on_the_way;  ///< by master
  bool has_mover = false;
};

class life {
 public:
  life(two_lanes& in, std::uint64_t seed)
      : in_(in),
        seed_(seed),
        random_(seed),
        settings_(settings_of_lives()),
        objects_(core::object_table::options()),
        truth_(in.lanes.at(0), objects_, settings_),
        promotions_(in.lanes.at(0), objects_, settings_, truth_),
        lookup_(objects_, promotions_, truth_, settings_.max_key_bytes) {
    objects_.call_on_doubt([this](std::uint32_t backend, const std::string& tenant, std::vector<std::string> keys) {
      truth_.doubt(backend, tenant, std::move(keys));
    });
    objects_.call_on_loss([this](std::uint32_t backend) { promotions_.forget(backend); });
    truth_.call_on_return([this](std::uint32_t backend) { promotions_.forget_ends(backend); });
    constexpr std::array forms{net::event_form::mooncake_array, net::event_form::mooncake_master, net::event_form::mooncake_branch};
    const std::size_t count = 1 + random_() % 2;
    for (std::size_t i = 0; i < count; ++i) {
      auto& made =
          *backends_.emplace_back(std::make_unique<backend>(random_(), "store " + std::to_string(i), forms[random_() % forms.size()]));
      make_things(made, seed * 1'000 + i * 100 + 1);
      for (std::size_t master = 0; master < made.on_the_way.size(); ++master) made.masters.push_back(stream_of(made, master));
      if (chance(20)) made.store.poison = made.things[random_() % made.things.size()].key;
      if (chance(70) || made.masters.size() > 1) add_mover(made);  // without, several publishers forget for each other
    }
  }

  /// Something happens.
  void act() {
    for (const auto& each : backends_) {
      each->store.trouble = 30;
      if (chance(1)) each->store.shortages = 1;
      while (chance(60)) change_one(*each);
      for (std::size_t master = 0; master < each->masters.size(); ++master) deliver(*each, master, chance(70) ? 3 : 0);
      if (chance(2)) upheaval(*each);
      if (chance(50)) probe(*each, chance(70));
    }
  }

  /// Nothing goes wrong any more, and nothing happens.
  void come_to_rest() {
    for (const auto& each : backends_) {
      each->store.trouble = 0;
      each->store.is_away = false;
      each->store.shortages = 0;
      for (auto& [name, object] : each->store.objects) object.is_coming = false;
      std::erase_if(each->store.objects, [](const auto& one) { return !one.second.is_anywhere(); });
      if (!each->has_mover) add_mover(*each);
    }
  }

  /// Probes for some of it: what nobody has told of is found.
  void ask() { probe(*backends_[random_() % backends_.size()], false); }

  /// What is wrong, of what is there though it is not, or also of what is not there though it is; "": nothing.
  [[nodiscard]] std::string wrong(bool with_missing) {
    if (promotions_.in_flight() != 0) return "promotions that do not end";
    std::size_t known = 0;
    for (const auto& each : backends_) {
      for (std::size_t master = 0; master < each->masters.size(); ++master) {
        deliver(*each, master, each->on_the_way[master].size());
        if (each->masters[master]->is_leaving() || !each->masters[master]->is_quiet()) return "streams at work";
      }
      for (const odd_thing& one : each->things) {
        std::string found = wrong_with(*each, one, with_missing, known);
        if (!found.empty()) return each->name + ", " + one.tenant + ", " + one.key + ": " + found;
      }
    }
    const std::size_t all = objects_.sum().objects;
    return all == known ? std::string() : std::to_string(all - known) + " objects that nobody has";
  }

  [[nodiscard]] std::uint64_t seed() const { return seed_; }
  [[nodiscard]] std::size_t keys_asked() const {
    std::size_t sum = 0;
    for (const auto& each : backends_) sum += each->store.keys_asked;
    return sum;
  }
  [[nodiscard]] std::size_t stores() const { return backends_.size(); }
  [[nodiscard]] const net::store_reconciler::counters& found_out() const { return truth_.counts(); }
  [[nodiscard]] const net::promotion_service::counters& promoted() const { return promotions_.counts(); }

 private:
  bool chance(unsigned percent) { return random_() % 100 < percent; }
  [[nodiscard]] std::string model() const { return "model " + std::to_string(seed_); }

  void make_things(backend& of, std::uint64_t first) {
    const bool has_tenants = of.form != net::event_form::mooncake_array;
    for (std::uint64_t i = 0; i < 24; ++i) {
      odd_thing made{.tenant = has_tenants && i % 3 == 0 ? "ada & co" : "default", .key = {}, .block = first + i, .key_names_it = true};
      made.key = std::to_string(made.block);
      if (i % 4 == 1) {
        made.key = "obj \"" + made.key + "\\ \xC3\xBC%41+&?";
        made.key_names_it = false;
      } else if (i % 8 == 2) {
        made.key = (i % 16 == 2 ? "plain, " : "plain#") + made.key;
        made.block = 0;
      }
      of.things.push_back(std::move(made));
    }
  }

  std::shared_ptr<told_stream> stream_of(const backend& of, std::size_t master) {
    const std::string instance = of.name + " " + std::to_string(master) + " of " + std::to_string(seed_);
    auto made = std::make_shared<told_stream>(in_, master_of(of.name, instance, model(), odd_block_size), objects_);
    made->begin();
    return made;
  }

  void add_mover(backend& to) {
    const auto number = objects_.keep(to.name);
    BOOST_REQUIRE(number);
    const bool replaces = promotions_.target(*number) != nullptr;
    promotions_.add_target(*number, std::make_unique<odd_mover>(in_.lanes.at(0), to.store));
    if (replaces) objects_.doubt(*number);
    in_.lanes.at(0).tasks.spawn("reconciliation", truth_.keep_true(promotions_.target(*number)));
    to.has_mover = true;
  }
  void remove_mover(backend& from) {
    const auto number = objects_.find(from.name);
    if (!from.has_mover || !number) return;
    promotions_.remove_target(*number);
    objects_.release(*number);
    truth_.end_of(*number);
    objects_.doubt(*number);
    from.has_mover = false;
  }

  void upheaval(backend& of) {
    odd_store& store = of.store;
    switch (random_() % 8) {
      case 0:  // a segment is lost without a word
        for (auto& [name, object] : store.objects) object.memory = object.memory && chance(70);
        break;
      case 1:  // a new beginning of the store, and of its publisher
        store.objects.clear();
        of.on_the_way[of.leader].clear();
        of.on_the_way[of.leader].emplace_back();
        break;
      case 2: store.is_away = !store.is_away; break;
      case 3: of.leader = random_() % of.masters.size(); break;
      case 4: chance(50) && of.masters.size() == 1 ? remove_mover(of) : add_mover(of); break;
      case 5:  // registered anew, once nothing is left of it
        of.masters[random_() % of.masters.size()]->end();
        break;
      default: clear(of);
    }
    std::erase_if(store.objects, [](const auto& one) { return !one.second.is_anywhere(); });
  }

  void clear(backend& of) {
    const bool names_tenant = of.form == net::event_form::mooncake_branch;
    std::erase_if(of.store.objects, [&](const auto& one) { return !names_tenant || one.first.first == "default"; });
    core::cleared_event cleared;
    if (names_tenant) cleared.scope.tenant = "default";
    say(of, {std::move(cleared)});
  }

  void change_one(backend& of) {
    const odd_thing& which = of.things[random_() % of.things.size()];
    odd_object& object = of.store.objects[{which.tenant, which.key}];
    const odd_object before = object;
    switch (random_() % 8) {
      case 0:
      case 1: object.memory = true; break;
      case 2: object.is_coming = !object.memory; break;
      case 3: object.local_disk = object.local_disk || object.memory; break;
      case 4: object.disk = object.disk || object.memory; break;
      case 5: object.memory = object.is_coming = false; break;
      case 6: object.disk = object.local_disk = false; break;
      default: object = {};
    }
    object.is_coming = object.is_coming && !object.memory;
    const odd_object after = object;
    if (!after.is_anywhere()) of.store.objects.erase({which.tenant, which.key});
    if (!chance(30)) say(of, events_of(which, before, after, of.form, model()));
  }

  void say(backend& of, std::vector<core::event> events) {
    core::event_batch batch;
    batch.events = std::move(events);
    std::string payload;
    net::encode_batch(batch, in_.media, {.form = of.form, .backend_id = of.name}, payload);
    std::optional<std::string> told = std::move(payload);
    if (chance(2)) told.reset();
    of.on_the_way[of.leader].push_back(std::move(told));
  }
  void deliver(backend& of, std::size_t master, std::size_t most) {
    if (of.masters[master]->has_ended()) of.masters[master] = stream_of(of, master);
    if (of.masters[master]->is_leaving()) return;
    auto& waiting = of.on_the_way[master];
    for (; most != 0 && !waiting.empty(); --most) {
      of.masters[master]->hear(std::move(waiting.front()));
      waiting.pop_front();
    }
  }

  void probe(backend& of, bool wants_prefetch) {
    // One tenant at a time: what is not known is asked for so often, whoever probes.
    net::exist_request request;
    request.tenant = chance(50) ? "default" : "ada & co";
    request.backend = of.name;
    request.prefetch = wants_prefetch;
    for (const odd_thing& each : of.things) {
      if (each.tenant == request.tenant) request.keys.emplace_back(each.key);
    }
    if (!request.keys.empty()) lookup_.run(request, answer_);
  }

  std::string wrong_with(backend& of, const odd_thing& about, bool with_missing, std::size_t& known) {
    const auto found = of.store.objects.find({about.tenant, about.key});
    const odd_object truth = found == of.store.objects.end() ? odd_object() : found->second;
    const auto number = objects_.find(of.name);
    const core::replica_set by_table = !number ? core::replica_set() : objects_.read(*number, [&](const core::object_table& table) {
      const std::uint32_t owner = table.find_owner(of.name, about.tenant);
      const std::uint32_t object = owner == core::no_record ? core::no_record : table.find(owner, about.key);
      known += object == core::no_record ? 0U : 1U;
      return object == core::no_record ? core::replica_set() : table.replicas(object);
    });
    const bool can_be_asked_for = about.key.find(',') == std::string::npos && about.key != of.store.poison;
    if (!can_be_asked_for) return {};
    const bool is_unknown = by_table == core::replica_set();
    if (by_table != truth.set() && (with_missing || !is_unknown)) return is_unknown ? "missing in the table" : "wrong in the table";
    if (about.block == 0) return {};
    const bool has_to_be_there = with_missing && about.key_names_it;
    for (const auto& [medium, is_there] :
         {std::pair{core::medium_id::cpu, truth.memory}, std::pair{core::medium_id::disk, truth.disk || truth.local_disk}}) {
      const core::partition_key home{.tenant = about.tenant, .model = model(), .lora = "", .salt = "", .block_size = odd_block_size};
      const bool is_counted = is_held(in_.catalog, home, about.block, medium);
      if (is_counted && !is_there) return "still in the index";
      if (!is_counted && is_there && has_to_be_there) return "missing in the index";
    }
    return {};
  }

  two_lanes& in_;
  std::uint64_t seed_;
  std::mt19937_64 random_;
  net::store_settings settings_;
  net::object_shelves objects_;
  net::store_reconciler truth_;
  net::promotion_service promotions_;
  net::exist_lookup lookup_;
  net::exist_answer answer_;
  std::vector<std::unique_ptr<backend>> backends_;
};

}  // namespace

BOOST_AUTO_TEST_CASE(at_rest_the_table_and_the_index_are_what_the_stores_have) {
  const std::uint64_t first = setting("KVC_LIVES_SEED", 1);
  const std::uint64_t count = setting("KVC_LIVES_SEEDS", 12);
  const std::uint64_t acts = setting("KVC_LIVES_ACTS", 150);
  BOOST_TEST_MESSAGE("lives from " << first);
  two_lanes in(first);
  std::vector<std::unique_ptr<life>> lives;
  for (std::uint64_t seed = first; seed < first + count; ++seed) lives.push_back(std::make_unique<life>(in, seed));
  for (std::uint64_t act = 0; act < acts; ++act) {
    for (const auto& each : lives) each->act();
    const steady::time_point next = steady::now() + 8ms;
    do in.turn();
    while (steady::now() < next);
  }
  std::size_t keys_before = 0;
  for (const auto& each : lives) {
    each->come_to_rest();
    keys_before += each->keys_asked();
  }
  const steady::time_point at_rest = steady::now();
  for (const bool with_missing : {false, true}) {
    std::vector<life*> open;
    for (const auto& each : lives) open.push_back(each.get());
    const steady::time_point deadline = steady::now() + 20s;
    while (!open.empty() && steady::now() < deadline) {
      for (life* const each : open) {
        if (with_missing) each->ask();
      }
      for (int i = 0; i < 20; ++i) in.turn();
      std::erase_if(open, [&](life* each) { return each->wrong(with_missing).empty(); });
    }
    for (life* const each : open) BOOST_ERROR("life " << each->seed() << ": " << each->wrong(with_missing));
  }
  // Nobody is asked more than may be, however much there is to find out.
  const double seconds = std::chrono::duration<double>(steady::now() - at_rest).count();
  std::size_t keys_asked = 0;
  std::size_t stores = 0;
  std::uint64_t differences = 0;
  std::uint64_t started = 0;
  for (const auto& each : lives) {
    keys_asked += each->keys_asked();
    stores += each->stores();
    for (const auto& kind : each->found_out().differences) differences += kind.load();
    started += each->promoted().outcomes[net::promotion_service::started].load();
  }
  const double most = static_cast<double>(stores) * (static_cast<double>(looked_at_per_second) * seconds + 256);
  BOOST_TEST(static_cast<double>(keys_asked - keys_before) <= most);
  BOOST_TEST(differences > count);  // or nothing was tried
  BOOST_TEST((count < 10 || started != 0));
  in.end();
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace kvc::test

#include "tests/support/net/moody_mover.hpp"

#include <algorithm>
#include <array>
#include <utility>

#include <boost/asio/redirect_error.hpp>
#include <boost/asio/steady_timer.hpp>
#include <boost/asio/this_coro.hpp>
#include <boost/asio/use_awaitable.hpp>

namespace kvc::test {

using steady = std::chrono::steady_clock;
using net::promotion_outcome;
using net::promotion_result;

namespace {

constexpr std::chrono::milliseconds first_rest{500};  ///< of a store without room, which no setting says

}  // namespace

std::shared_ptr<flight> flight_ledger::last_of(const name& whose) const {
  const auto found = flights.find(whose);
  return found == flights.end() ? nullptr : found->second;
}

std::shared_ptr<flight> flight_ledger::begin(const name& whose, std::string preferred, time_point from, time_point to) {
  if (const auto before = last_of(whose); before && before->at == flight::stage::wished) {  // given up in the queue
    before->at = flight::stage::ended;
    before->ended_to = to;
  }
  auto made = std::make_shared<flight>();
  made->preferred = std::move(preferred);
  made->wished_from = from;
  made->wished_to = to;
  flights[whose] = made;
  return made;
}

void flight_ledger::settle(time_point now) {
  for (const auto& [whose, each] : flights) {
    if (each->at != flight::stage::returned) continue;
    each->at = flight::stage::ended;
    each->ended_to = now;
  }
}

void flight_ledger::lose_queue(std::uint32_t backend, time_point now) {
  for (const auto& [whose, each] : flights) {
    if (std::get<0>(whose) != backend || each->at == flight::stage::ended) continue;
    if (each->at == flight::stage::in_hand) note("a call goes on although its store has gone");
    each->at = flight::stage::ended;
    each->is_sure = false;
    each->ended_to = now;
  }
}

void flight_ledger::begin_anew(std::uint32_t backend) {
  for (const auto& [whose, each] : flights) {
    if (std::get<0>(whose) == backend && each->at == flight::stage::ended) each->is_of_today = false;
  }
}

void flight_ledger::doubt_returned() {
  for (const auto& [whose, each] : flights) {
    if (each->at == flight::stage::returned) each->is_sure = false;
  }
}

std::size_t flight_ledger::open() const {
  return static_cast<std::size_t>(std::ranges::count_if(flights, [](const auto& each) { return each.second->is_open(); }));
}

/// Whoever is asked, until the answer has gone.
struct moody_mover::call {
  call(moody_mover& by, const net::promotion_order& order) : of(by), what(order) {
    flight_ledger& ledger = of.ledger_;
    if (++of.calls_ > ledger.settings.prefetch_concurrency) ledger.note("more calls at once than may be");
    const bool is_one_wish = std::ranges::all_of(order.asked, [&order](auto each) { return each == order.asked.front(); });
    const std::size_t most = is_one_wish ? net::most_keys_per_call : of.keys_per_call_;  // a wish is not taken apart
    if (order.keys.empty() || order.keys.size() > most) ledger.note("a call of so many keys");
    if (order.asked.size() != order.keys.size()) ledger.note("not every key has its moment");
    for (std::size_t i = 0; i < order.keys.size(); ++i) {
      const auto mine = ledger.last_of({of.backend_, order.tenant, order.keys[i]});
      if (!mine || mine->at != flight::stage::wished) {
        ledger.note(order.keys[i] + (mine ? " is moved twice" : " is moved though nobody asked"));
        flights.push_back(std::make_shared<flight>());
        continue;
      }
      const bool is_its_moment = order.asked[i] >= mine->wished_from && order.asked[i] <= mine->wished_to;
      if (!is_its_moment) ledger.note(order.keys[i] + " was not asked for then");
      if (order.deadline < order.asked[i] + ledger.settings.prefetch_deadline) ledger.note(order.keys[i] + " has too little time");
      if (order.preferred != mine->preferred) ledger.note(order.keys[i] + " is to go elsewhere");
      if (!order.tokens.empty() && order.keys.size() != 1) ledger.note("a prompt with other keys");
      mine->at = flight::stage::in_hand;
      flights.push_back(mine);
    }
  }
  ~call() {
    --of.calls_;
    for (const auto& each : flights) {
      if (each->at == flight::stage::in_hand) end(*each, promotion_result::given_up, false);  // thrown, or told to leave
    }
  }
  call(const call&) = delete;
  call& operator=(const call&) = delete;

  static void end(flight& mine, promotion_result how, bool is_sure) {
    mine.at = flight::stage::returned;
    mine.what = how;
    mine.is_sure = is_sure;
    mine.ended_from = steady::now();
  }
  /// What it comes to, by what the table says now.
  void end(std::size_t place, const promotion_outcome& how, bool is_sure) {
    const bool has_come = how.what != promotion_result::accepted && of.is_in_memory(what.tenant, what.keys[place]);
    end(*flights[place], has_come ? promotion_result::already : how.what, is_sure);
    if (how.what == promotion_result::rejected_pressure) of.ledger_.pressed.insert(of.backend_);
    if (how.what == promotion_result::accepted) ++of.ledger_.told_accepted;
  }
  void tell(std::size_t place, const std::vector<promotion_outcome>& all, const net::promotion_progress& progress) {
    const bool is_first = !of.ledger_.pressed.contains(of.backend_);
    end(place, all[place], true);
    const bool is_pressed = is_first && flights[place]->what == promotion_result::rejected_pressure;
    progress(std::span(&place, 1), all);
    flights[place]->at = flight::stage::ended;
    flights[place]->ended_to = steady::now();
    if (is_pressed) of.ledger_.rests_until[of.backend_] = flights[place]->ended_from + first_rest;
  }

  moody_mover& of;
  const net::promotion_order& what;
  std::vector<std::shared_ptr<flight>> flights;
};

net::asio::awaitable<bool> moody_mover::pause(steady::duration how_long) {
  net::asio::steady_timer timer(home_.context, how_long);
  net::error_code woken;
  co_await timer.async_wait(net::asio::redirect_error(net::asio::use_awaitable, woken));
  const auto stopping = co_await net::asio::this_coro::cancellation_state;
  co_return !woken && stopping.cancelled() == net::asio::cancellation_type::none;
}

bool moody_mover::is_in_memory(const std::string& tenant, const std::string& key) const {
  return objects_.read(backend_, [&](const core::object_table& table) {
    const std::uint32_t owner = table.find_owner(objects_.name(backend_), tenant);
    const std::uint32_t object = owner == core::no_record ? core::no_record : table.find(owner, key);
    return object != core::no_record && table.replicas(object).has(core::replica_kind::memory, core::replica_state::complete);
  });
}

promotion_outcome moody_mover::decide() {
  using enum promotion_result;
  constexpr std::array bad{already, rejected_pressure, unsupported, gone, failed, failed};
  promotion_outcome made;
  made.what = ledger_.chance(ledger_.trouble) ? bad[ledger_.random() % bad.size()] : accepted;
  made.reason = "mood";
  const bool is_there = made.what == accepted || made.what == already;
  if (!is_there && made.what != gone) return made;
  made.seen.is_known = true;
  made.seen.asked = steady::now();
  if (is_there) made.seen.replicas.push_back({core::replica_kind::memory, core::replica_state::complete, "10.0.0.1:6000"});
  if (is_there) made.seen.replicas.push_back({core::replica_kind::local_disk, core::replica_state::complete, "10.0.0.1:6000"});
  return made;
}

net::asio::awaitable<std::vector<promotion_outcome>> moody_mover::promote(const net::promotion_order& order,
                                                                          const net::promotion_progress& progress) {
  call mine(*this, order);
  std::vector<promotion_outcome> outcomes(order.keys.size());
  const unsigned trouble = ledger_.trouble;
  if (ledger_.chance(trouble / 4)) throw std::bad_alloc();
  const bool says_nothing = ledger_.is_silent || ledger_.chance(trouble / 3);
  if (says_nothing) {
    if (!co_await pause(order.deadline - steady::now())) co_return outcomes;
  }
  std::vector<bool> is_told(outcomes.size());
  for (std::size_t i = 0; i < outcomes.size() && !says_nothing; ++i) {
    if (ledger_.chance(50)) {
      const bool goes_on = co_await pause(ledger_.up_to(ledger_.chance(trouble) ? 20'000 : 2'000));
      if (!goes_on) co_return outcomes;
    }
    if (steady::now() >= order.deadline) break;
    outcomes[i] = decide();
    is_told[i] = ledger_.chance(40);
    if (is_told[i]) mine.tell(i, outcomes, progress);
    if (ledger_.chance(trouble / 10)) throw std::bad_alloc();
  }
  // Fewer answers than questions.
  const std::size_t told = ledger_.chance(trouble / 3) ? ledger_.random() % outcomes.size() : outcomes.size();
  outcomes.resize(told);
  std::vector<promotion_outcome> all = outcomes;
  all.resize(order.keys.size());
  for (std::size_t i = 0; i < all.size(); ++i) {
    if (!is_told[i]) mine.end(i, all[i], true);
  }
  co_return outcomes;
}

}  // namespace kvc::test

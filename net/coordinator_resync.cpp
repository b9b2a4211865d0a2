// The listing at the start: what the machine in core/resync_fsm wants, done over HTTP.
#include <algorithm>
#include <cstdint>
#include <exception>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include <boost/asio/this_coro.hpp>

#include "core/resync_fsm.hpp"
#include "net/coordinator_loops.hpp"
#include "net/field_reading.hpp"
#include "net/log.hpp"
#include "net/mp_text.hpp"
#include "net/usage_batch.hpp"

namespace kvc::net {
namespace {

using steady = std::chrono::steady_clock;
using action = core::resync_fsm::action;

constexpr std::size_t entries_per_slice = 512;
constexpr std::size_t most_entry_bytes = 4'096;  ///< of text: a key may be some 1,000 bytes long, and adapters add members of their own
constexpr std::size_t least_page_bytes = std::size_t{1} << 20;
constexpr std::size_t most_page_bytes = std::size_t{256} << 20;

/// How long the text of a page may be; servers that send more entries than asked for are not listened to for ever.
std::size_t page_bytes(std::size_t entries) {
  return std::clamp(entries * most_entry_bytes, least_page_bytes, most_page_bytes);
}

std::vector<std::string> registered(const coordinator_context& context) {
  std::vector<std::string> ids;
  for (const auto& [number, each] : context.tables.servers.all()) ids.push_back(each.server.instance_id);
  return ids;
}

/// An entry with everything it needs; nothing when it is one to skip.
std::optional<core::usage_event> read_entry(const tape_value& entry, hash_room& room) {
  field_faults unheard;
  const field_place where("entry");
  const tape_value key_value = find_member(entry, "key");
  const tape_value size = find_member(entry, "size_bytes");
  if (!key_value.has_value() || !size.has_value()) return std::nullopt;
  const auto key = read_object_key(key_value, where, room, unheard);
  const auto bytes = read_whole(size, where, unheard, {.least = 0});
  if (!key || !bytes) return std::nullopt;
  return core::usage_event{.key = *key, .bytes = static_cast<std::uint64_t>(*bytes)};
}

/// Seeds a page's entries, in slices. False when it is no page.
asio::awaitable<bool> seed_page(coordinator_context& context, const tape_value& page) {
  const tape_value entries = find_member(page, "entries");
  if (!entries.is(tape_node::kind::array)) co_return false;
  tape_value each = entries.length() == 0 ? tape_value() : entries.first();
  hash_room room;
  for (std::uint32_t i = 0; i < entries.length(); ++i) {
    const auto entry = read_entry(each, room);
    // Refusals (bounds) are counted by the ledger.
    if (entry) static_cast<void>(context.tables.usage.seed(entry->key, entry->bytes));
    if (!entry) ++context.tables.counters.resync_bad_entries;
    if (i + 1 < entries.length()) each = each.next();
    if ((i + 1) % entries_per_slice == 0) co_await yield_home(context);
  }
  co_return true;
}

/// Asks for the page the machine wants and tells it what came.
asio::awaitable<action> ask(coordinator_context& context, core::resync_fsm& machine) {
  const core::mp_member* member = context.tables.servers.find(machine.server());
  if (member == nullptr) co_return machine.on_failure(steady::now(), registered(context));
  std::string host = member->server.ip;
  const std::uint16_t port = member->server.http_port;
  std::string target = "/cache/objects?page_size=" + std::to_string(context.settings.resync_page_size);
  if (machine.token()) target += "&page_token=" + percent_encoded(*machine.token());
  const auto answer =
      co_await context.calls.call(std::move(host), port, "GET", std::move(target), std::string(),
                                  as_duration(context.settings.call_timeout), page_bytes(context.settings.resync_page_size));
  std::string why;
  auto tree = std::make_unique<json_tree>();
  bool is_json = false;
  if (answer && answer->status / 100 == 2) is_json = co_await read_server_json(context, *tree, answer->body);
  if (!answer) {
    why = answer.error().message();
  } else if (answer->status / 100 != 2) {
    why = "status " + std::to_string(answer->status);
  } else if (!is_json) {
    why = "the page is not JSON";
  } else {
    const tape_value token = find_member(tree->root(), "next_page_token");
    const bool is_token = !token.has_value() || token.is(tape_node::kind::string);
    bool is_page = false;
    if (is_token) is_page = co_await seed_page(context, tree->root());
    if (is_page) {
      const auto next = token.has_value() ? std::optional<std::string_view>(token.text()) : std::nullopt;
      const std::string asked = machine.server();
      const std::size_t failed = machine.servers_failed();
      const action then = machine.on_page(steady::now(), next, registered(context));
      if (machine.servers_failed() > failed) {
        log::warn(log::module::fleet, "resync page failed", {{"instance", asked}, {"reason", "it names a page that has come before"}});
      }
      drop_tree(context, std::move(tree), answer->body.size());
      co_return then;
    }
    why = "this is no page of a listing";
  }
  log::warn(log::module::fleet, "resync page failed", {{"instance", machine.server()}, {"reason", why}});
  co_return machine.on_failure(steady::now(), registered(context));
}

/// What the listing does next. `failure`: tells the machine that the page it wants does not come.
enum class listing_step : std::uint8_t { start, tick, page, failure };

asio::awaitable<action> take_step(coordinator_context& context, core::resync_fsm& machine, listing_step due,
                                  const page_asker& ask_for_page) {
  switch (due) {
    case listing_step::start: context.tables.usage.begin_seeding(); co_return machine.start(steady::now(), registered(context));
    case listing_step::tick: co_return machine.on_tick(steady::now(), registered(context));
    case listing_step::failure: co_return machine.on_failure(steady::now(), registered(context));
    case listing_step::page: break;
  }
  co_return co_await ask_for_page(context, machine);
}

}  // namespace

asio::awaitable<void> resync_once(coordinator_context& context, page_asker ask_for_page) {
  co_await asio::this_coro::throw_if_cancelled(false);
  co_await asio::this_coro::reset_cancellation_state(asio::enable_total_cancellation());
  if (!ask_for_page) ask_for_page = ask;
  coordinator_tables& tables = context.tables;
  core::resync_fsm machine(steady::now(), context.random(), {.max_wait = as_duration(context.settings.resync_max_wait)});
  shortage_news news;
  listing_step due = listing_step::start;
  for (;;) {
    std::optional<action> next;
    std::exception_ptr failure;
    try {
      next = co_await take_step(context, machine, due, ask_for_page);
    } catch (...) {
      failure = std::current_exception();
    }
    if (co_await is_asked_to_end()) co_return;
    tables.resync = machine.state();
    tables.resync_pages = machine.pages();
    tables.resync_servers_failed = machine.servers_failed();
    if (next == action::finish) break;
    if (next == action::request) {
      due = listing_step::page;
      continue;
    }
    // A listing that ended here would hold the eviction back for ever. What could not be taken in hand is tried again in a while.
    if (failure) tell_failed_round("resync", failure, news);
    if (!failure) due = listing_step::tick;
    if (failure && due == listing_step::page) due = listing_step::failure;
    const bool goes_on = co_await pause(context, as_duration(context.settings.resync_poll_interval));
    if (!goes_on) co_return;
  }
  tables.usage.end_seeding();
  const bool is_complete = machine.state() == core::resync_fsm::phase::complete;
  log::info(log::module::fleet, is_complete ? "resync complete" : "resync gave up",
            {{"pages", machine.pages()}, {"servers_failed", machine.servers_failed()}, {"keys", tables.usage.counters().seeded}});
}

}  // namespace kvc::net

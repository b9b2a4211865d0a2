// The eviction loop: plan in slices, send in pieces, remember what is on its way.
#include <algorithm>
#include <deque>
#include <exception>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <boost/asio/this_coro.hpp>

#include "net/coordinator_loops.hpp"
#include "net/halving.hpp"
#include "net/json_tree.hpp"
#include "net/log.hpp"
#include "net/mp_text.hpp"

namespace kvc::net {
namespace {

using steady = std::chrono::steady_clock;

constexpr std::size_t keys_per_slice = 2'048;  ///< looked at, some 0.2 ms
constexpr core::evictor::slice written_in_a_turn{.keys = 512, .text = std::size_t{128} << 10};
constexpr std::size_t pieces_at_a_time = 4;                        ///< each is some 2 MB of text while it is sent, at most 4 MiB
constexpr std::size_t most_answer_bytes = std::size_t{256} << 10;  ///< read in a turn
constexpr std::chrono::minutes between_notices{10};

/// A plan while it is sent.
struct plan_in_hand {
  std::deque<core::evictor::piece> pieces;
  std::string instance;
  std::string host;
  std::uint16_t port = 0;
};

/// Whether the server says that it has done what it was asked: `ok` may be false under a 200.
bool is_done(const http_client::answer& answer) {
  if (answer.status / 100 != 2) return false;
  json_tree tree;
  if (tree.parse(answer.body)) return true;  // older servers may answer anything
  const tape_value ok = find_member(tree.root(), "ok");
  return !ok.is(tape_node::kind::boolean) || ok.node().bits != 0;
}

/// Whether an answer says nothing of the keys: somebody on the way, or a server that has no time.
bool is_not_now(unsigned status) {
  return status == 429 || (status >= 502 && status <= 504);
}

/// What came of a request to delete some keys.
enum class deletion : std::uint8_t {
  none,     ///< none of them is to be deleted any more: nothing was sent
  taken,    ///< the server says that it deletes them
  refused,  ///< it says that it does not
  unheard,  ///< it says nothing of them, or nothing at all
};
struct deletion_end {
  deletion what = deletion::none;
  bool may_be_a_key = false;  ///< a refusal that may be because of one of them
};

/// The keys at some places of a piece, as the body of a request; answers how many.
asio::awaitable<std::size_t> write_keys(coordinator_context& context, const core::evictor::piece& piece, const halving::part& some,
                                        std::string& body) {
  constexpr std::string_view begin = R"({"keys":[)";
  constexpr std::string_view end = "]}";
  // A text that grows is copied, megabytes in one turn; of a part it is not known how long it will be.
  const std::size_t expected = some.size() == piece.keys ? piece.text : piece.text / piece.keys * some.size();
  body.reserve(begin.size() + expected + end.size());
  body += begin;
  std::size_t keys = 0;
  for (std::optional<std::size_t> from = some.from; from && *from < some.to;) {
    const core::evictor::slice most{.keys = std::min(written_in_a_turn.keys, some.to - *from), .text = written_in_a_turn.text};
    from = context.tables.evictions.visit_keys(piece.id, *from, most, [&](const core::object_key& key) {
      if (keys++ != 0) body += ',';
      append_object_key(body, key);
    });
    if (from && *from < some.to) co_await yield_home(context);
  }
  body += end;
  co_return keys;
}

asio::awaitable<deletion_end> ask_to_delete(coordinator_context& context, const plan_in_hand& plan, const core::evictor::piece& piece,
                                            const halving::part& some) {
  coordinator_tables& tables = context.tables;
  std::string body;
  const std::size_t keys = co_await write_keys(context, piece, some, body);
  if (keys == 0) co_return deletion_end{};
  ++tables.counters.deletions_sent;
  tables.counters.keys_sent += keys;
  // The wait for a connection counts as well: the later it is sent, the more of its keys may have been stored anew.
  const steady::duration patience = as_duration(context.settings.call_timeout);
  const auto answer = co_await context.deletions.call(plan.host, plan.port, "DELETE", "/cache/objects", std::move(body), patience,
                                                      most_answer_bytes, steady::now() + patience);
  if (answer && is_done(*answer)) co_return deletion_end{.what = deletion::taken};
  ++tables.counters.deletions_failed;
  const std::string why = answer ? "status " + std::to_string(answer->status) : answer.error().message();
  log::warn(log::module::fleet, "eviction failed", {{"instance", plan.instance}, {"keys", keys}, {"reason", why}});
  if (!answer || is_not_now(answer->status)) co_return deletion_end{.what = deletion::unheard};
  co_return deletion_end{.what = deletion::refused, .may_be_a_key = may_be_for_an_entry(answer->status)};
}

/// A piece is one request, and where it is refused for what may be one key's fault as many as find the key.
asio::awaitable<void> send_piece(coordinator_context& context, const plan_in_hand& plan, core::evictor::piece piece) {
  core::evictor& evictions = context.tables.evictions;
  halving parts(piece.keys);
  // Given back together in the end: the next cycle would make other pieces of what is still being asked for here.
  std::vector<halving::part> refused;
  std::vector<halving::part> unheard;
  while (const auto some = parts.next()) {
    // Of the rest nothing is known where the server has fallen silent, or we have to leave.
    const bool is_first = some->size() == piece.keys;
    if (!unheard.empty() || (!is_first && context.is_stopping)) {
      unheard.push_back(*some);
      continue;
    }
    const deletion_end end = co_await ask_to_delete(context, plan, piece, *some);
    if (end.what == deletion::taken) parts.note_taken();
    if (end.what == deletion::unheard) unheard.push_back(*some);
    if (end.what != deletion::refused || (end.may_be_a_key && parts.halve(*some))) continue;
    refused.push_back(*some);
  }
  for (const halving::part& each : refused) {
    // What was not asked for alone although others were taken is tried again: the key to blame is set aside some day, and not these.
    const bool is_told = each.size() == 1 || !parts.has_taken();
    is_told ? evictions.refused(piece.id, each.from, each.to) : evictions.failed(piece.id, each.from, each.to);
  }
  for (const halving::part& each : unheard) evictions.failed(piece.id, each.from, each.to);
  if (parts.has_taken()) {
    evictions.accepted(piece.id);
  } else if (!refused.empty() || !unheard.empty()) {
    evictions.failed(piece.id);  // all of its keys have come back
  }
}

asio::awaitable<void> send_some(coordinator_context& context, std::shared_ptr<plan_in_hand> plan) {
  // A stop lets the piece in hand come to its end, and no other begin.
  co_await asio::this_coro::throw_if_cancelled(false);
  shortage_news news;
  while (!plan->pieces.empty() && !context.is_stopping) {
    if (co_await is_asked_to_end()) co_return;
    const core::evictor::piece piece = plan->pieces.front();
    plan->pieces.pop_front();
    std::exception_ptr failure;
    try {
      co_await send_piece(context, *plan, piece);
    } catch (...) {
      failure = std::current_exception();
    }
    if (!failure) continue;
    // Whether it was sent is not known: its keys come back at once, as those of any piece that nobody has answered.
    tell_failed_round("eviction sender", failure, news);
    context.tables.evictions.failed(piece.id);
  }
}

/// A server to evict through that is not busy with deletions already; null when none of a few that chance has picked is.
const core::mp_member* choose_server(coordinator_context& context) {
  constexpr int most_picked = 8;
  for (int picked = 0; picked < most_picked; ++picked) {
    const core::mp_member* each = context.tables.servers.pick(context.random());
    if (each == nullptr) return nullptr;
    if (context.deletions.has_room(each->server.ip, each->server.http_port)) return each;
  }
  return nullptr;
}

/// When what lasts may be told again.
struct quiet_times {
  steady::time_point alone = steady::time_point::min();
  steady::time_point set_aside = steady::time_point::min();
};

/// Says now and then that there are keys which no server deletes.
void tell_set_aside(const coordinator_tables& tables, quiet_times& quiet) {
  const std::size_t keys = tables.usage.keys_set_aside();
  if (keys == 0 || steady::now() < quiet.set_aside) return;
  quiet.set_aside = steady::now() + between_notices;
  log::warn(log::module::fleet, "keys whose deletion was asked for in vain, others are evicted first",
            {{"keys", keys}, {"asked", core::most_in_vain}});
}

/// One cycle; the sending goes on beside the next one, which leaves out what is on its way. Nothing is planned that could not be sent.
asio::awaitable<void> evict(coordinator_context& context, quiet_times& quiet) {
  coordinator_tables& tables = context.tables;
  while (tables.evictions.expire(steady::now())) co_await yield_home(context);
  const core::mp_member* chosen = choose_server(context);
  if (chosen == nullptr) {
    const bool is_alone = tables.servers.all().empty();
    ++(is_alone ? tables.counters.cycles_alone : tables.counters.cycles_held_back);
    const bool is_news = is_alone && tables.usage.size() != 0 && steady::now() >= quiet.alone;
    if (!is_news) co_return;
    quiet.alone = steady::now() + between_notices;
    log::warn(log::module::fleet, "no mp server to evict through", {{"keys", tables.usage.size()}});
    co_return;
  }
  tell_set_aside(tables, quiet);
  const auto plan = std::make_shared<plan_in_hand>();
  plan->instance = chosen->server.instance_id;
  plan->host = chosen->server.ip;
  plan->port = chosen->server.http_port;
  tables.evictions.begin();
  while (!tables.evictions.step(keys_per_slice)) co_await yield_home(context);
  if (co_await is_asked_to_end()) co_return;
  const auto pieces = tables.evictions.take_pieces(steady::now());
  if (pieces.empty()) co_return;
  plan->pieces.assign(pieces.begin(), pieces.end());
  log::info(log::module::fleet, "evicting", {{"instance", plan->instance}, {"pieces", pieces.size()}});
  for (std::size_t i = 0; i < std::min(pieces_at_a_time, pieces.size()); ++i) {
    context.home.tasks.spawn("eviction sender", send_some(context, plan));
  }
}

}  // namespace

asio::awaitable<void> eviction_loop(coordinator_context& context) {
  co_await asio::this_coro::throw_if_cancelled(false);
  co_await asio::this_coro::reset_cancellation_state(asio::enable_total_cancellation());
  quiet_times quiet;
  co_await in_rounds(context, "eviction", as_duration(context.settings.eviction_check_interval), [&]() -> asio::awaitable<void> {
    if (!context.tables.holds_eviction()) co_await evict(context, quiet);
  });
  context.is_stopping = true;
}

}  // namespace kvc::net

// What the handlers and loops of the fleet coordinator share, and the way to its lane.
#pragma once

#include <chrono>
#include <cstddef>
#include <memory>
#include <random>
#include <string>
#include <string_view>

#include <boost/asio/awaitable.hpp>
#include <boost/asio/bind_cancellation_slot.hpp>
#include <boost/asio/cancellation_signal.hpp>
#include <boost/asio/co_spawn.hpp>
#include <boost/asio/use_awaitable.hpp>

#include "net/aside.hpp"
#include "net/coordinator_settings.hpp"
#include "net/coordinator_tables.hpp"
#include "net/decimal_memo.hpp"
#include "net/json_tree.hpp"
#include "net/mp_caller.hpp"
#include "net/quota_file.hpp"
#include "net/runtime.hpp"
#include "net/sender_turns.hpp"

namespace kvc::net {

/// Lane: `settings` and `home` may be read anywhere, `aside` is for every lane, the rest belongs to the home lane.
struct coordinator_context {
  coordinator_context(lane& home_lane, coordinator_settings with)
      : home(home_lane),
        settings(std::move(with)),
        random(std::random_device{}()),
        tables(settings, random()),
        calls(home_lane.context.get_executor(), mp_caller::limits{}),
        deletions(home_lane.context.get_executor(), mp_caller::limits{.per_server = 4, .in_all = 100, .idle = 20, .waiting = 100}),
        event_turns(home_lane.context.get_executor()),
        saved_quotas(home_lane.context.get_executor(), settings.quota_file) {}
  coordinator_context(const coordinator_context&) = delete;
  coordinator_context& operator=(const coordinator_context&) = delete;

  lane& home;
  const coordinator_settings settings;
  std::mt19937_64 random;
  coordinator_tables tables;
  mp_caller calls;
  mp_caller deletions;       ///< of what is evicted, apart from all others: a server that is slow to delete is not closed to requests
  sender_turns event_turns;  ///< of POST /events and /quota/events
  quota_file saved_quotas;
  decimal_memo decimals;            ///< of usage and limits
  aside_thread aside{*home.whole};  ///< reads long bodies, for any lane
  bool is_stopping = false;         ///< nothing new is sent to MP servers
};

/// Runs `work`, a coroutine that touches the tables, on the home lane, and answers what it answers. `work` may refer to what the caller
/// keeps: the caller waits. Its cancellation stays behind: a signal may only be used on its own lane. Deadline: none, nothing is waited for
/// but the lane and what `work` itself waits for.
template <class Work>
auto on_home(coordinator_context& context, lane& here, Work work) -> decltype(work()) {
  if (&here == &context.home) co_return co_await work();
  co_return co_await asio::co_spawn(context.home.context, work(),
                                    asio::bind_cancellation_slot(asio::cancellation_slot(), asio::use_awaitable));
}

/// Reads JSON that an MP server has sent: in a turn of the caller's lane, or aside when that would take long. False when it is none. The
/// text outlives the use of the tree. Any lane.
[[nodiscard]] asio::awaitable<bool> read_server_json(coordinator_context& context, json_tree& into, std::string_view text);

/// Gives back what a text of so many bytes was read into; aside when that takes long. Any lane.
void drop_tree(coordinator_context& context, std::unique_ptr<json_tree> gone, std::size_t text_bytes);

/// Lets other work of the home lane have a turn.
[[nodiscard]] asio::awaitable<void> yield_home(coordinator_context& context);

}  // namespace kvc::net

// What becomes known of a stream: shown in its status, counted on its lane, told in the log.
#pragma once

#include <chrono>
#include <cstdint>
#include <string_view>

#include "core/counters.hpp"
#include "core/stream_fsm.hpp"
#include "net/connection_seen.hpp"
#include "net/errc.hpp"
#include "net/fleet_service.hpp"
#include "net/line_budget.hpp"

namespace kvc::net {

/// Compares what the machine says with what was shown last; one line per change of state, and one per fact, unless a stream has more to
/// say than anybody can read (see line_budget). Lane: the stream's.
class stream_news {
 public:
  /// The references outlive the object.
  stream_news(core::lane_counters& counters, const service_info& service) : counters_(&counters), service_(&service) {}

  /// State, totals and facts.
  void show(core::stream_fsm& machine);
  /// A batch has been applied or given up: its seqno may be read, and all it stands for with it.
  void note_applied(const core::stream_fsm& machine, std::chrono::steady_clock::time_point now);
  void note_connection(const connection_seen& seen);
  /// A socket could not be had; told when the reason is another than the last time.
  void cannot_open(const error_code& why);
  void has_opened() { open_failure_ = {}; }
  /// Something was thrown while the stream was at work.
  void has_failed(std::string_view why) noexcept;
  /// A request could not be sent; told when the reason is another than the last time.
  void cannot_ask(const error_code& why);
  void has_asked() { ask_failure_ = {}; }
  /// Some lines wait to be told of together, at a later `show`.
  [[nodiscard]] bool has_kept_back() const noexcept { return lines_.has_kept_back(); }
  /// The last change of state there is; once, however often it is told.
  void stop(const core::stream_fsm& machine);

 private:
  void show_state(const core::stream_fsm& machine, core::stream_state now_in);
  void show_totals(const core::stream_fsm::totals& now);
  void tell(const core::stream_fsm::fact& what);
  void tell_of_kept_back(const core::stream_fsm& machine);
  [[nodiscard]] bool may_write() noexcept { return lines_.take(std::chrono::steady_clock::now()); }

  core::lane_counters* counters_;
  const service_info* service_;
  core::stream_fsm::totals shown_;
  core::stream_state state_ = core::stream_state::joining;
  core::connection_state connection_ = core::connection_state::connecting;
  std::uint64_t disconnects_ = 0;  ///< of the present socket, told already
  bool has_stood_ = false;         ///< there has been a connection since the stream began
  error_code open_failure_;        ///< told last; none since a socket was opened
  error_code ask_failure_;         ///< told last; none since a request was sent
  line_budget lines_;
};

}  // namespace kvc::net

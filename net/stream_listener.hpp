// One publisher's stream on its lane: does what its machine says, with sockets and the index.
#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>

#include <boost/asio/awaitable.hpp>
#include <boost/asio/steady_timer.hpp>

#include "core/stream_fsm.hpp"
#include "net/break_count.hpp"
#include "net/connection_seen.hpp"
#include "net/evictable.hpp"
#include "net/failure_pause.hpp"
#include "net/fleet_service.hpp"
#include "net/handler_place.hpp"
#include "net/index_inlet.hpp"
#include "net/live_burst.hpp"
#include "net/live_socket.hpp"
#include "net/name_lookup.hpp"
#include "net/name_source.hpp"
#include "net/replay_client.hpp"
#include "net/replay_gate.hpp"
#include "net/stream_news.hpp"
#include "net/stream_sink.hpp"

namespace kvc::net {

/// A registered stream at work.
///
/// Story: core::stream_fsm decides; this class subscribes, receives, asks for replays and applies as it is told, and tells it how that
/// went. It holds the batches in hand, which stay where they were received until they have been applied. Live batches that come during a
/// replay wait in the transport: `receive_high_water` of them, then in the publisher's queue, and what that drops is a gap. Life cycle:
/// `start` once on the lane; `shut_down` ends it and removes its blocks. Lane: all members on the worker's lane.
class stream_listener final : public evictable, public index_inlet, public name_source {
 public:
  stream_listener(lane& home, zmq_engine& engine, core::catalog& catalog, core::medium_table& media, const stream_settings& settings,
                  std::shared_ptr<const service_info> service);
  /// On the lane, or when lanes have stopped.
  ~stream_listener() override;

  /// Has it work, as a task of its lane, until `shut_down` or until the lane's tasks are told to leave. On the lane, once. Throws
  /// std::bad_alloc, and has not begun then.
  static void start(const std::shared_ptr<stream_listener>& self);

  /// Queries stop seeing the worker, the stream ends, all its blocks leave. Completes when nothing is left of it. To be awaited on the
  /// worker's lane, and to be given the caller's share.
  [[nodiscard]] static asio::awaitable<void> shut_down(std::shared_ptr<stream_listener> self);

  [[nodiscard]] eviction_part evict_some(core::eviction_pass& pass, std::size_t& budget) override;
  [[nodiscard]] std::size_t bytes() const override { return sink_.workers().bytes(); }
  [[nodiscard]] std::size_t waiting_bytes() const override { return sink_.workers().waiting_bytes(); }

  void take_changes(changed_objects what) override;
  void lose_track() override;
  void names_of(const core::partition_key& home, std::span<const core::seq_hash> blocks,
                std::vector<core::named_block>& into) const override {
    if (!stopping_) sink_.names_of(home, blocks, into);
  }
  void answer(const core::name_question& asked) override;
  void follow(const core::partition& home, std::span<const core::engine_hash> names, std::vector<core::seq_hash>& blocks,
              std::size_t& budget) override {
    if (!stopping_) sink_.follow(home, names, blocks, budget);
  }

  /// Tells some more of the worker's blocks into `turn`; its end when the stream is gone. To be awaited on the worker's lane.
  [[nodiscard]] static asio::awaitable<void> tell(std::weak_ptr<stream_listener> self, std::shared_ptr<dump_turn> turn);

 private:
  using clock = std::chrono::steady_clock;

  /// The task. Keeps `self` alive.
  [[nodiscard]] static asio::awaitable<void> run(std::shared_ptr<stream_listener> self);
  /// The task was dropped: it begins anew.
  void take_up_again() noexcept;
  void start_later() noexcept;
  /// Tells those who may ask for it that it is there. To be begun again when it throws.
  void make_known();
  /// Until stopped, whatever is thrown meanwhile: nobody else would take the stream up again, or let go of it.
  [[nodiscard]] asio::awaitable<void> listen_on();
  [[nodiscard]] asio::awaitable<void> listen();
  /// Something was thrown when it had listened for so long: what is held is forgotten, and some time goes by.
  [[nodiscard]] asio::awaitable<void> begin_again(clock::duration lasted);
  /// What is left to do for `shut_down` when it has been told to stop. To be begun again when it throws.
  [[nodiscard]] asio::awaitable<void> let_go();
  /// Before another try. Ends at once, or is not begun, when the stream is to end.
  [[nodiscard]] asio::awaitable<void> rest(std::chrono::milliseconds pause);
  [[nodiscard]] asio::awaitable<void> forget();
  void end() noexcept;
  /// The endpoint with an address in it.
  [[nodiscard]] asio::awaitable<result<std::string>> located(const std::string& endpoint);
  /// One try to get a socket, and a rest when there is none.
  [[nodiscard]] asio::awaitable<void> come_by_socket();
  [[nodiscard]] asio::awaitable<error_code> find_and_open();
  [[nodiscard]] error_code open(const std::string& endpoint);
  /// Lets go of the socket, and of the address of the replay endpoint with it: the publisher may have moved.
  void drop_transport();
  /// The same when everything is read anew behind it, so that breaks of the connection that nobody has seen do not matter.
  void lose_transport() noexcept;
  void drop_transport(std::uint64_t breaks) noexcept;
  /// Sees to it that there is somebody to ask.
  [[nodiscard]] asio::awaitable<error_code> find_replay();
  [[nodiscard]] asio::awaitable<void> hear();
  /// Takes a message that is there already, without what a wait costs. False: there is none.
  [[nodiscard]] bool hear_at_once();
  /// After a reception, which may have failed.
  void take(const live_burst::arrival& what);
  /// Lets go of all messages, and of the memory for them, before it may be long until the next.
  void put_burst_back();
  [[nodiscard]] asio::awaitable<void> hear_reply();
  /// Applies what is in hand without what a wait costs, a live batch with those that came right behind it. False: there is more to do than
  /// may be done at once, for `apply_rest`.
  [[nodiscard]] bool apply_live_at_once();
  [[nodiscard]] bool apply_reply_at_once();
  [[nodiscard]] asio::awaitable<void> apply_rest();
  /// Receives what is there. How many messages, from the one in hand on, may be applied in one piece.
  [[nodiscard]] std::size_t gather();
  void note_applied(bool is_readable);
  [[nodiscard]] asio::awaitable<void> ask();
  void end_replay() noexcept;
  void catch_up();
  void apply_changes();
  /// Does something to what is held outside the stream's own coroutine. What is thrown there may have left it half done, so that it costs
  /// the stream its blocks as well, at its next step.
  template <class Work>
  void beside(Work work) noexcept {
    try {
      work();
    } catch (const std::exception&) {
      failed_beside_ = "thrown beside the stream, as for want of memory";
    }
  }
  /// After a look: what waits is taken; when nothing does, the machine hears how the connection is.
  void settle();
  /// With a message. `is_other`: it came over another connection than the one before.
  void watch_connection(bool is_other, clock::time_point now);
  const connection_seen& look(clock::time_point now);
  void tell_connection(clock::time_point now);

  break_count breaks_;
  connection_seen seen_;         ///< by the last look at this socket
  bool is_untold_ = false;       ///< the machine has not heard of that
  clock::time_point looked_at_;  ///< when that was
  clock::time_point now_;        ///< when the clock was looked at last
  bool is_quiet_ = false;        ///< the last wait ended without a message: nothing is there before the next one
  lane* lane_;
  const stream_settings* settings_;
  zmq_engine* engine_;
  std::shared_ptr<const service_info> service_;
  stream_sink sink_;
  core::stream_fsm machine_;
  stream_news news_;
  std::optional<live_socket> socket_;
  std::optional<replay_client> replay_;  ///< since its address is known
  replay_gate::visitor asking_;
  std::optional<replay_gate::pass> replay_pass_;  ///< while an answer is under way
  std::unique_ptr<live_burst> burst_;             ///< the live batches in hand, and what came behind them; null: nothing
  core::seqno live_number_{};                     ///< of the first in hand
  bool is_reply_applied_ = false;                 ///< what was begun last is a replayed batch
  std::size_t steps_this_turn_ = 0;
  std::uint64_t barriers_before_ = 0;                 ///< of the sink, when what is in hand was begun
  replay_client::reply reply_;                        ///< the replayed batch in hand
  std::shared_ptr<std::function<void()>> news_call_;  ///< of a pool: takes in what engines have told
  std::weak_ptr<stream_listener> self_;
  bool will_catch_up_ = false;           ///< in a later turn of the lane
  bool will_apply_changes_ = false;      ///< the same
  const char* failed_beside_ = nullptr;  ///< why what is held cannot be trusted, see `beside`; null: it can
  bool wants_another_socket_ = false;    ///< this one will not connect again, or perhaps to an address that is no longer the publisher's
  clock::time_point opened_at_;          ///< when the socket was opened last
  error_code replay_failure_;            ///< why the replay endpoint was not found when it was last looked for
  clock::time_point replay_failed_at_;   ///< and when that was
  const std::chrono::milliseconds lookup_pause_;  ///< before a publisher that cannot be reached is looked up anew
  name_lookup lookup_;
  failure_pause failures_;
  failure_pause binding_;                                                                 ///< while the address is taken
  asio::steady_timer pause_;                                                              ///< of `rest`
  const std::shared_ptr<handler_place> start_place_ = std::make_shared<handler_place>();  ///< of `start_later`, when there is no memory
  bool stopping_ = false;
  bool has_ended_ = false;
  asio::steady_timer ended_;
};

}  // namespace kvc::net

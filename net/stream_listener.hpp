// One publisher's stream on its lane: receive, watch the seqnos, recover what is missing, apply.
#pragma once

#include <boost/asio/awaitable.hpp>
#include <boost/asio/steady_timer.hpp>
#include <chrono>
#include <cstdint>
#include <memory>
#include <optional>
#include <string_view>

#include "core/replay_fsm.hpp"
#include "core/stream_cursor.hpp"
#include "net/evictable.hpp"
#include "net/fleet_service.hpp"
#include "net/replay_client.hpp"
#include "net/stream_sink.hpp"
#include "net/zmq_socket.hpp"

namespace kvc::net {

/// A registered stream at work.
///
/// Story: it subscribes, and learns from the first batch, or from a second of silence after the connection stands, whether it came late;
/// then it asks the replay endpoint for what it missed. Live batches wait meanwhile in the transport's bounded queue. A gap is replayed
/// before the batch behind it is applied; what cannot be had makes the stream `incomplete`, with the number of missing batches, until a clear
/// of everything or a restart makes that irrelevant; so does, before the first one goes, what the byte budget of the index takes from it. A live seqno that goes back is a restarted publisher: its blocks leave at once and it
/// is read from its beginning. A publisher that vanished and came back is asked for the last batch applied; unless it answers with the very
/// same bytes it is another incarnation.
/// Life cycle: `run` is spawned once on the lane; `shut_down` ends it and removes its blocks. Lane: all members on the worker's lane.
class stream_listener final : public evictable {
 public:
  stream_listener(lane& home, zmq_engine& engine, core::catalog& catalog, core::medium_table& media, const stream_settings& settings,
                  service_info service);

  /// Works until `shut_down`, or cancellation of either type. Keeps `self` alive.
  [[nodiscard]] static asio::awaitable<void> run(std::shared_ptr<stream_listener> self);

  /// Queries stop seeing the worker, the stream ends, all its blocks leave. Completes when nothing is left of it.
  [[nodiscard]] static asio::awaitable<void> shut_down(std::shared_ptr<stream_listener> self);

  [[nodiscard]] bool evict_some(core::eviction_pass& pass, std::size_t& budget) override;
  [[nodiscard]] std::size_t bytes() const override { return sink_.blocks().bytes(); }

  /// Tells some more of the worker's blocks into `turn`; its end when the stream is gone. To be awaited on the worker's lane.
  [[nodiscard]] static asio::awaitable<void> tell(std::weak_ptr<stream_listener> self, std::shared_ptr<dump_turn> turn);

 private:
  using clock = std::chrono::steady_clock;

  /// The newest batch that came while the publisher was surely the one whose blocks we hold.
  struct incarnation_proof {
    core::seqno number{};
    std::uint64_t digest = 0;  ///< of its payload
  };

  [[nodiscard]] asio::awaitable<void> listen();
  [[nodiscard]] bool open();
  [[nodiscard]] asio::awaitable<void> take_live();
  [[nodiscard]] asio::awaitable<void> apply_live(core::seqno number);
  [[nodiscard]] asio::awaitable<void> on_idle();
  [[nodiscard]] asio::awaitable<void> recover(core::seqno from, std::optional<core::seqno> to);
  [[nodiscard]] asio::awaitable<void> verify_incarnation();
  [[nodiscard]] asio::awaitable<bool> is_proven();
  [[nodiscard]] asio::awaitable<void> restart(std::string_view because);
  /// A restart of a publisher that was away: what is still queued on the socket may be of either, so it goes as well.
  [[nodiscard]] asio::awaitable<void> restart_afresh(std::string_view because);
  void watch_connection();
  void note_applied(core::seqno number, std::span<const std::byte> payload);
  void note_lost(std::uint64_t batches);
  void settle();
  void set_state(core::stream_state next);
  [[nodiscard]] bool can_replay() const;

  lane* lane_;
  const stream_settings* settings_;
  zmq_engine* engine_;
  service_info service_;
  stream_sink sink_;
  core::stream_cursor cursor_;
  std::optional<zmq_socket> socket_;
  std::optional<replay_client> replay_;
  zmq_message message_;
  std::optional<incarnation_proof> proof_;  ///< absent: nothing was applied while the publisher surely was the same
  std::uint64_t barriers_seen_ = 0;
  std::uint64_t disconnects_seen_ = 0;
  bool must_verify_ = false;            ///< the publisher was away since the batch of `proof_`
  bool has_answered_ = false;           ///< the replay endpoint, at least once
  bool must_catch_up_ = true;           ///< nothing is known of the time before we subscribed
  clock::time_point no_replay_before_{};  ///< the replay endpoint did not answer: leave it alone until then
  bool stopping_ = false;
  bool has_ended_ = false;
  asio::steady_timer ended_;
};

}  // namespace kvc::net

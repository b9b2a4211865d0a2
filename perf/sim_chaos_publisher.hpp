// A publisher that goes wrong in every way a seed can draw, and knows what nobody can have learnt from it.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include <boost/asio/any_io_executor.hpp>
#include <boost/asio/awaitable.hpp>
#include <boost/asio/ip/udp.hpp>

#include "net/task_scope.hpp"
#include "net/zmq_socket.hpp"
#include "perf/sim_chaos_engine.hpp"
#include "perf/sim_chaos_faults.hpp"
#include "perf/sim_chaos_ledger.hpp"

namespace kvc::sim {

namespace asio = boost::asio;

/// How a publisher is set up.
struct chaos_setup {
  enum class end_marker : std::uint8_t { usual, in_payload, none };  ///< (Source: kv-events.md section 7.)

  bool connects = false;  ///< to `endpoint`, where the conductor binds
  bool has_replay = true;
  bool is_silent = false;  ///< takes requests and never answers
  bool has_topic_in_replies = true;
  end_marker end = end_marker::usual;
  std::size_t kept = 10'000;         ///< batches, for replays; at least 1
  std::uint32_t batches = 0;         ///< of a whole run
  std::uint32_t before_joining = 0;  ///< of them, published before anybody listens
  fault_chances chances;
};

/// One publisher with its engine.
///
/// Life cycle: `open`, then `publish_early` before and `run` after it is registered, `heal`, any number of `beat`; the conductor has
/// followed when it has applied `published()`; then `conclude`. What the conductor may not have learnt is in `losses()`, by `chaos_ledger`:
/// the publisher knows what it has sent to whom, and what it has answered. A restart begins an incarnation with nothing published, held or
/// lost. Lane: one thread, that of the executor. Text, engine of the transport and scope must outlive the publisher.
class chaos_publisher {
 public:
  chaos_publisher(net::zmq_engine& transport, asio::any_io_executor executor, net::task_scope& tasks, const chaos_text& text,
                  chaos_profile profile, const chaos_setup& setup, std::uint64_t seed);

  /// Opens the sockets on `host`. Empty, or a sentence about what went wrong. Deadline: some seconds.
  [[nodiscard]] asio::awaitable<std::string> open(std::string host);

  [[nodiscard]] const std::string& endpoint() const noexcept { return endpoint_; }
  [[nodiscard]] const std::string& replay_endpoint() const noexcept { return replay_endpoint_; }  ///< empty: none
  [[nodiscard]] const chaos_setup& setup() const noexcept { return setup_; }

  /// What happens before anybody listens.
  void publish_early();

  /// Publishes the rest, in small steps. Cancellation: terminal ends it at the next step.
  [[nodiscard]] asio::awaitable<void> run();

  /// From now on nothing goes wrong; what was held back is sent.
  void heal();

  /// Publishes an empty batch, so that a loss at the end is noticed.
  void beat();

  /// The conductor has followed, or has had its time: what it may not have learnt is settled.
  void conclude();

  /// Closes everything; tasks that serve replays end.
  void close();

  /// The number after the newest batch.
  [[nodiscard]] std::uint64_t published() const noexcept { return next_; }
  [[nodiscard]] const chaos_engine& engine() const noexcept { return engine_; }
  /// As it was when it was concluded.
  [[nodiscard]] const chaos_losses& losses() const noexcept { return losses_; }
  [[nodiscard]] const chaos_ledger& ledger() const noexcept { return ledger_; }
  [[nodiscard]] const fault_counts& faults() const noexcept { return faults_; }
  [[nodiscard]] std::uint64_t restarts() const noexcept { return incarnation_; }
  /// Live batches that were held back until a replay had them.
  [[nodiscard]] std::uint64_t overtaken() const noexcept { return overtaken_; }
  /// What was published under which number and what befell it, the last lines of it; for whoever looks into a difference.
  [[nodiscard]] const std::deque<std::string>& journal() const noexcept { return journal_; }

 private:
  using message = std::vector<std::string>;
  struct parcel {
    message frames = {};
    std::optional<std::uint64_t> number = {};  ///< none: noise
    bool is_sound = true;
  };

  void publish();
  void send(parcel what);
  void send_now(const parcel& what);
  void see_who_listens();
  void keep(std::string payload);
  void note(std::string line);
  [[nodiscard]] std::string reserve_endpoint(const std::string& host);
  [[nodiscard]] std::string write(const chaos_engine::made& what);
  [[nodiscard]] bool strikes(fault what);
  [[nodiscard]] bool is_held_back(std::uint64_t number) const;
  [[nodiscard]] asio::awaitable<std::string> open_sockets(bool with_replay);
  [[nodiscard]] asio::awaitable<void> restart();
  [[nodiscard]] asio::awaitable<void> reconnect();
  [[nodiscard]] asio::awaitable<void> pause(std::chrono::microseconds length);
  [[nodiscard]] asio::awaitable<void> serve(std::shared_ptr<net::zmq_socket> socket, std::uint64_t incarnation);
  [[nodiscard]] asio::awaitable<void> answer(std::shared_ptr<net::zmq_socket> socket, std::string asker, std::uint64_t first,
                                             std::uint64_t incarnation);
  [[nodiscard]] message reply_of(std::string asker, std::uint64_t number, std::string payload) const;
  [[nodiscard]] message end_of_answer(std::string asker) const;
  [[nodiscard]] std::uint64_t oldest() const noexcept { return next_ - kept_.size(); }

  net::zmq_engine* transport_;
  asio::any_io_executor executor_;
  net::task_scope* tasks_;
  chaos_engine engine_;
  chaos_setup setup_;
  dice luck_;         ///< of what happens here; drawn in the order of batches
  dice replay_luck_;  ///< of replays, whose number and time nobody can foresee
  core::medium_table media_;
  std::shared_ptr<net::zmq_socket> live_;
  std::shared_ptr<net::zmq_socket> replay_;
  std::string endpoint_;
  std::string replay_endpoint_;
  std::vector<asio::ip::udp::socket> signs_;  ///< that these are taken, for other simulators
  std::uint64_t first_ = 0;
  std::uint64_t next_ = 0;
  std::uint64_t incarnation_ = 0;
  std::deque<std::string> kept_;  ///< payloads; the last one has number next_ - 1. Empty ones were never written
  std::deque<parcel> held_back_;
  std::uint32_t hold_back_for_ = 0;  ///< batches
  std::uint32_t done_ = 0;
  bool is_healed_ = false;
  bool is_closed_ = false;
  chaos_ledger ledger_;
  chaos_losses losses_;
  fault_counts faults_;
  std::uint64_t overtaken_ = 0;
  std::deque<std::string> journal_;
};

}  // namespace kvc::sim

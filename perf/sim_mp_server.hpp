// One stand-in MP server: what it answers to the coordinator, and what it does by itself.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include <boost/asio/awaitable.hpp>
#include <boost/asio/ip/tcp.hpp>

#include "net/http_client.hpp"
#include "net/http_server.hpp"
#include "net/http_service.hpp"
#include "perf/sim_mp_wire.hpp"
#include "perf/sim_mp_world.hpp"

namespace kvc::sim {

namespace asio = boost::asio;

/// A server of the fleet.
///
/// Life cycle: construct, `open` once, then any number of `turn` while the coordinator calls in between; `settle` until nothing is left to
/// tell; `leave`; destroyed after the runtime has stopped. A turn is what happens in a flush interval: membership, work on the storage,
/// one batch told. Work follows LMCache's server (spec coordinator-api, sections 5 and 6): a registration that is gone is renewed, a batch
/// that cannot be sent is dropped with its number, numbers begin with 1 in every process.
/// Lane: the world's. One turn at a time over all servers, so that the order of their batches is known. The world outlives it.
class mp_server final : public net::http_service {
 public:
  mp_server(mp_world& world, std::size_t index);
  ~mp_server() override;

  /// Listens on a free port. Returns a sentence about what went wrong, or an empty one. From the thread that made the runtime, before it
  /// is started.
  [[nodiscard]] std::string open(net::runtime& lanes);

  /// `events`: how many to make, about.
  [[nodiscard]] asio::awaitable<void> turn(std::uint32_t events);
  /// Is a member where it can be reached, and tells what is left. Without faults.
  [[nodiscard]] asio::awaitable<void> settle();
  [[nodiscard]] bool has_news() const noexcept { return !untold_.empty() || overtaken_.has_value(); }
  /// Reports objects as deleted with the next batch.
  void report_removals(const std::vector<core::owned_object_key>& keys);
  /// A batch that would have gone out behind the next one is lost with the coordinator it was meant for.
  void lose_delayed();
  /// Deregisters.
  [[nodiscard]] asio::awaitable<void> leave();

  [[nodiscard]] const std::string& id() const noexcept { return who_.instance_id; }

  [[nodiscard]] net::http_plan plan(const net::http_request& head) override;
  [[nodiscard]] net::http_reply answer_now(net::lane& here, const net::http_request& request, const net::http_plan& plan) override;
  [[nodiscard]] asio::awaitable<net::http_reply> answer(net::lane& here, const net::http_request& request,
                                                        const net::http_plan& plan) override;

 private:
  using time_point = std::chrono::steady_clock::time_point;
  struct batch {
    std::uint64_t number = 0;
    std::vector<mp_event> events;
  };

  // What it does (sim_mp_server.cpp).
  void new_identity();
  void have_trouble();
  [[nodiscard]] asio::awaitable<void> be_a_member();
  void work(std::uint32_t events);
  void tell_of(mp_event::kind what, core::owned_object_key key, std::uint64_t bytes);
  [[nodiscard]] batch take_batch();
  [[nodiscard]] asio::awaitable<void> flush(bool with_faults);
  [[nodiscard]] asio::awaitable<void> post(batch told, bool is_repeat);
  [[nodiscard]] asio::awaitable<std::optional<net::http_client::answer>> call(std::string_view method, std::string target,
                                                                              std::string body);

  // What it answers (sim_mp_answers.cpp).
  [[nodiscard]] net::http_reply carry_out(const net::http_request& request, bool is_partial);
  [[nodiscard]] net::http_reply delete_objects(std::string_view body, bool is_partial);
  [[nodiscard]] net::http_reply list_objects(const net::http_request& request, bool is_partial);
  [[nodiscard]] net::http_reply submit_prefetch(std::string_view body);
  [[nodiscard]] net::http_reply poll_prefetch(std::string_view request_id);
  [[nodiscard]] asio::awaitable<void> leave_meanwhile(std::string instance_id);

  mp_world& world_;
  const std::size_t index_;
  const mp_dialect dialect_;
  mp_identity who_;
  std::uint16_t port_ = 0;
  asio::ip::tcp::acceptor deaf_;  ///< bound, but never listening: connections to it are refused
  bool is_member_ = false;
  std::uint32_t deaf_turns_ = 0;  ///< as many turns the registered port is the deaf one
  time_point heartbeat_due_{};
  std::uint64_t next_number_ = 1;
  std::vector<mp_event> untold_;
  std::optional<batch> overtaken_;              ///< goes out behind the next one
  std::map<std::string, unsigned> prefetches_;  ///< polls left until each is complete
  std::uint64_t prefetch_count_ = 0;
  net::http_client coordinator_;
  std::unique_ptr<net::http_server> http_;
};

}  // namespace kvc::sim

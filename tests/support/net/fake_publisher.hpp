// An engine's publishing side for tests: PUB and replay ROUTER on loopback, with the ways they go wrong.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>

#include <boost/asio/awaitable.hpp>
#include <boost/asio/io_context.hpp>

#include "net/zmq_socket.hpp"

namespace kvc::test {

/// Publishes payloads under its own seqnos and answers replays from its buffer while the test's io_context runs.
/// `stop` closes both sockets, as a dying process does; a new publisher on the same endpoints is a restarted engine.
class fake_publisher {
 public:
  struct options {
    std::string endpoint = "tcp://127.0.0.1:*";
    std::string replay_endpoint = "tcp://127.0.0.1:*";
    bool four_frames = true;        ///< replay replies with a topic frame, as vLLM >= 0.26
    bool answers = true;            ///< false: replay requests are read and left unanswered
    bool marks_end = true;          ///< false: the end marker is never sent
    bool marks_end_last = false;    ///< true: the end marker stands in the payload's place
    bool connects = false;          ///< the live socket connects to `endpoint`, which the subscriber binds
    std::string topic = {};         ///< of live batches, and of replies with four frames, whose end has none
    int send_high_water = 100'000;  ///< live messages kept for a slow subscriber; what comes after is dropped
  };

  fake_publisher(net::zmq_engine& engine, boost::asio::io_context& context, options with);
  ~fake_publisher();

  [[nodiscard]] const std::string& endpoint() const { return endpoint_; }
  [[nodiscard]] const std::string& replay_endpoint() const { return replay_endpoint_; }

  /// Sends a payload live and keeps it for replays. Answers its seqno.
  std::uint64_t publish(std::string payload);
  /// Takes a seqno and keeps the payload for replays, but sends nothing: the subscriber will see a gap.
  std::uint64_t lose_live(std::string payload);
  /// Sends other bytes live than it keeps: spoilt on the way.
  std::uint64_t publish_spoilt(std::string payload, const std::string& spoilt);
  /// From now on replay requests are read and left unanswered, or answered again.
  void answer(bool does);
  /// Takes a seqno that nobody will ever see.
  std::uint64_t lose_forever();
  /// The next `times` replays leave this batch out.
  void omit_from_replay(std::uint64_t seqno, int times) { omitted_[seqno] = times; }
  /// Sends frames as they are.
  void send_raw(std::initializer_list<std::string> frames);
  void stop();
  /// The live connection breaks and can be made again; the publisher itself lives on.
  void break_connection(net::zmq_engine& engine, boost::asio::io_context& context);

  [[nodiscard]] int replays_served() const;

 private:
  struct state;
  std::uint64_t keep(std::string payload);
  void send_live(std::uint64_t number, const std::string& payload);

  std::shared_ptr<state> state_;
  std::string endpoint_;
  std::string replay_endpoint_;
  std::uint64_t next_ = 0;
  std::map<std::uint64_t, int>& omitted_;
};

}  // namespace kvc::test

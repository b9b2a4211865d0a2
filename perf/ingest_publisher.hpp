// The publishers of all engines of one measurement, in one process: PUB sockets for what happens, ROUTER sockets that repeat it.
#pragma once

#include <cstdint>
#include <vector>

#include <boost/asio/io_context.hpp>

#include "net/zmq_socket.hpp"
#include "perf/ingest_board.hpp"
#include "perf/ingest_frames.hpp"

namespace kvc::perf {

/// What is published.
struct ingest_load {
  const ingest_frames* frames = nullptr;  ///< null: only what it takes to be heard
  std::uint32_t streams = 1;
  std::uint64_t first_number = 0;  ///< of every stream's first batch; see net/stream_listener
  double blocks_per_s = 0;  ///< offered rate, each batch with the time it is due; 0: as fast as the transport takes them, times as they are
  std::uint32_t batch_weight = 0;  ///< see `ingest_schedule`
  bool is_history = false;         ///< the frames have been published before anybody listened: only replays tell of them
};

/// When each batch is to be published at a rate, in nanoseconds from the start: the time its predecessors take, by their blocks and
/// `batch_weight` more for each. All of them take the same time whatever the weight is.
/// Why a weight: a trace whose requests are served at once has answers of a hundred batches of a few blocks one after the other. By blocks
/// alone they are due within a fraction of the time that anybody takes for them, and the lag tells of that.
[[nodiscard]] std::vector<std::int64_t> ingest_schedule(const ingest_frames& frames, double blocks_per_s, std::uint32_t batch_weight = 0);

/// Publishers with frames that are ready, so that publishing costs a copy.
///
/// Story: binds; sends empty batches, which are valid and use up a number, until the server has applied one of every stream (a subscription
/// takes effect some time after it is asked for); is quiet; and when told to go publishes the frames. Replays are answered throughout.
/// Like engines it never waits for a subscriber: what the queue (100,000 messages, vLLM's default) has no room for is lost to it.
/// One thread.
class ingest_publisher {
 public:
  ingest_publisher(ingest_board& board, const ingest_load& load);

  /// The whole story, until the board says that it is over. Throws when nobody listens.
  void run();

 private:
  struct outlet {
    net::zmq_socket live;
    net::zmq_socket replay;
    std::vector<std::uint32_t> batches;  ///< of this stream, by their place in the frames
    std::uint64_t first_frame = 0;       ///< number of the first of them
    std::uint64_t next = 0;              ///< number of the batch that comes next
  };

  void open();
  void be_heard();
  void publish();
  void send(std::uint32_t stream, std::string_view payload);
  void answer_replays();
  void answer_replay(outlet& from, const net::zmq_message& request);
  [[nodiscard]] std::string_view payload_of(const outlet& from, std::uint64_t number);
  [[nodiscard]] std::string_view stamped(std::size_t place);

  ingest_board& board_;
  ingest_load load_;
  boost::asio::io_context context_;
  net::zmq_engine engine_;
  std::string nothing_;            ///< an empty batch
  std::vector<std::int64_t> due_;  ///< of each batch of the frames, ns from the start; none: all at once, and nothing is stamped
  double start_s_ = 0;             ///< seconds since 1970
  std::string stamped_;            ///< the batch in hand
  std::vector<outlet> outlets_;
};

}  // namespace kvc::perf

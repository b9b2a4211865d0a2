// The scene of an HTTP measurement: the real server with a fleet's blocks in its index, and the publishers they came from.
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "perf/bench_caller.hpp"
#include "perf/bench_server.hpp"
#include "perf/ingest_board.hpp"
#include "perf/ingest_frames.hpp"
#include "perf/ingest_process.hpp"

namespace kvc::perf {

/// Publishers on the load's CPU, the server with one lane on another; every stream registered and heard, nothing published yet.
///
/// Life cycle: construct, `fill` or `begin`, load the server's port, destroy. No other thread may be running when it is made. One thread.
class http_stage {
 public:
  /// `frames` outlive the stage; `blocks_per_s` of 0 publishes them as fast as the transport takes them. Throws std::runtime_error.
  http_stage(int load_cpu, const bench_server::place& where, const ingest_frames& frames, double blocks_per_s);
  ~http_stage();
  http_stage(const http_stage&) = delete;
  http_stage& operator=(const http_stage&) = delete;

  /// The publishers begin.
  void begin() { board_->may_go = true; }
  /// Waits until the first `share` (0 .. 1) of the batches is in the index.
  void wait_until_applied(double share);
  /// Blocks of the batches that are in the index, stored and removed.
  [[nodiscard]] std::uint64_t applied_blocks();
  /// Per stream, how many batches the server has applied, empty ones included.
  [[nodiscard]] std::vector<std::uint64_t> applied();
  /// Number of the first of a stream's frames.
  [[nodiscard]] std::uint64_t first_number(std::uint32_t stream) const noexcept { return board_->next_number[stream]; }
  /// When the first batch was sent, by `ingest_now`; 0: not yet.
  [[nodiscard]] std::int64_t started_ns() const noexcept { return board_->first_sent_ns; }
  /// Throws std::runtime_error unless the server holds exactly what the engines do; everything is applied.
  void check();

  [[nodiscard]] const bench_server& server() const noexcept { return *server_; }

 private:
  void register_all();
  void be_heard();

  const ingest_frames& frames_;
  shared_board board_;
  std::unique_ptr<ingest_process> publishers_;
  std::unique_ptr<bench_server> server_;
  std::unique_ptr<bench_caller> caller_;
};

}  // namespace kvc::perf

// The receiving side of a measurement: the product's own intake on one lane, or sockets whose messages are thrown away.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>

#include "core/counters.hpp"
#include "perf/ingest_board.hpp"
#include "perf/ingest_plan.hpp"

namespace kvc::perf {

/// How the side is built.
struct ingest_side {
  std::uint32_t streams = 1;
  const ingest_dialect* dialect = nullptr;  ///< never null
  std::uint32_t receive_high_water = 0;     ///< 0: the product's default
  bool is_transport_free = false;           ///< see ingest_plan
  bool with_http = false;                   ///< serve the API on a port the board tells
};

/// Subscribes to every stream of the board, on one lane; the lane has a CPU, which all other threads share with it unless libzmq's are
/// free.
///
/// Life cycle: construct (the publishers are bound), watch, destroy: everything is stopped by then. Thread-safety: members on the thread
/// that made it.
class ingest_server {
 public:
  virtual ~ingest_server() = default;

  /// Number of the newest batch of a stream that is done with: in the index, so that queries find it, or thrown away. Nothing yet: absent.
  [[nodiscard]] virtual bool newest(std::uint32_t stream, std::uint64_t& number) const = 0;

  /// Blocks in the index; 0 when batches are thrown away.
  [[nodiscard]] virtual std::uint64_t held() const { return 0; }
  /// Batches that were lost, and streams that are not whole.
  [[nodiscard]] virtual std::uint64_t faults() const { return 0; }
  /// Events and batches that were not understood, and blocks that were passed over.
  [[nodiscard]] virtual std::uint64_t rejected() const { return 0; }
  /// From a batch's time to its blocks being found, as the lane has observed it; absent when batches are thrown away.
  [[nodiscard]] virtual const core::latency_histogram* delays() const { return nullptr; }
  /// Replays that were begun.
  [[nodiscard]] virtual std::uint64_t replays() const { return 0; }
};

/// Makes one on CPU `cpu` and leaves the calling thread on CPU `own`. The publishers of the board are bound.
[[nodiscard]] std::unique_ptr<ingest_server> make_indexing_server(ingest_board& board, const ingest_side& side, int cpu, int own);
[[nodiscard]] std::unique_ptr<ingest_server> make_discarding_server(ingest_board& board, const ingest_side& side, int cpu, int own);

/// Waits until every stream has been heard and everything sent so far is done with; then the publishers are quiet.
void wait_until_heard(ingest_board& board, const ingest_server& server, std::uint32_t streams);

}  // namespace kvc::perf

// What the processes of one measurement tell each other: memory that forked processes share.
#pragma once

#include <array>
#include <atomic>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

namespace kvc::perf {

/// Nanoseconds of the steady clock, which all processes of a machine share.
[[nodiscard]] inline std::int64_t ingest_now() noexcept {
  return std::chrono::nanoseconds(std::chrono::steady_clock::now().time_since_epoch()).count();
}

/// How long one process waits for another before the measurement fails.
inline constexpr std::chrono::seconds ingest_patience{120};

/// The board. Each member is written by one process; numbers are relaxed unless something is read because of them.
struct ingest_board {
  static constexpr std::size_t max_streams = 4'096;
  static constexpr std::size_t max_endpoint = 39;

  struct endpoints {
    std::array<char, max_endpoint + 1> live{};
    std::array<char, max_endpoint + 1> replay{};
  };

  // By the publishers.
  std::array<endpoints, max_streams> where{};
  std::array<std::atomic<std::uint64_t>, max_streams> next_number{};  ///< of the batch that comes next, by stream
  std::atomic<bool> is_bound{false};
  std::atomic<bool> is_quiet{false};             ///< every stream has been heard, nothing is sent any more
  std::atomic<std::int64_t> first_sent_ns{0};    ///< 0: nothing yet
  std::atomic<std::int64_t> last_sent_ns{0};     ///< handed to the transport; 0: not yet
  std::atomic<std::int64_t> replay_asked_ns{0};  ///< the first request; 0: none yet
  std::atomic<std::uint64_t> refused{0};         ///< batches that the transport had no room for

  // By the server.
  std::atomic<bool> is_heard{false};  ///< every stream has got through
  std::atomic<bool> may_go{false};
  std::atomic<bool> is_over{false};  ///< everybody leaves
  std::atomic<std::uint16_t> http_port{0};
};

/// A board in memory that is shared with processes forked later. Throws std::bad_alloc.
class shared_board {
 public:
  shared_board();
  ~shared_board();
  shared_board(const shared_board&) = delete;
  shared_board& operator=(const shared_board&) = delete;

  [[nodiscard]] ingest_board& operator*() const noexcept { return *board_; }
  [[nodiscard]] ingest_board* operator->() const noexcept { return board_; }

 private:
  ingest_board* board_;
};

/// Waits until `is_so()`; looks every millisecond. Throws std::runtime_error that names `what` when it takes longer than `ingest_patience`.
template <class Condition>
void wait_for(std::string_view what, Condition is_so);

void ingest_nap(std::chrono::microseconds length);
[[noreturn]] void give_up_waiting(std::string_view what);

template <class Condition>
void wait_for(std::string_view what, Condition is_so) {
  const auto deadline = std::chrono::steady_clock::now() + ingest_patience;
  while (!is_so()) {
    if (std::chrono::steady_clock::now() > deadline) give_up_waiting(what);
    ingest_nap(std::chrono::milliseconds(1));
  }
}

}  // namespace kvc::perf

// One request at a time to a server on loopback, over a blocking connection.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

namespace kvc::perf {

/// The value of Content-Length in a head of an answer, without regard to its case. Throws std::runtime_error when there is none.
[[nodiscard]] std::size_t answer_length(std::string_view head);

/// A blocking keep-alive connection: nothing stands between the answer and whoever waits for it. One thread.
class bench_caller {
 public:
  /// Throws std::runtime_error when nobody listens.
  explicit bench_caller(std::uint16_t port);
  ~bench_caller();
  bench_caller(const bench_caller&) = delete;
  bench_caller& operator=(const bench_caller&) = delete;

  /// Sends `request` (see `request_text`) and returns the body of its answer, valid until the next call. Waits at most 30 s. Throws
  /// std::runtime_error when the answer is not 200 or the connection breaks.
  std::string_view call(std::string_view request);

 private:
  int socket_;
  std::string buffer_;
};

}  // namespace kvc::perf

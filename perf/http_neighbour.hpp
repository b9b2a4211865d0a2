// nginx as a neighbour of the server: one worker on the same CPU that returns the same body.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <sys/types.h>

#include "perf/bench_folder.hpp"

namespace kvc::perf {

/// nginx with a configuration of its own in a folder of its own, both gone at the end.
class http_neighbour {
 public:
  /// Where nginx is; empty when it is not installed.
  [[nodiscard]] static std::string find();

  /// Waits until it answers GET /healthz with `body`, at most 10 s. Throws std::runtime_error when it does not.
  http_neighbour(const std::string& program, int cpu, std::string_view body);
  ~http_neighbour();
  http_neighbour(const http_neighbour&) = delete;
  http_neighbour& operator=(const http_neighbour&) = delete;

  [[nodiscard]] std::uint16_t port() const noexcept { return port_; }

 private:
  bench_folder folder_;
  std::uint16_t port_ = 0;
  pid_t pid_ = -1;
};

}  // namespace kvc::perf

// An MP server that takes deletions as fast as they come and does nothing with them: the other end of an eviction that is measured.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

#include "perf/bench_poller.hpp"

namespace kvc::perf {

/// Answers every request with `{"deleted":0,"skipped":0,"ok":true}`. Keeps nothing. One thread, that of the poller, which outlives it.
class deletion_sink {
 public:
  /// Listens on a free port of 127.0.0.1. Throws std::system_error when it cannot.
  explicit deletion_sink(poller& in);
  ~deletion_sink();
  deletion_sink(const deletion_sink&) = delete;
  deletion_sink& operator=(const deletion_sink&) = delete;

  [[nodiscard]] std::uint16_t port() const noexcept { return port_; }
  [[nodiscard]] std::uint64_t requests() const noexcept { return requests_; }
  /// Keys in the bodies so far, parts of requests included.
  [[nodiscard]] std::uint64_t keys() const noexcept { return keys_; }

 private:
  class listener;
  class connection;

  poller& poller_;
  std::uint16_t port_ = 0;
  std::uint64_t requests_ = 0;
  std::uint64_t keys_ = 0;
  std::unique_ptr<listener> listener_;
  std::vector<std::unique_ptr<connection>> connections_;
};

}  // namespace kvc::perf

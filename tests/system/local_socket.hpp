// Plain blocking sockets for tests that look at a program from outside.
#pragma once

#include <chrono>
#include <cstdint>
#include <string>
#include <string_view>

#include "tests/support/temporary_folder.hpp"

namespace kvc::test {

/// A TCP connection to this machine, or a listener on it. Waiting ends after a minute.
class local_socket {
 public:
  /// Connects to `port` of 127.0.0.1. Throws when nobody listens.
  [[nodiscard]] static local_socket connect(std::uint16_t port);
  /// Listens on a free port of 127.0.0.1.
  [[nodiscard]] static local_socket listen();
  ~local_socket();
  local_socket(local_socket&& other) noexcept;
  local_socket& operator=(local_socket&&) = delete;

  [[nodiscard]] std::uint16_t port() const;  ///< our own
  void send(std::string_view bytes) const;
  /// Everything until the other side closes.
  [[nodiscard]] std::string read_to_end() const;

 private:
  explicit local_socket(int descriptor) : descriptor_(descriptor) {}
  int descriptor_;
};

/// The whole answer to `GET target`.
[[nodiscard]] std::string http_get(std::uint16_t port, const std::string& target);

/// The receiving end of the notify protocol: a datagram socket in a directory of its own.
class notify_socket {
 public:
  notify_socket();
  ~notify_socket();
  notify_socket(const notify_socket&) = delete;
  notify_socket& operator=(const notify_socket&) = delete;

  [[nodiscard]] const std::string& path() const noexcept { return path_; }

  /// Receives on until a message has `text`; `all` then holds every message so far. False after `patience`.
  [[nodiscard]] bool wait_for(std::string_view text, std::chrono::milliseconds patience = std::chrono::milliseconds(60'000));
  [[nodiscard]] const std::string& all() const noexcept { return all_; }

 private:
  int descriptor_ = -1;
  temporary_folder folder_;
  std::string path_ = folder_.file("socket");
  std::string all_;
};

}  // namespace kvc::test

// The real server as a child process on ports of its own.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "tests/system/child_process.hpp"

namespace kvc::test {

/// The command line of the built server, with these flags.
[[nodiscard]] inline std::vector<std::string> conductor_command(std::vector<std::string> flags) {
  flags.insert(flags.begin(), built_program("kv-conductor"));
  return flags;
}

/// A server that listens on two free ports of 127.0.0.1 and has said so.
class conductor_process : public child_process {
 public:
  explicit conductor_process(std::vector<std::string> flags = {}, const std::vector<std::string>& variables = {})
      : child_process(conductor_command(with_ports(std::move(flags))), variables) {
    if (!wait_for("listening host=127.0.0.1 ports=")) return;
    const std::size_t at = output().find("ports=") + 6;
    port_ = static_cast<std::uint16_t>(std::stoul(output().substr(at)));
  }

  /// The first port; 0 when it never came to listen.
  [[nodiscard]] std::uint16_t port() const noexcept { return port_; }

 private:
  static std::vector<std::string> with_ports(std::vector<std::string> flags) {
    flags.insert(flags.begin(), {"--http-host", "127.0.0.1", "--http-ports", "0,0", "--lanes", "2"});
    return flags;
  }

  std::uint16_t port_ = 0;
};

}  // namespace kvc::test

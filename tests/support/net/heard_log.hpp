// The log of a test, line by line.
#pragma once

#include <mutex>
#include <string>
#include <string_view>
#include <vector>

#include "net/log.hpp"

namespace kvc::test {

/// Takes the place of the log while it lives.
class heard_log {
 public:
  heard_log() {
    kvc::net::log::set_sink([this](kvc::net::log::level, std::string_view line) {
      const std::lock_guard lock(guard_);
      lines_.emplace_back(line);
    });
  }
  ~heard_log() { kvc::net::log::set_sink({}); }
  heard_log(const heard_log&) = delete;
  heard_log& operator=(const heard_log&) = delete;

  [[nodiscard]] std::vector<std::string> lines() const {
    const std::lock_guard lock(guard_);
    return lines_;
  }

 private:
  mutable std::mutex guard_;
  std::vector<std::string> lines_;
};

}  // namespace kvc::test

// What is read beside the lanes, and how a test sees that it was.
#pragma once

#include <cstddef>
#include <filesystem>
#include <fstream>
#include <string>

#include "net/aside.hpp"

namespace kvc::test {

inline constexpr std::size_t more_than_a_turn = net::most_read_by_lane + 1;

/// Whether the process has the thread, which begins with the first piece of work for it and ends with the service.
inline bool has_thread_beside() {
  for (const auto& each : std::filesystem::directory_iterator("/proc/self/task")) {
    std::string name;
    std::getline(std::ifstream(each.path() / "comm"), name);
    if (name == "aside") return true;
  }
  return false;
}

}  // namespace kvc::test

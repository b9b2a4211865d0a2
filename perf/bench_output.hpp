// Whether results can be put where they are wanted, found out before they are measured.
#pragma once

#include <filesystem>
#include <fstream>
#include <string>
#include <system_error>

namespace kvc::perf {

/// Whether a file of this name can be written. What it has stays, and where there is none, there is none afterwards: a measurement of half
/// an hour may be interrupted, and then the page of the last one is still there.
[[nodiscard]] inline bool can_be_written(const std::string& path) {
  std::error_code unseen;
  const bool was_there = std::filesystem::exists(path, unseen);
  const bool can = std::ofstream(path, std::ios::app).good();
  if (can && !was_there) std::filesystem::remove(path, unseen);
  return can;
}

}  // namespace kvc::perf

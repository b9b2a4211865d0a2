// A folder for what a measurement has to write down for other programs, gone with it.
#pragma once

#include <filesystem>
#include <stdexcept>
#include <stdlib.h>
#include <string>
#include <system_error>

namespace kvc::perf {

/// A new folder among the system's temporary ones; removed at the end with all that is in it. Throws std::runtime_error where none can be
/// made.
class bench_folder {
 public:
  bench_folder() {
    std::string pattern = (std::filesystem::temp_directory_path() / "kvc-bench-XXXXXX").string();
    if (::mkdtemp(pattern.data()) == nullptr) throw std::runtime_error("no folder can be made for a measurement: " + pattern);
    path_ = pattern;
  }
  ~bench_folder() {
    std::error_code ignored;
    std::filesystem::remove_all(path_, ignored);
  }
  bench_folder(const bench_folder&) = delete;
  bench_folder& operator=(const bench_folder&) = delete;

  [[nodiscard]] const std::filesystem::path& path() const noexcept { return path_; }
  /// The path of something in it.
  [[nodiscard]] std::string file(const std::string& name) const { return (path_ / name).string(); }

 private:
  std::filesystem::path path_;
};

}  // namespace kvc::perf

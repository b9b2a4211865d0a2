// A folder for what a measurement or a test has to write down, gone with it.
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
    // The system puts letters of its own in the place of the last six.
    std::string pattern = (std::filesystem::temp_directory_path() / "kvc-").string() + std::string(6, 'X');
    if (::mkdtemp(pattern.data()) == nullptr) throw std::runtime_error("no temporary folder can be made: " + pattern);
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

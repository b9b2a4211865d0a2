// Writes KVWL workload files.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "core/ids.hpp"

namespace kvc::perf {

/// What has been written.
struct written_counts {
  std::uint64_t operations = 0;
  std::uint64_t queries = 0;
  std::uint64_t queried_blocks = 0;
  std::uint64_t stored_blocks = 0;
  std::uint64_t removed_blocks = 0;
};

/// A KVWL file of version 1 in the making (little-endian hosts only). It is written as `<path>.part` and gets its name in `finish`, so that
/// nobody takes half a file for a whole one; unfinished, it goes away with this object. An older plain file of that name is replaced,
/// anything else is refused. The first fault is kept and ends all writing. One owner, one thread.
class bench_writer {
 public:
  /// `workers` as the header is to say.
  bench_writer(std::string path, std::uint32_t workers);
  ~bench_writer();
  bench_writer(const bench_writer&) = delete;
  bench_writer& operator=(const bench_writer&) = delete;

  void query(std::span<const core::local_hash> locals);
  /// `parent` may be null: the chain begins at the root. Precondition: as many names as locals.
  void store(std::uint32_t worker, const core::engine_hash* parent, std::span<const core::engine_hash> names,
             std::span<const core::local_hash> locals);
  void remove(std::uint32_t worker, std::span<const core::engine_hash> names);

  /// Completes the header and gives the file its name. False at a fault.
  [[nodiscard]] bool finish();
  /// A sentence about the first fault; empty when there was none.
  [[nodiscard]] const std::string& error() const noexcept { return error_; }
  [[nodiscard]] const written_counts& counts() const noexcept { return counts_; }

 private:
  struct closer {
    void operator()(std::FILE* file) const noexcept { std::fclose(file); }
  };

  template <class Value>
  void put(const Value& value);
  void put_bytes(const void* from, std::size_t count);
  void put_header(std::uint32_t workers);
  void fail(const std::string& what);

  std::string path_;
  std::string part_;
  std::vector<char> buffer_;  ///< outlives the stream that uses it
  std::unique_ptr<std::FILE, closer> file_;
  std::uint32_t workers_;
  written_counts counts_;
  std::string error_;
};

}  // namespace kvc::perf

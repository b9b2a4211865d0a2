// Reads KVWL workload files: an ordered list of stores, removals and queries that any index can replay.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include <boost/system/result.hpp>

#include "core/ids.hpp"

namespace kvc::perf {

/// What one operation of the file is.
enum class bench_kind : std::uint8_t { store = 1, remove = 2, query = 3 };

/// One operation, copied out of the file so that its hashes are aligned. Reused from one operation to the next.
struct bench_op {
  bench_kind kind = bench_kind::query;
  std::uint32_t worker = 0;
  bool has_parent = false;
  core::engine_hash parent{};
  std::vector<core::engine_hash> names;  ///< of stores and removals
  std::vector<core::local_hash> locals;  ///< of stores and queries
};

/// A KVWL file of version 1, whole and well-formed, mapped into memory (little-endian hosts only). The mapping lives as long as this
/// object; cursors over it are independent, so several threads may each walk the file. The file must not be cut while it is mapped.
class bench_workload {
 public:
  /// More workers than any index here is built for.
  static constexpr std::uint32_t max_workers = 65'536;

  /// Looks at every operation before it says yes, so that nothing can go wrong in the middle of a measurement.
  /// Error: a sentence that says what is wrong and, for a damaged file, at which byte.
  [[nodiscard]] static boost::system::result<bench_workload, std::string> open(const std::string& path);
  bench_workload(bench_workload&& other) noexcept;
  bench_workload& operator=(bench_workload&&) = delete;
  ~bench_workload();

  [[nodiscard]] std::uint32_t workers() const noexcept { return workers_; }
  [[nodiscard]] std::uint64_t operations() const noexcept { return operations_; }

  /// Walks the operations in order.
  class cursor {
   public:
    explicit cursor(const bench_workload& of);

    /// Reads the next operation into `into`; false at the end, and where the file is damaged.
    [[nodiscard]] bool next(bench_op& into);
    /// Steps over an operation without copying it; empty, or a sentence that says what is wrong with it (then nothing was stepped over).
    [[nodiscard]] std::string skip(std::uint32_t workers);
    /// Bytes left, and operations that should be in them.
    [[nodiscard]] std::size_t rest() const noexcept { return rest_.size(); }
    [[nodiscard]] std::uint64_t left() const noexcept { return left_; }

   private:
    template <class Value>
    [[nodiscard]] bool take(Value& into);
    template <class Hash>
    [[nodiscard]] bool take_hashes(std::size_t count, std::vector<Hash>& into);

    std::span<const std::byte> rest_;
    std::uint64_t left_;
  };

 private:
  bench_workload() = default;
  /// Empty, or a sentence about the first thing that is wrong.
  [[nodiscard]] std::string find_damage() const;

  std::span<const std::byte> bytes_;
  std::uint32_t workers_ = 0;
  std::uint64_t operations_ = 0;
};

}  // namespace kvc::perf

// What the conductor answers to a query, read from JSON or MessagePack and put in the order of the fleet.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "perf/sim_options.hpp"

namespace kvc::sim {

/// The name of a simulated instance.
[[nodiscard]] std::string instance_name(std::uint32_t index);

/// The row of one instance; lengths in tokens.
struct answer_row {
  bool present = false;
  std::uint64_t longest = 0;
  std::uint64_t gpu = 0;
  std::uint64_t elsewhere = 0;       ///< largest of all other media
  std::vector<std::uint64_t> ranks;  ///< `DP`, by rank; missing ones are 0
  std::uint32_t ranks_told = 0;      ///< how many ranks of the fleet the row names
};

/// Reads an answer into one row per instance. Rows of strangers are skipped. Reused to keep its memory.
class answer_reader {
 public:
  answer_reader(std::uint32_t engines, std::uint32_t ranks, std::string tenant);

  /// Empty, or a sentence about what is wrong with the body. `rows` are valid until the next call.
  [[nodiscard]] std::string read(std::string_view body, query_form form);

  [[nodiscard]] const std::vector<answer_row>& rows() const noexcept { return rows_; }

 private:
  [[nodiscard]] std::string read_json(std::string_view body);
  [[nodiscard]] std::string read_msgpack(std::string_view body);
  [[nodiscard]] answer_row* row_of(std::string_view instance);
  void put(answer_row& row, std::string_view member, std::uint64_t tokens) const;
  void put_rank(answer_row& row, std::string_view rank, std::uint64_t tokens) const;

  std::uint32_t rank_count_;
  std::string tenant_;
  std::vector<answer_row> rows_;
};

}  // namespace kvc::sim

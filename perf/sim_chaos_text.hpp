// The prompts of a chaos run: few and short, and alike in their beginnings, so that every block is touched often.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "perf/sim_mix.hpp"

namespace kvc::sim {

/// A tree of blocks and the prompts that lead through it. Immutable; shared by all publishers of a run.
class chaos_text {
 public:
  static constexpr std::uint32_t block_size = 4;  ///< tokens

  /// Draws prompts.
  explicit chaos_text(dice& random);

  struct block {
    std::vector<std::uint32_t> tokens;
    std::uint64_t standard_name = 0;  ///< sequence hash under the default seed
  };

  using path = std::vector<std::uint32_t>;  ///< numbers of blocks, from the first one on

  [[nodiscard]] const std::vector<block>& blocks() const noexcept { return blocks_; }
  [[nodiscard]] const std::vector<path>& prompts() const noexcept { return prompts_; }

  /// The tokens of blocks [first, last) of a prompt.
  [[nodiscard]] std::vector<std::uint32_t> tokens(const path& prompt, std::size_t first, std::size_t last) const;

 private:
  std::uint32_t grow(const path& behind, dice& random);

  std::vector<block> blocks_;
  std::vector<path> prompts_;
};

}  // namespace kvc::sim

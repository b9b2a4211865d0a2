#include "perf/sim_tally.hpp"

#include <algorithm>
#include <utility>

namespace kvc::sim {
namespace {

/// Looks at the numbers of one request and keeps count.
class comparison {
 public:
  comparison(std::uint64_t request, tally& into) : request_(request), into_(into) {}

  void check(std::uint32_t instance, std::string member, std::uint64_t predicted, std::uint64_t actual) {
    if (predicted == actual) return;
    ++found_;
    ++into_.differences;
    if (into_.first_differences.size() < max_kept_differences) {
      into_.first_differences.push_back({request_, instance_name(instance) + " " + std::move(member), predicted, actual});
    }
  }
  [[nodiscard]] std::size_t found() const noexcept { return found_; }

 private:
  std::uint64_t request_;
  tally& into_;
  std::size_t found_ = 0;
};

}  // namespace

std::size_t compare(const std::vector<answer_row>& rows, const std::vector<std::uint32_t>& actual_blocks, std::uint32_t block_size,
                    std::uint64_t request, tally& into) {
  comparison all(request, into);
  const std::size_t ranks = actual_blocks.size() / rows.size();
  for (std::uint32_t i = 0; i < rows.size(); ++i) {
    const std::size_t before = all.found();
    const answer_row& row = rows[i];
    std::uint64_t longest = 0;
    for (std::size_t rank = 0; rank < ranks; ++rank) {
      const std::uint64_t held = std::uint64_t{actual_blocks[i * ranks + rank]} * block_size;
      const std::uint64_t predicted = row.ranks[rank];
      longest = std::max(longest, held);
      into.stale_blocks.add((predicted > held ? predicted - held : held - predicted) / block_size);
      all.check(i, "DP[" + std::to_string(rank) + "]", predicted, held);
    }
    all.check(i, "longest_matched", row.longest, longest);
    all.check(i, "GPU", row.gpu, longest);
    all.check(i, "other media", row.elsewhere, 0);
    all.check(i, "rows told", row.present ? 1 : 0, 1);
    all.check(i, "ranks told", row.ranks_told, ranks);
    ++into.answers;
    if (all.found() == before) ++into.exact_answers;
  }
  return all.found();
}

std::string to_string(const difference& what) {
  return "request " + std::to_string(what.request) + ", " + what.where + ": predicted " + std::to_string(what.predicted) + ", actual " +
         std::to_string(what.actual);
}

}  // namespace kvc::sim

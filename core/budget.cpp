#include "core/budget.hpp"

#include <algorithm>
#include <cstddef>
#include <numeric>
#include <utility>

namespace kvc::core {

std::vector<std::uint64_t> fair_shares(std::span<const std::uint64_t> wanted, std::uint64_t total) {
  std::vector<std::size_t> modest_first(wanted.size());
  std::iota(modest_first.begin(), modest_first.end(), std::size_t{0});
  std::ranges::sort(modest_first, {}, [&](std::size_t i) { return std::pair(wanted[i], i); });
  std::vector<std::uint64_t> shares(wanted.size());
  std::uint64_t left = total;
  std::size_t others = wanted.size();
  for (const std::size_t each : modest_first) {
    shares[each] = std::min(wanted[each], left / others);
    left -= shares[each];
    --others;
  }
  return shares;
}

}  // namespace kvc::core

#include "core/blend_query.hpp"

#include <algorithm>
#include <array>

namespace kvc::core {
namespace {

/// Windows that are hashed, then looked for, then looked at: enough to have many cache misses under way, few enough to stay in the first
/// cache.
constexpr std::size_t block = 512;

}  // namespace

template <token_value Token>
bool blend_query::advance(blend_table& table, std::span<const Token> tokens, std::size_t budget) {
  const std::size_t length = table.chunk_tokens();
  if (tokens.size() < length) return true;
  const std::size_t windows = tokens.size() - length + 1;
  const chunk_index& index = table.index();
  const std::size_t last = budget >= windows - at_ ? windows : at_ + std::max<std::size_t>(budget, 1);
  std::array<std::uint64_t, block> hashes;
  std::array<std::uint64_t, block> mixed;
  std::array<std::uint32_t, block> candidates;
  while (at_ < last) {
    const std::size_t count = std::min(block, last - at_);
    hashes_.roll(tokens, at_, std::span(hashes).first(count));
    const auto scope = table.find_scope(scope_);  // again each time: it may have come or gone since the last slice
    std::size_t found = 0;
    if (scope) {
      std::size_t i = probe_ - at_;
      for (; i < count; i += stride_) {
        mixed[i] = table.mixed(*scope, hashes[i]);
        candidates[found] = static_cast<std::uint32_t>(i);
        found += index.may_hold(mixed[i]) ? 1 : 0;  // no branch: whether there is one cannot be foretold
      }
      for (std::size_t k = 0; k < found; ++k) index.prefetch_slots(mixed[candidates[k]]);
    }
    for (std::size_t k = 0; k < found; ++k) {
      const std::size_t i = candidates[k];
      const auto place = table.match(*scope, hashes[i], mixed[i]);
      if (!place || !told_.insert(place->object_digest).second) continue;
      matches_.push_back({.object_key = table.object_key(place->object), .old_st = place->old_st, .cur_st = at_ + i});
    }
    at_ += count;
    if (probe_ < at_) probe_ += (at_ - probe_ + stride_ - 1) / stride_ * stride_;
  }
  return at_ == windows;
}

template bool blend_query::advance(blend_table&, std::span<const std::uint32_t>, std::size_t);
template bool blend_query::advance(blend_table&, std::span<const std::uint64_t>, std::size_t);

}  // namespace kvc::core

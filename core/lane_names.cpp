#include "core/lane_names.hpp"

#include <algorithm>

#include "core/hash_compare.hpp"

namespace kvc::core {
namespace {

constexpr std::size_t prefetched_ahead = 16;  ///< a miss takes as long as some sixteen keys
constexpr std::uint32_t most_lists = 1U << 28;
constexpr std::uint32_t most_names = 1U << 12;  ///< a spot has 12 bits for the offset; runs are no longer than that

std::uint64_t hash_of(std::uint64_t space, engine_hash name) noexcept {
  std::uint64_t mixed = (name.get() ^ space * 0x9E37'79B9'7F4A'7C15U) * 0xD6E8'FEB8'6659'FD93U;
  mixed = (mixed ^ mixed >> 32) * 0xD6E8'FEB8'6659'FD93U;
  return mixed ^ mixed >> 32;
}

}  // namespace

std::optional<name_spot> lane_names::find(std::uint64_t space, engine_hash name) const {
  name_spot found;
  const bool is_known = table_.find(hash_of(space, name), [&](name_spot spot) {
    const naming& list = at(spot.list);
    found = spot;
    return list.space == space && list.has(spot.offset, name);
  });
  if (!is_known) return std::nullopt;
  return found;
}

void lane_names::prefetch(std::uint64_t space, std::span<const engine_hash> names) const noexcept {
  for (const engine_hash name : names.first(std::min(names.size(), prefetched_ahead))) table_.prefetch(hash_of(space, name));
}

std::uint32_t lane_names::open(run* in, std::uint64_t space, std::uint32_t first) {
  std::uint32_t list = 0;
  if (unused_.empty()) {
    list = lists_++;
    if (list / page_lists == pages_.size()) pages_.push_back(std::make_unique<page>());
  } else {
    list = unused_.back();
    unused_.pop_back();
  }
  naming& opened = at(list);
  opened.in = in;
  opened.space = space;
  opened.first = first;
  return list;
}

void lane_names::close(std::uint32_t list) {
  naming& closed = at(list);
  const auto count = closed.names.size();
  for (std::size_t i = 0; i < count + prefetched_ahead; ++i) {
    if (i < count) table_.prefetch(hash_of(closed.space, closed.names[i]));
    if (i < prefetched_ahead) continue;
    const std::size_t at = i - prefetched_ahead;
    table_.remove(hash_of(closed.space, closed.names[at]), {list, closed.first + static_cast<std::uint32_t>(at)});
  }
  closed = naming{};
  unused_.push_back(list);
}

bool lane_names::enter(std::uint32_t list, std::uint32_t offset, engine_hash name) {
  naming& into = at(list);
  if (list >= most_lists || offset >= most_names || find(into.space, name)) return false;
  return table_.add(hash_of(into.space, name), {list, offset});
}

std::uint32_t lane_names::fit(std::uint32_t list, std::uint32_t offset, std::span<const engine_hash> names) {
  naming& in = at(list);
  if (offset < in.first || offset > in.end()) return 0;
  std::size_t accepted = 0;
  if (offset < in.end()) {
    const std::span<const engine_hash> known = std::span<const engine_hash>(in.names).subspan(offset - in.first);
    const std::size_t both = std::min(known.size(), names.size());
    accepted = common_prefix(reinterpret_cast<const std::uint64_t*>(known.data()), reinterpret_cast<const std::uint64_t*>(names.data()), both);
    if (!in.gaps.empty()) {
      const auto gap = std::ranges::lower_bound(in.gaps, offset);
      if (gap != in.gaps.end()) accepted = std::min<std::size_t>(accepted, *gap - offset);
    }
    if (accepted < both) return static_cast<std::uint32_t>(accepted);
  }
  const std::size_t wanted = in.names.size() + names.size() - accepted;
  if (wanted > in.names.capacity()) in.names.reserve(std::max(wanted, in.names.size() + in.names.size() / 2));
  const std::uint64_t space = in.space;
  for (std::size_t i = accepted; i < std::min(accepted + prefetched_ahead, names.size()); ++i) table_.prefetch(hash_of(space, names[i]));
  for (; accepted < names.size(); ++accepted) {
    if (accepted + prefetched_ahead < names.size()) table_.prefetch(hash_of(space, names[accepted + prefetched_ahead]));
    const std::uint32_t at = in.end();
    const bool is_found = enter(list, at, names[accepted]);
    in.names.push_back(names[accepted]);
    if (is_found) continue;
    in.gaps.push_back(at);  // keeps its place in the list, so that those behind it can still be named
    break;
  }
  return static_cast<std::uint32_t>(accepted);
}

std::size_t lane_names::bytes() const noexcept {
  std::size_t all = table_.bytes() + pages_.size() * sizeof(page);
  for (std::uint32_t list = 0; list < lists_; ++list) all += at(list).names.capacity() * sizeof(engine_hash);
  return all;
}

}  // namespace kvc::core

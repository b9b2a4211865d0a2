#include "core/gradual_map.hpp"

#include <algorithm>
#include <array>
#include <new>

namespace kvc::core {
namespace {

/// With its head of 16 bytes a segment of these sizes is a power of two, or three quarters of one, for the arena.
constexpr std::array<std::uint32_t, 8> capacities{3, 7, 15, 31, 63, 127, 191, 255};
constexpr std::uint32_t usual_most = capacities.back();
constexpr std::uint32_t most_bits = 30;
/// How many more places than one for each 128 entries the list of segments may have: hashes that agree by chance need a few times as many,
/// those that agree by intention would need any number.
constexpr std::size_t places_beyond_chance = 16;

/// Has room for a quarter more than `size` entries.
std::uint32_t capacity_for(std::uint32_t size) noexcept {
  const std::uint32_t wanted = size + size / 4 + 1;
  for (const std::uint32_t each : capacities) {
    if (wanted * 8 <= each * 7) return each;
  }
  std::uint32_t large = usual_most;
  while (wanted * 8 > large * 7) large = large * 2 + 1;
  return large;
}

}  // namespace

void gradual_map::segment::put(const entry& one, std::uint64_t hash) noexcept {
  std::uint32_t at = home_of(hash);
  while (entries()[at].is_used != 0) at = behind(at);
  entries()[at] = one;
  ++size;
}

gradual_map::segment* gradual_map::make_segment(std::uint32_t capacity, std::uint32_t bits) const {
  auto* const made = new (arena_take(kind_, sizeof(segment) + capacity * sizeof(entry))) segment{capacity, 0, bits, 0};
  std::uninitialized_fill_n(made->entries(), capacity, entry{});
  return made;
}

void gradual_map::drop_segment(segment* gone) const noexcept {
  arena_give(kind_, gone, sizeof(segment) + gone->capacity * sizeof(entry));
}

void gradual_map::add(std::uint64_t key, std::uint32_t value) {
  const std::uint64_t hash = hash_of(key);
  if (segments_.empty()) {
    segments_.reserve(1);
    segments_.push_back(make_segment(capacities.front(), 0));
  }
  while (!segments_[place_of(hash)]->has_room()) make_room(hash);
  segments_[place_of(hash)]->put({key, value, 1}, hash);
  ++size_;
}

void gradual_map::make_room(std::uint64_t hash) {
  segment* const full = segments_[place_of(hash)];
  if (full->capacity < usual_most) return replace_by_larger(full, place_of(hash));
  if (full->bits == bits_) {
    if (bits_ == most_bits || segments_.size() * 2 > places_beyond_chance * (size_ / 128 + 1))
      return replace_by_larger(full, place_of(hash));
    std::vector<segment*> wider(segments_.size() * 2);
    for (std::size_t i = 0; i < wider.size(); ++i) wider[i] = segments_[i / 2];
    segments_.swap(wider);
    ++bits_;
  }
  divide(full, place_of(hash));
}

void gradual_map::replace_by_larger(segment* full, std::size_t place) {
  segment* const larger = make_segment(capacity_for(full->size), full->bits);
  for (const entry& each : full->all()) {
    if (each.is_used != 0) larger->put(each, hash_of(each.key));
  }
  point_to(larger, place);
  drop_segment(full);
}

void gradual_map::divide(segment* full, std::size_t place) {
  const auto is_upper = [full](const entry& one) { return (hash_of(one.key) >> (63 - full->bits) & 1) != 0; };
  std::array<std::uint32_t, 2> sizes{};
  for (const entry& each : full->all()) sizes[each.is_used != 0 && is_upper(each) ? 1 : 0] += each.is_used;
  std::array<segment*, 2> halves{make_segment(capacity_for(sizes[0]), full->bits + 1), nullptr};
  try {
    halves[1] = make_segment(capacity_for(sizes[1]), full->bits + 1);
  } catch (...) {
    drop_segment(halves[0]);
    throw;
  }
  for (const entry& each : full->all()) {
    if (each.is_used != 0) halves[is_upper(each) ? 1 : 0]->put(each, hash_of(each.key));
  }
  const std::size_t half = std::size_t{1} << (bits_ - full->bits - 1);
  point_to(halves[0], place & ~half);
  point_to(halves[1], place | half);
  drop_segment(full);
}

/// Enters a segment at all the places it stands at, of which `place` is one.
void gradual_map::point_to(segment* one, std::size_t place) noexcept {
  const std::size_t places = std::size_t{1} << (bits_ - one->bits);
  std::fill_n(segments_.begin() + static_cast<std::ptrdiff_t>(place / places * places), places, one);
}

void gradual_map::erase(std::uint64_t key) noexcept {
  if (segments_.empty()) return;
  const std::uint64_t hash = hash_of(key);
  segment& in = *segments_[place_of(hash)];
  entry* const all = in.entries();
  std::uint32_t gap = in.home_of(hash);
  for (; all[gap].key != key || all[gap].is_used == 0; gap = in.behind(gap)) {
    if (all[gap].is_used == 0) return;
  }
  // What stands behind moves up, as far as its home allows, so that no search ends at the gap too early.
  for (std::uint32_t at = in.behind(gap); all[at].is_used != 0; at = in.behind(at)) {
    const std::uint32_t home = in.home_of(hash_of(all[at].key));
    const std::uint32_t from_home = at >= home ? at - home : at + in.capacity - home;
    const std::uint32_t from_gap = at >= gap ? at - gap : at + in.capacity - gap;
    if (from_home < from_gap) continue;
    all[gap] = all[at];
    gap = at;
  }
  all[gap] = entry{};
  --in.size;
  if (--size_ == 0) clear();
}

void gradual_map::clear() noexcept {
  segment* previous = nullptr;
  for (segment* one : segments_) {
    if (one == previous) continue;
    previous = one;
    drop_segment(one);
  }
  segments_ = {};
  bits_ = 0;
  size_ = 0;
}

}  // namespace kvc::core

#include "core/lane_names.hpp"

#include <algorithm>
#include <array>
#include <memory>

#include "core/arena.hpp"
#include "core/bring_near.hpp"
#include "core/hash_compare.hpp"
#include "core/run.hpp"

namespace kvc::core {
namespace {

constexpr std::size_t batch = 64;  ///< names whose lines are asked for together: as many as a CPU waits for at once, and some more
constexpr std::uint32_t most_lists = 1U << 24;  ///< a place in the table has 8 bits for the name and 24 for the list

std::uint64_t hash_of(std::uint64_t space, engine_hash name) noexcept {
  std::uint64_t mixed = (name.get() ^ space * 0x9E37'79B9'7F4A'7C15U) * 0xD6E8'FEB8'6659'FD93U;
  mixed = (mixed ^ mixed >> 32) * 0xD6E8'FEB8'6659'FD93U;
  return mixed ^ mixed >> 32;
}

}  // namespace

name_spot lane_names::spot_at(std::uint32_t place) const noexcept {
  const std::uint32_t number = place >> part_bits;
  const naming& entry = at(number);
  if (entry.goes_on_for == naming::no_list) return {number, entry.first + place % part_names};
  return {entry.goes_on_for, at(entry.goes_on_for).first + entry.part * part_names + place % part_names};
}

std::uint32_t lane_names::number_for(std::uint32_t list, std::uint32_t index) const noexcept {
  return index < part_names ? list : (*at(list).further)[index / part_names - 1];
}

std::uint32_t lane_names::place_of(std::uint32_t list, std::uint32_t index) const noexcept {
  return number_for(list, index) << part_bits | index % part_names;
}

std::uint64_t lane_names::hash_at(std::uint32_t place) const {
  const name_spot spot = spot_at(place);
  const naming& list = at(spot.list);
  return hash_of(list.space, list.names[spot.offset - list.first]);
}

void lane_names::expect_at(unsigned step, std::uint32_t place) const noexcept {
  const naming& entry = at(place >> part_bits);
  if (step == 1) {
    bring_near(&entry);
  } else if (entry.goes_on_for == naming::no_list) {
    bring_near(entry.names + place % part_names);
  }
}

std::optional<name_spot> lane_names::find(std::uint64_t space, engine_hash name) const {
  name_spot found;
  const bool is_known = table_.find(hash_of(space, name), [&](std::uint32_t place) {
    found = spot_at(place);
    const naming& list = at(found.list);
    return list.space == space && list.has(found.offset, name);
  });
  if (!is_known) return std::nullopt;
  return found;
}

void lane_names::prefetch(std::uint64_t space, std::span<const engine_hash> names) const noexcept {
  for (const engine_hash name : names.first(std::min(names.size(), batch))) table_.prefetch(hash_of(space, name));
}

void lane_names::expect(unsigned step, std::uint64_t space, engine_hash name) const noexcept {
  std::uint32_t place = 0;
  if (!table_.find(hash_of(space, name), [&](std::uint32_t guess) { return place = guess, true; })) return;
  if (step == 2) {
    bring_near(&at(place >> part_bits));
    return;
  }
  const name_spot guess = spot_at(place);
  const naming& list = at(guess.list);
  if (list.in == nullptr) return;
  list.in->prefetch();
  if (guess.offset >= list.first) bring_near(list.names + (guess.offset - list.first));
}

std::uint32_t lane_names::new_number() {
  if (!unused_.empty()) {
    const std::uint32_t number = unused_.back();
    unused_.pop_back();
    return number;
  }
  if (lists_ / page_lists == pages_.size()) pages_.push_back(std::make_unique<page>());
  return lists_++;
}

std::uint32_t lane_names::open(run* in, std::uint64_t space, std::uint32_t first) {
  const std::uint32_t list = new_number();
  naming& opened = at(list);
  opened.in = in;
  opened.space = space;
  opened.first = first;
  return list;
}

lane_names::~lane_names() {
  for (std::uint32_t list = 0; list < lists_; ++list)
    arena_give(arena_kind::names, at(list).names, at(list).capacity * sizeof(engine_hash));
}

void lane_names::reserve(naming& list, std::uint32_t names) {
  if (names <= list.capacity) return;
  // Lists mostly begin with all they will have; those that grow, grow again.
  const std::uint32_t wanted = list.capacity == 0 ? names : std::max(names, list.capacity + list.capacity / 4);
  auto* const wider = static_cast<engine_hash*>(arena_take(arena_kind::names, wanted * sizeof(engine_hash)));
  std::uninitialized_copy_n(list.names, list.count, wider);
  arena_give(arena_kind::names, list.names, list.capacity * sizeof(engine_hash));
  written_bytes_ += (wanted - list.capacity) * sizeof(engine_hash);
  list.names = wider;
  list.capacity = wanted;
}

/// Takes the names from number `from` of a list on out of the table.
void lane_names::forget(std::uint32_t list, std::uint32_t from) {
  const naming& of = at(list);
  std::array<std::uint64_t, batch> hashes;
  for (std::uint32_t done = from; done < of.count;) {
    const std::uint32_t some = std::min<std::uint32_t>(of.count - done, batch);
    for (std::uint32_t i = 0; i < some; ++i) {
      hashes[i] = hash_of(of.space, of.names[done + i]);
      table_.prefetch(hashes[i]);
    }
    for (std::uint32_t i = 0; i < some; ++i) table_.prefetch_more(hashes[i]);
    for (std::uint32_t i = 0; i < some; ++i) table_.remove(hashes[i], place_of(list, done + i));
    done += some;
  }
}

/// Gives back the further numbers of a list that shall have no more than `names_kept` names.
void lane_names::drop_numbers(naming& of, std::uint32_t names_kept) {
  if (!of.further) return;
  for (; of.further->size() * part_names >= std::max(names_kept, 1U); of.further->pop_back()) {
    at(of.further->back()) = naming{};
    unused_.push_back(of.further->back());
    if (of.further->size() == 1) {
      of.further.reset();
      return;
    }
  }
}

void lane_names::close(std::uint32_t list) {
  forget(list, 0);
  naming& closed = at(list);
  drop_numbers(closed, 0);
  arena_give(arena_kind::names, closed.names, closed.capacity * sizeof(engine_hash));
  written_bytes_ -= closed.capacity * sizeof(engine_hash);
  closed = naming{};
  unused_.push_back(list);
}

void lane_names::shorten(std::uint32_t list, std::uint32_t end) {
  naming& of = at(list);
  if (end >= of.end() || end < of.first) return;
  forget(list, end - of.first);
  of.count = end - of.first;
  drop_numbers(of, of.count);
  if (of.gaps) std::erase_if(*of.gaps, [end](std::uint32_t offset) { return offset >= end; });
}

/// Name number `index` of a list, which is written down after this call, found or not.
bool lane_names::enter(std::uint32_t list, std::uint32_t index, engine_hash name, std::uint64_t hash) {
  if (index != 0 && index % part_names == 0) {
    const std::uint32_t number = new_number();
    naming& further = at(number);
    further.goes_on_for = list;
    further.part = index / part_names;
    auto& numbers = at(list).further;
    if (!numbers) numbers = std::make_unique<std::vector<std::uint32_t>>();
    numbers->push_back(number);
  }
  if (number_for(list, index) >= most_lists) return false;
  const std::uint64_t space = at(list).space;
  const bool is_known = table_.find(hash, [&](std::uint32_t other_place) {
    const name_spot spot = spot_at(other_place);
    const naming& other = at(spot.list);
    return other.space == space && other.has(spot.offset, name);
  });
  return !is_known && table_.add(hash, place_of(list, index), *this);
}

std::uint32_t lane_names::fit(std::uint32_t list, std::uint32_t offset, std::span<const engine_hash> names) {
  naming& in = at(list);
  if (offset < in.first || offset > in.end()) return 0;
  std::size_t accepted = 0;
  if (offset < in.end()) {
    const std::span<const engine_hash> known = in.all().subspan(offset - in.first);
    const std::size_t both = std::min(known.size(), names.size());
    accepted =
        common_prefix(reinterpret_cast<const std::uint64_t*>(known.data()), reinterpret_cast<const std::uint64_t*>(names.data()), both);
    if (in.gaps) {
      const auto gap = std::ranges::lower_bound(*in.gaps, offset);
      if (gap != in.gaps->end()) accepted = std::min<std::size_t>(accepted, *gap - offset);
    }
    if (accepted < both) return static_cast<std::uint32_t>(accepted);
  }
  reserve(in, in.count + static_cast<std::uint32_t>(names.size() - accepted));
  const std::uint64_t space = in.space;
  std::array<std::uint64_t, batch> hashes;
  while (accepted < names.size()) {
    const std::size_t some = std::min(names.size() - accepted, batch);
    for (std::size_t i = 0; i < some; ++i) {
      hashes[i] = hash_of(space, names[accepted + i]);
      table_.prefetch(hashes[i]);
    }
    for (std::size_t i = 0; i < some; ++i) table_.prefetch_more(hashes[i]);
    for (std::size_t i = 0; i < some; ++i, ++accepted) {
      const std::uint32_t block = in.end();
      const bool is_found = enter(list, in.count, names[accepted], hashes[i]);
      in.names[in.count++] = names[accepted];
      if (is_found) continue;
      if (!in.gaps) in.gaps = std::make_unique<std::vector<std::uint32_t>>();
      in.gaps->push_back(block);  // keeps its place in the list, so that those behind it can still be named
      return static_cast<std::uint32_t>(accepted);
    }
  }
  return static_cast<std::uint32_t>(accepted);
}

std::size_t lane_names::bytes_in_use() const noexcept {
  constexpr std::size_t bytes_per_name = 11;  // a tenth of a line of the table, which is some two thirds full
  return written_bytes_ + table_.size() * bytes_per_name + (lists_ - unused_.size()) * sizeof(naming);
}

std::size_t lane_names::bytes() const noexcept {
  return table_.bytes() + pages_.size() * sizeof(page) + written_bytes_;
}

}  // namespace kvc::core

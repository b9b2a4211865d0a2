#include "core/lane_names.hpp"

#include <algorithm>
#include <array>
#include <cstring>
#include <memory>
#include <new>
#include <utility>

#include "core/arena.hpp"
#include "core/bring_near.hpp"
#include "core/hash_compare.hpp"
#include "core/run.hpp"

namespace kvc::core {

name_spot lane_names::spot_at(std::uint32_t place) const noexcept {
  const std::uint32_t number = place >> part_bits;
  const naming& entry = at(number);
  if (entry.goes_on_for == naming::no_list) return {number, entry.first + place % part_names};
  return {entry.goes_on_for, at(entry.goes_on_for).first + entry.first * part_names + place % part_names};
}

std::uint32_t lane_names::number_for(std::uint32_t list, std::uint32_t index) const noexcept {
  return index < part_names ? list : (*at(list).further)[index / part_names - 1];
}

std::uint32_t lane_names::place_of(std::uint32_t list, std::uint32_t index) const noexcept {
  return number_for(list, index) << part_bits | index % part_names;
}

void lane_names::hashes_at(std::span<const std::uint32_t> places, std::uint64_t* hashes) const {
  const auto expect = [this](unsigned step, std::uint32_t place) {
    const naming& entry = at(place >> part_bits);
    if (step == 1) {
      bring_within_reach(&entry);
    } else if (entry.goes_on_for == naming::no_list) {
      if (step == 2) bring_within_reach(entry.names + place % part_names);
    } else if (step == 2) {
      bring_within_reach(&at(entry.goes_on_for));
    } else {
      bring_within_reach(at(entry.goes_on_for).names + entry.first * part_names + place % part_names);
    }
  };
  hash_in_turn<3>(places, hashes, expect, [this](std::uint32_t place) {
    const name_spot spot = spot_at(place);
    const naming& list = at(spot.list);
    return name_hasher(list.space)(list.names[spot.offset - list.first]);
  });
}

std::optional<name_spot> lane_names::find(std::uint64_t space, engine_hash name) const {
  name_spot found;
  const bool is_known = table_.find(name_hasher(space)(name), [&](std::uint32_t place) {
    found = spot_at(place);
    const naming& list = at(found.list);
    return list.space == space && list.has(found.offset, name);
  });
  if (!is_known) return std::nullopt;
  return found;
}

void lane_names::prefetch(std::uint64_t space, std::span<const engine_hash> names) const noexcept {
  table_.prefetch(names, name_hasher(space));
  near_[next_near_] = names;
  next_near_ = (next_near_ + 1) % near_.size();
}

void lane_names::prefetch_now(std::uint64_t space, std::span<const engine_hash> names) const noexcept {
  const bool is_near =
      std::ranges::any_of(near_, [&](const auto& asked) { return asked.data() == names.data() && asked.size() == names.size(); });
  if (!is_near) prefetch(space, names);
}

std::uint32_t lane_names::expect(unsigned step, std::uint64_t space, engine_hash name) const noexcept {
  std::uint32_t place = 0;
  if (!table_.find(name_hasher(space)(name), [&](std::uint32_t guess) { return place = guess, true; })) return naming::no_list;
  if (step == 2) {
    bring_within_reach(&at(place >> part_bits));
    return naming::no_list;
  }
  const name_spot guess = spot_at(place);
  const naming& list = at(guess.list);
  if (list.in == nullptr) return naming::no_list;
  if (step == 4) {
    const run_column* const column = list.in->column.load(std::memory_order_relaxed);  // looked at by nobody here
    bring_within_reach(column);
    bring_within_reach(column->locals() + guess.offset + 1);
    return naming::no_list;
  }
  list.in->prefetch();
  if (guess.offset >= list.first) bring_within_reach(list.names + (guess.offset - list.first));
  return list.last_holding;
}

std::uint32_t lane_names::new_number() {
  if (first_unused_ != naming::no_list) {
    ++in_use_;
    return std::exchange(first_unused_, at(first_unused_).first);
  }
  give_back_pages();
  if (end_ == numbered_.size()) numbered_.grow();
  ++in_use_;
  return end_++;
}

void lane_names::give_back_number(std::uint32_t number) {
  at(number) = naming{};
  if (number + 1 == end_) {
    --end_;
  } else {
    at(number).first = std::exchange(first_unused_, number);
  }
  if (--in_use_ == 0) {  // numbers begin anew
    first_unused_ = naming::no_list;
    end_ = 0;
  }
  give_back_pages();
}

/// Some of those that no number is on but the first of them, as long as there are any, with every number that comes or goes.
void lane_names::give_back_pages() {
  const std::size_t kept = std::size_t{(end_ + numbers_per_page - 1) / numbers_per_page + 1} * numbers_per_page;
  for (std::uint32_t i = 0; i < pages_at_once && numbered_.size() > kept; ++i) numbered_.drop_last_page();
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
  for (std::uint32_t list = 0; list < numbered_.size(); ++list)
    arena_give(arena_kind::names, at(list).names, at(list).capacity * sizeof(engine_hash));
}

void lane_names::reserve(naming& list, std::uint32_t names) {
  if (names <= list.capacity) return;
  // A prompt comes at once, and what its answer adds block by block: some room for that, or else much.
  const std::uint32_t wanted = list.capacity == 0 ? names + room_behind(names) : std::max(names, list.capacity + list.capacity / 4);
  auto* const wider = static_cast<engine_hash*>(arena_take(arena_kind::names, wanted * sizeof(engine_hash)));
  if (list.count != 0) std::memcpy(wider, list.names, list.count * sizeof(engine_hash));
  arena_give(arena_kind::names, list.names, list.capacity * sizeof(engine_hash));
  written_bytes_ += (wanted - list.capacity) * sizeof(engine_hash);
  list.names = wider;
  list.capacity = wanted;
}

/// Exchanges the room of a list that has become much shorter for less. A list whose room is mostly used keeps it, since it may grow again.
void lane_names::give_back_room(naming& list) {
  if (list.capacity < least_given_back || list.count >= list.capacity / 4) return;
  const std::uint32_t wanted = list.count + room_behind(list.count);
  engine_hash* narrower = nullptr;
  if (wanted != 0) {
    try {
      narrower = static_cast<engine_hash*>(arena_take(arena_kind::names, wanted * sizeof(engine_hash)));
    } catch (const std::bad_alloc&) {
      return;  // the room that it has will do
    }
    std::memcpy(narrower, list.names, list.count * sizeof(engine_hash));
  }
  arena_give(arena_kind::names, list.names, list.capacity * sizeof(engine_hash));
  written_bytes_ -= (list.capacity - wanted) * sizeof(engine_hash);
  list.names = narrower;
  list.capacity = wanted;
}

/// Takes the names from number `from` of a list on out of the table.
void lane_names::forget(std::uint32_t list, std::uint32_t from) {
  const naming& of = at(list);
  const name_hasher hash_of(of.space);
  for (std::uint32_t done = from; done < of.count;) {
    const std::uint32_t some = at_once(done, of.count - done);
    const std::span<const engine_hash> names(of.names + done, some);
    const std::uint32_t first = place_of(list, done);
    if (some == 1) {
      table_.remove(hash_of(names[0]), first);
    } else {
      const auto rest = table_.remove_most(names, hash_of, first);
      for (const std::uint8_t which : rest.all()) table_.remove(hash_of(names[which]), first + which);
    }
    done += some;
    // Of a segment many names go before it is sparse, so that it is enough to look for one in some sixteen.
    forgotten_ += some;
    if (forgotten_ < names_between_looks) continue;
    forgotten_ = 0;
    for (std::size_t i = 0; i < some; i += names_between_looks) table_.join_sparse(hash_of(names[i]), *this);
  }
}

/// Gives back the further numbers of a list that shall have no more than `names_kept` names.
void lane_names::drop_numbers(naming& of, std::uint32_t names_kept) {
  if (!of.further) return;
  for (; of.further->size() * part_names >= std::max(names_kept, 1U); of.further->pop_back()) {
    give_back_number(of.further->back());
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
  give_back_number(list);
}

void lane_names::shorten(std::uint32_t list, std::uint32_t end) {
  naming& of = at(list);
  if (end >= of.end() || end < of.first) return;
  forget(list, end - of.first);
  of.count = end - of.first;
  drop_numbers(of, of.count);
  give_back_room(of);
  if (of.gaps) std::erase_if(*of.gaps, [end](std::uint32_t offset) { return offset >= end; });
}

void lane_names::hand_over(std::uint32_t from, std::uint32_t start, std::uint32_t count, std::uint32_t to) {
  shorten(from, start + count);
  naming& old = at(from);
  naming& taker = at(to);
  const name_hasher hash_of(old.space);
  const std::uint32_t index = start - old.first;
  reserve(taker, count);
  std::copy_n(old.names + index, count, taker.names);
  taker.count = count;
  for (std::uint32_t done = 0; done < count;) {
    const std::uint32_t some = at_once(index + done, count - done);
    const std::span<const engine_hash> names(taker.names + done, some);
    const std::uint32_t before = place_of(from, index + done);
    const std::uint32_t now = place_of(to, done);
    const auto rest = table_.renumber_most(names, hash_of, before, now);
    for (const std::uint8_t which : rest.all()) table_.renumber(hash_of(names[which]), before + which, now + which);
    done += some;
  }
  old.count = index;
  drop_numbers(old, index);
  give_back_room(old);
}

/// The place of name number `index`, the next one, of a list; none when there are no more numbers.
std::optional<std::uint32_t> lane_names::next_place(std::uint32_t list, std::uint32_t index) {
  if (index != 0 && index % part_names == 0) {
    auto& numbers = at(list).further;
    if (!numbers) numbers = std::make_unique<std::vector<std::uint32_t>>();
    if (numbers->size() == numbers->capacity()) numbers->reserve(2 * numbers->size() + 1);  // before the number is taken
    const std::uint32_t number = new_number();
    naming& further = at(number);
    further.goes_on_for = list;
    further.first = index / part_names;
    numbers->push_back(number);
  }
  if (number_for(list, index) >= most_lists) return std::nullopt;
  return place_of(list, index);
}

/// Enters the names from number `from` of a list on, which are written down already and of which places begin at `first`, at most as many
/// as the table takes together. Answers how many: the next one is known at another place, or the table takes no more.
std::uint32_t lane_names::enter(std::uint32_t list, std::uint32_t from, std::uint32_t first) {
  const naming& in = at(list);
  const name_hasher hash_of(in.space);
  const std::span<const engine_hash> names(in.names + from, in.count - from);
  if (names.size() == 1 && table_.add_if_unmistakable(hash_of(names[0]), first)) return 1;
  const auto rest = table_.add_most(names, hash_of, first);
  for (std::size_t i = 0; i < rest.count; ++i) {
    const std::uint8_t which = rest.which[i];
    const std::uint64_t hash = hash_of(names[which]);
    const bool is_known = table_.find(hash, [&](std::uint32_t other_place) {
      const name_spot spot = spot_at(other_place);
      const naming& other = at(spot.list);
      return other.space == in.space && other.has(spot.offset, names[which]);
    });
    if (!is_known && table_.add(hash, first + which, *this)) continue;
    // Those behind it that were added already are taken out again.
    const auto undone = rest.all().subspan(i + 1);
    for (std::uint32_t later = which + 1U; later < names.size(); ++later) {
      if (!std::ranges::binary_search(undone, later)) table_.remove(hash_of(names[later]), first + later);
    }
    return which;
  }
  return static_cast<std::uint32_t>(names.size());
}

/// The name at a block of the list can be read in it and not be found. Behind all the others.
void lane_names::note_gap(naming& list, std::uint32_t offset) {
  if (!list.gaps) list.gaps = std::make_unique<std::vector<std::uint32_t>>();
  list.gaps->push_back(offset);
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
  while (accepted < names.size()) {
    const std::uint32_t from = in.count;
    const std::optional<std::uint32_t> place = next_place(list, from);
    const std::uint32_t some = at_once(from, static_cast<std::uint32_t>(names.size() - accepted));
    const auto next = names.subspan(accepted, some);
    std::memcpy(in.names + from, next.data(), next.size_bytes());  // std::copy takes them one by one: they are not trivial to make
    in.count += some;
    std::uint32_t entered = 0;
    try {
      if (place) entered = enter(list, from, *place);
      // One refused keeps its place in the list, so that those behind it can still be named.
      if (entered != some) note_gap(in, in.first + from + entered);
    } catch (...) {  // a name that stands here and cannot be found would be taken for one that can
      forget(list, from);
      in.count = from;
      drop_numbers(in, from);
      throw;
    }
    accepted += entered;
    if (entered == some) continue;
    in.count = from + entered + 1;
    break;
  }
  return static_cast<std::uint32_t>(accepted);
}

std::size_t lane_names::bytes_in_use() const noexcept {
  constexpr std::size_t bytes_per_name = 11;  // a tenth of a line of the table, which is some two thirds full
  return written_bytes_ + table_.size() * bytes_per_name + in_use_ * sizeof(naming);
}

std::size_t lane_names::bytes() const noexcept {
  return table_.bytes() + numbered_.bytes() + written_bytes_;
}

}  // namespace kvc::core

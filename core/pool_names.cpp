// The names of pool_joiner: which block each of them means.
#include <algorithm>
#include <utility>

#include "core/block_hasher.hpp"
#include "core/pool_joiner.hpp"

namespace kvc::core {

std::uint32_t pool_joiner::node_of(std::uint16_t home, engine_hash name) {
  const std::uint64_t key = key_of(home, name);
  if (const std::uint32_t* const known = nodes_by_name_.find(key)) return *known;
  const std::uint32_t fresh = nodes_.take();
  nodes_[fresh].name = name;
  home_users_[0] += 3;  // all that a node names at first
  set_home(nodes_[fresh].home, home);
  nodes_by_name_.add(key, fresh);
  return fresh;
}

/// One of the homes that a node names.
void pool_joiner::set_home(std::uint16_t& which, std::uint16_t to) {
  if (to >= home_users_.size()) home_users_.resize(std::size_t{to} + 1);
  --home_users_[which];
  ++home_users_[to];
  which = to;
}

/// Behind a parent that engines of another adapter have explained there is no place for what is known to be of this one.
bool pool_joiner::is_told_by_tokens(const node& which) const {
  if (!which.locals || which.parent == no_record) return which.locals != nullptr;
  const node& parent = nodes_[which.parent];
  return parent.is == state::placed && (!which.is_home_told || parent.placed_home == which.home);
}

void pool_joiner::watch(std::uint32_t number) {
  node& which = nodes_[number];
  if (which.is_watched || is_told_by_tokens(which)) return;
  which.is_watched = true;
  const name_meaning means = around_->watch(which.home, which.name, which.is_home_told);
  tell(which.home, which.name, which.is_home_told, means);
}

/// It was said whose block the name means: what engines of other adapters have told no longer counts.
void pool_joiner::tell_home(std::uint32_t number) {
  node& which = nodes_[number];
  if (which.is_home_told) return;
  if (which.is_watched) around_->unwatch(which.home, which.name, false);
  const bool was_watched = std::exchange(which.is_watched, false);
  which.is_home_told = true;
  if (which.told.what == name_meaning::state::doubtful || which.told_home != which.home) which.told = {};
  if (was_watched || which.locals) watch(number);
  place(number);
}

void pool_joiner::link_to(std::uint32_t parent, std::uint32_t child) {
  nodes_[child].parent = parent;
  nodes_[child].next_child = std::exchange(nodes_[parent].first_child, child);
  if (nodes_[child].next_child != no_record) nodes_[nodes_[child].next_child].previous_child = child;
  chains_.link(child, parent);
}

void pool_joiner::unlink_from_parent(std::uint32_t child) {
  node& which = nodes_[child];
  if (which.parent == no_record) return;
  chains_.cut(child);
  if (nodes_[which.parent].next_to_follow == child) nodes_[which.parent].next_to_follow = which.next_child;
  (which.previous_child == no_record ? nodes_[which.parent].first_child : nodes_[which.previous_child].next_child) = which.next_child;
  if (which.next_child != no_record) nodes_[which.next_child].previous_child = which.previous_child;
  which.parent = no_record;
  which.next_child = no_record;
  which.previous_child = no_record;
}

/// What an event says of the tokens of a name goes before everything else; the newest event counts.
void pool_joiner::take_tokens(std::uint32_t number, const sighting& seen) {
  const std::uint32_t parent = seen.parent == nullptr ? no_record : node_of(seen.home, *seen.parent);
  node& which = nodes_[number];
  if (which.is_home_told && parent != no_record) tell_home(parent);  // that is in the same partition
  if (which.locals && which.parent == parent && std::ranges::equal(*which.locals, seen.locals)) return;
  // Somebody's mistake, or an attack: a block that stands behind itself stands nowhere. Only what has children can.
  if (parent == number) return;
  if (parent != which.parent && parent != no_record && which.first_child != no_record && chains_.is_behind(parent, number)) return;
  which.locals = std::make_unique<std::vector<local_hash>>(seen.locals.begin(), seen.locals.end());
  if (const std::uint32_t old = which.parent; old != parent) {
    unlink_from_parent(number);
    if (parent != no_record) {
      link_to(parent, number);
      watch(parent);
    }
    erase_unused(old);  // not before: the new one may stand before it
  }
  place(number);
}

/// A name nobody needs any more goes, and so may the one it stands behind.
void pool_joiner::erase_unused(std::uint32_t number) {
  while (number != no_record && nodes_[number].first_record == no_record && nodes_[number].first_child == no_record) {
    node& gone = nodes_[number];
    if (gone.is == state::doubtful) --figures_.doubtful;
    note_place(number, false);
    if (gone.is_watched) around_->unwatch(gone.home, gone.name, gone.is_home_told);
    const std::uint32_t parent = gone.parent;
    unlink_from_parent(number);
    nodes_by_name_.erase(key_of(gone.home, gone.name));
    for (const std::uint16_t home : {gone.home, gone.told_home, gone.placed_home}) --home_users_[home];
    nodes_.give_back(number);
    number = parent;
  }
}

void pool_joiner::tell(std::uint16_t home, engine_hash name, bool is_home_told, const name_meaning& means) {
  const std::uint32_t* const known = nodes_by_name_.find(key_of(home, name));
  if (known == nullptr || means.what == name_meaning::state::unknown) return;
  const std::uint32_t number = *known;
  node& which = nodes_[number];
  if (which.is_home_told != is_home_told) return;                // asked before it was said whose it is
  if (which.told.what == name_meaning::state::doubtful) return;  // words of several lanes may overtake each other: doubt stays
  if (means.what == name_meaning::state::known) {
    if (which.told.refines(means)) return;
    const std::uint16_t told_home = around_->home_of(home, means.adapter);
    if (told_home == no_home) return;
    const bool is_other = which.told.what == name_meaning::state::known && !which.told.is_same(means) && !means.refines(which.told);
    which.told = is_other ? name_meaning{.what = name_meaning::state::doubtful} : means;
    set_home(which.told_home, told_home);
  } else {
    which.told.what = name_meaning::state::doubtful;
  }
  const bool was_waiting = which.is == state::waiting;
  place(number);
  if (!was_waiting || which.is != state::placed) return;
  for (std::uint32_t each = which.first_record; each != no_record; each = records_[each].next) ++figures_.joined;
}

pool_joiner::where pool_joiner::place_of(const node& which) const {
  const auto at = [](state is, std::uint16_t home, seq_hash block) { return where{is, home, {block}}; };
  if (is_told_by_tokens(which)) {
    const bool is_root = which.parent == no_record;
    where found{state::placed, is_root ? which.home : nodes_[which.parent].placed_home, {}};
    for (const local_hash local : *which.locals) {
      const bool is_first = is_root && found.blocks.empty();
      const seq_hash previous = found.blocks.empty() ? (is_root ? seq_hash{} : nodes_[which.parent].block) : found.blocks.back();
      found.blocks.push_back(is_first ? first_in_sequence(local) : roll(previous, local, around_->seed(found.home)));
    }
    return found;
  }
  if (which.told.what == name_meaning::state::known) {
    where found = at(state::placed, which.told_home, which.told.block);
    if (which.told.before) found.blocks.insert(found.blocks.begin(), which.told.before->begin(), which.told.before->end());
    return found;
  }
  if (which.told.what == name_meaning::state::doubtful) return at(state::doubtful, which.home, {});
  return at(which.may_be_sequence ? state::placed : state::waiting, which.home, seq_hash{which.name.get()});
}

/// Writes down which blocks a name is placed at, if it is, or strikes that out.
void pool_joiner::note_place(std::uint32_t number, bool is_there) {
  const node& which = nodes_[number];
  if (which.is != state::placed) return;
  const auto note = [&](seq_hash block) {
    is_there ? nodes_by_block_.add(which.placed_home, block, number) : nodes_by_block_.remove(which.placed_home, block, number);
  };
  if (which.block.get() != which.name.get()) note(which.block);
  if (!which.before) return;
  for (const seq_hash block : *which.before) note(block);
}

void pool_joiner::names_of(std::uint16_t home, seq_hash block, std::vector<engine_hash>& into) const {
  nodes_by_block_.each(home, block, [&](std::uint32_t number) {
    const node& which = nodes_[number];
    const bool is_meant = which.block == block || (which.before && std::ranges::find(*which.before, block) != which.before->end());
    if (which.placed_home == home && is_meant) into.push_back(which.name);
  });
}

/// Finds the place of a name anew; what stands behind it follows later. Returns how many blocks it is of.
std::size_t pool_joiner::place(std::uint32_t number) {
  node& which = nodes_[number];
  where found = place_of(which);
  const std::size_t blocks = found.blocks.size();
  const std::size_t before = which.before ? which.before->size() : 0;
  const bool is_same = found.is == which.is && found.home == which.placed_home && found.blocks.back() == which.block &&
                       blocks == before + 1 &&
                       (before == 0 || std::equal(which.before->begin(), which.before->end(), found.blocks.begin()));
  if (is_same) return blocks;

  for (std::uint32_t each = which.first_record; each != no_record; each = records_[each].next) {
    hold(records_[each], std::exchange(records_[each].held, media_mask{0}), holding::ends);
  }
  note_place(number, false);
  if (which.is == state::doubtful) --figures_.doubtful;
  if (found.is == state::doubtful) ++figures_.doubtful;
  which.is = found.is;
  set_home(which.placed_home, found.home);
  which.block = found.blocks.back();
  found.blocks.pop_back();
  which.before = found.blocks.empty() ? nullptr : std::make_unique<std::vector<seq_hash>>(std::move(found.blocks));
  note_place(number, true);
  for (std::uint32_t each = which.first_record; each != no_record; each = records_[each].next) {
    unlink(each);
    link(each, which.is != state::placed);
    refresh(each);
  }
  which.next_to_follow = which.first_child;  // all of them again, if they were in the middle of it
  if (which.first_child != no_record && !std::exchange(which.is_followed, true)) moved_.push_back(number);
  return blocks;
}

/// Each child of a moved name is placed, and may have been moved by that. True when none is left.
bool pool_joiner::follow_some(std::size_t& budget) {
  while (!moved_.empty() && budget != 0) {
    node& moved = nodes_[moved_.front()];
    const std::uint32_t child = moved.next_to_follow;
    if (child != no_record) moved.next_to_follow = nodes_[child].next_child;
    if (moved.next_to_follow == no_record) {
      moved.is_followed = false;
      moved_.pop_front();
    }
    budget -= std::min(budget, child == no_record ? 1 : place(child));
    if (child != no_record) watch(child);  // behind what has no place any more it is where engines say
    keep_bounds();
  }
  return moved_.empty();
}

}  // namespace kvc::core

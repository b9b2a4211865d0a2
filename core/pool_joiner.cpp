#include "core/pool_joiner.hpp"

#include <algorithm>
#include <bit>
#include <limits>
#include <utility>

#include "core/mixed_bits.hpp"

namespace kvc::core {
namespace {

constexpr std::uint16_t most_objects_of_record = std::numeric_limits<std::uint16_t>::max();

}  // namespace

pool_joiner::pool_joiner(const options& with, surroundings& around) : options_(with), around_(&around), layouts_(with.layouts) {}

std::uint64_t pool_joiner::key_of(std::uint16_t home, engine_hash name) noexcept {
  return name.get() ^ (home * golden);
}

/// The name under which a block is held: the engines' own where one name stands for one block, as in nearly all stores.
engine_hash pool_joiner::held_name(const record& of, std::size_t from_end) const noexcept {
  const node& named = nodes_[of.named];
  const std::uint64_t copy = std::uint64_t{named.home} << 48 | std::uint64_t{of.layout} << 32 | (from_end & 0xFFFF'FFFF);
  return engine_hash{named.name.get() ^ (copy * golden)};
}

std::uint32_t pool_joiner::record_of(std::uint32_t named, pool_layouts::number layout) {
  for (std::uint32_t each = nodes_[named].first_record; each != no_record; each = records_[each].next) {
    if (records_[each].layout == layout) return each;
  }
  const std::uint32_t fresh = records_.take();
  records_made_ = std::max(records_made_, fresh + 1);
  record& made = records_[fresh];
  made.named = named;
  made.layout = layout;
  layouts_.begin_use(layout);
  made.next = std::exchange(nodes_[named].first_record, fresh);
  link(fresh, nodes_[named].is != state::placed);
  return fresh;
}

void pool_joiner::put(const sighting& seen, media_mask on, bool only) {
  if (const std::uint32_t* const known = objects_by_id_.find(seen.object)) {
    const std::uint32_t number = *known;
    const record& in = records_[objects_[number].in];
    if (nodes_[in.named].name == seen.name && nodes_[in.named].home == seen.home) {
      if (seen.is_home_told) tell_home(in.named);
      if (!seen.locals.empty()) {
        take_tokens(in.named, seen);
        watch(in.named);
      }
      return move(seen.object, on, only);
    }
    erase_object(number);  // the same object is said to be another block's: the newest word counts
  }
  if (on == 0) return;
  const pool_layouts::number layout = layouts_.find(seen.layout, seen.has_parts, seen.ranks);
  if (layout == pool_layouts::none) {
    ++figures_.dropped;
    return;
  }
  const std::uint32_t named = node_of(seen.home, seen.name);
  node& of = nodes_[named];
  of.may_be_sequence = of.may_be_sequence || seen.may_be_sequence;
  const std::uint32_t in = record_of(named, layout);
  if (records_[in].any == most_objects_of_record) {
    ++figures_.dropped;
    return;
  }
  const std::uint32_t fresh = objects_.take();
  object& made = objects_[fresh];
  made.id = seen.object;
  made.in = in;
  made.next = std::exchange(records_[in].first_object, fresh);
  if (made.next != no_record) objects_[made.next].previous = fresh;
  objects_by_id_.add(seen.object, fresh);

  if (seen.is_home_told) tell_home(named);
  if (!seen.locals.empty()) take_tokens(named, seen);
  watch(named);
  place(named);
  if (layouts_.see(layout, seen.part, now_)) to_refresh_ = records_made_;
  // What the index has given up for its byte budget, or was told to forget by the block's name alone, comes back with the next word about
  // it.
  hold(records_[in], records_[in].held & on, holding::goes_on);
  set_media(fresh, on);
  keep_bounds();
}

void pool_joiner::move(std::uint64_t id, media_mask to, bool only) {
  const std::uint32_t* const known = objects_by_id_.find(id);
  if (known == nullptr) return;
  const std::uint32_t number = *known;
  const media_mask on = only ? to : static_cast<media_mask>(to | objects_[number].media);
  if (on == 0) return erase_object(number);
  const std::uint32_t in = objects_[number].in;
  const bool is_waiting = records_[in].is_waiting;
  unlink(in);  // told of again: as young as any
  link(in, is_waiting);
  // What the index has given up for its byte budget comes back with the next word about it; of other media nothing was said.
  hold(records_[in], records_[in].held & to, holding::goes_on);
  set_media(number, on);
}

bool pool_joiner::remove(std::uint64_t id, media_mask from) {
  const std::uint32_t* const known = objects_by_id_.find(id);
  if (known == nullptr || (objects_[*known].media & from) == 0) return false;
  const std::uint32_t number = *known;
  const auto left = static_cast<media_mask>(objects_[number].media & ~from);
  if (left == 0) {
    erase_object(number);
  } else {
    set_media(number, left);
  }
  return true;
}

bool pool_joiner::remove_block(std::uint16_t home, engine_hash name, media_mask from) {
  const std::uint32_t* const known = nodes_by_name_.find(key_of(home, name));
  if (known == nullptr) return false;
  std::vector<std::uint64_t> those;  // first, since the last one to go takes the node along
  for (std::uint32_t in = nodes_[*known].first_record; in != no_record; in = records_[in].next) {
    for (std::uint32_t each = records_[in].first_object; each != no_record; each = objects_[each].next) {
      if ((objects_[each].media & from) != 0) those.push_back(objects_[each].id);
    }
  }
  for (const std::uint64_t id : those) (void)remove(id, from);
  return !those.empty();
}

/// Other homes, layouts and places within an object change the name, see held_name: by chance only would that meet another's.
bool pool_joiner::keeps(engine_hash held_as, media_mask on, std::optional<std::uint16_t> only) const {
  const std::uint32_t* const known = nodes_by_name_.find(key_of(0, held_as));
  if (known == nullptr) return false;
  const node& of = nodes_[*known];
  if (only && of.placed_home != *only && of.block.get() == held_as.get()) return false;
  for (std::uint32_t each = nodes_[*known].first_record; each != no_record; each = records_[each].next) {
    if (records_[each].layout == 0) return (records_[each].held & on) != 0;
  }
  return false;
}

void pool_joiner::set_media(std::uint32_t number, media_mask media) {
  object& which = objects_[number];
  record& in = records_[which.in];
  if (which.media == 0 && media != 0) ++in.any;
  if (which.media != 0 && media == 0) --in.any;
  for (unsigned rest = which.media & ~media; rest != 0; rest &= rest - 1) --in.on[static_cast<std::size_t>(std::countr_zero(rest))];
  for (unsigned rest = media & ~which.media; rest != 0; rest &= rest - 1) ++in.on[static_cast<std::size_t>(std::countr_zero(rest))];
  which.media = media;
  refresh(which.in);
}

void pool_joiner::erase_object(std::uint32_t number) {
  set_media(number, 0);
  const object& gone = objects_[number];
  const std::uint32_t in = gone.in;
  (gone.previous == no_record ? records_[in].first_object : objects_[gone.previous].next) = gone.next;
  if (gone.next != no_record) objects_[gone.next].previous = gone.previous;
  objects_by_id_.erase(gone.id);
  objects_.give_back(number);
  if (records_[in].first_object != no_record) return;

  const std::uint32_t named = records_[in].named;
  std::uint32_t* link_to = &nodes_[named].first_record;
  while (*link_to != in) link_to = &records_[*link_to].next;
  *link_to = records_[in].next;
  if (records_[in].is_incomplete) --figures_.incomplete;
  unlink(in);
  layouts_.end_use(records_[in].layout);
  records_.give_back(in);
  erase_unused(named);
}

void pool_joiner::hold(const record& which, media_mask on, holding how) {
  const node& of = nodes_[which.named];
  const std::size_t blocks = 1 + (of.before ? of.before->size() : 0);
  for (unsigned rest = on; rest != 0; rest &= rest - 1) {
    const auto medium = static_cast<medium_id>(std::countr_zero(rest));
    for (std::size_t i = 0; i < blocks; ++i) {
      const std::size_t from_end = blocks - 1 - i;
      const engine_hash name = held_name(which, from_end);
      const seq_hash block = from_end == 0 ? of.block : (*of.before)[i];
      if (how == holding::begins) around_->hold(of.placed_home, name, block, medium);
      if (how == holding::goes_on) around_->hold_again(of.placed_home, name, block, medium);
      if (how == holding::ends) around_->release(of.placed_home, name, medium);
    }
  }
}

void pool_joiner::refresh(std::uint32_t number) {
  record& which = records_[number];
  const bool is_placed = nodes_[which.named].is == state::placed;
  media_mask wanted = 0;
  if (const std::uint32_t needed = layouts_.needed(which.layout); is_placed && needed != 0) {
    for (std::size_t i = 0; i < max_media; ++i) {
      if (which.on[i] >= needed) wanted = static_cast<media_mask>(wanted | mask_of(static_cast<medium_id>(i)));
    }
    if (wanted == 0 && which.any >= needed) {
      const auto several = around_->mixed();
      if (several) wanted = mask_of(*several);
    }
  }
  const media_mask held = std::exchange(which.held, wanted);
  hold(which, static_cast<media_mask>(held & ~wanted), holding::ends);
  hold(which, static_cast<media_mask>(wanted & ~held), holding::begins);
  const bool is_incomplete = is_placed && wanted == 0;
  if (is_incomplete && !which.is_incomplete) ++figures_.incomplete;
  if (!is_incomplete && which.is_incomplete) --figures_.incomplete;
  which.is_incomplete = is_incomplete;
}

void pool_joiner::drop(std::uint32_t number) {
  ++figures_.dropped;
  while (true) {
    const std::uint32_t first = records_[number].first_object;
    const bool is_last = objects_[first].next == no_record;
    erase_object(first);
    if (is_last) return;  // the record went with it
  }
}

void pool_joiner::keep_bounds() {
  while (waiting_.count > options_.max_waiting) drop(waiting_.oldest);
  while (objects_.size() > options_.max_objects) drop(waiting_.count != 0 ? waiting_.oldest : placed_.oldest);
}

void pool_joiner::link(std::uint32_t number, bool is_waiting) {
  order& in = is_waiting ? waiting_ : placed_;
  record& which = records_[number];
  which.is_waiting = is_waiting;
  which.newer = no_record;
  which.older = std::exchange(in.newest, number);
  (which.older == no_record ? in.oldest : records_[which.older].newer) = number;
  ++in.count;
}

void pool_joiner::unlink(std::uint32_t number) {
  const record& which = records_[number];
  order& in = which.is_waiting ? waiting_ : placed_;
  (which.older == no_record ? in.oldest : records_[which.older].newer) = which.newer;
  (which.newer == no_record ? in.newest : records_[which.newer].older) = which.older;
  --in.count;
}

void pool_joiner::pass_time(time_point now) {
  now_ = now;
  if (layouts_.pass_time(now)) to_refresh_ = records_made_;
}

bool pool_joiner::refresh_some(std::size_t budget) {
  if (!follow_some(budget)) return false;
  for (; to_refresh_ != 0 && budget != 0; --budget) {
    --to_refresh_;
    if (records_[to_refresh_].named != no_record) refresh(to_refresh_);
  }
  return to_refresh_ == 0;
}

bool pool_joiner::clear_some(media_mask which, const std::function<bool(std::uint16_t)>& is_meant, std::size_t budget) {
  if (to_clear_ == no_record) to_clear_ = records_made_;
  for (; to_clear_ != 0 && budget != 0; --budget) {
    const std::uint32_t number = --to_clear_;
    if (records_[number].named == no_record || (is_meant && !is_meant(nodes_[records_[number].named].home))) continue;
    for (std::uint32_t each = records_[number].first_object; each != no_record;) {
      const std::uint32_t next = objects_[each].next;
      (void)remove(objects_[each].id, which);
      each = next;
    }
  }
  if (to_clear_ != 0) return false;
  to_clear_ = no_record;
  if (objects_.size() == 0) moved_.clear();  // no name is left either
  if (nodes_.size() == 0) chains_.clear();
  if (which == all_media && !is_meant && objects_.size() == 0) {
    layouts_.forget();
    records_made_ = 0;
    to_refresh_ = 0;
  }
  return true;
}

pool_joiner::figures pool_joiner::now() const noexcept {
  figures all = figures_;
  all.objects = objects_.size();
  all.waiting = waiting_.count;
  all.unsure = layouts_.unsettled();
  return all;
}

}  // namespace kvc::core

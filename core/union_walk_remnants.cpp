// Where union_walk looks at single blocks: behind holes, and those that stand in no run.
#include <algorithm>
#include <bit>

#include "core/union_walk.hpp"

namespace kvc::core {

/// The bits of what a runner has on a medium, one for each block of the run in hand; valid until others are asked for.
std::uint64_t* union_walk::remnant_of(runner& own, media_mask medium) {
  std::uint32_t found = own.more == 0 ? no_remnant : own.first_remnant;
  while (found != no_remnant && remnants_[found].medium != medium) found = remnants_[found].next;
  if (found == no_remnant) {
    found = static_cast<std::uint32_t>(remnants_.size());
    remnants_.push_back({.medium = medium, .next = own.more == 0 ? no_remnant : own.first_remnant, .first_word = bits_.size()});
    bits_.resize(bits_.size() + (length_ + 63) / 64);
    own.first_remnant = found;
    own.more |= medium;
  }
  return bits_.data() + remnants_[found].first_word;
}

/// Finds out which slots hold blocks behind holes. Before cells are looked at: a hole that is healed meanwhile may leave its cell as it
/// was, but what is found here stays true of some moment.
void union_walk::note_holes(const kvc::core::run& in) {
  const held_bits* bits = in.holes.load(std::memory_order_acquire);
  if (bits == nullptr) return;
  holes_.resize(std::max<std::size_t>(holes_.size(), roster_.slots()));
  for (; bits != nullptr; bits = bits->next.load(std::memory_order_acquire)) {
    if (bits->slot < holes_.size() && holes_[bits->slot].run != run_) holes_[bits->slot] = {run_, bits};
  }
}

const held_bits* union_walk::bits_of(const kvc::core::run& in, std::uint32_t slot) const noexcept {
  if (slot < holes_.size() && holes_[slot].run == run_) return holes_[slot].bits;
  const held_bits* bits = in.holes.load(std::memory_order_acquire);  // it is newer than the look at all of them
  while (bits != nullptr && bits->slot != slot) bits = bits->next.load(std::memory_order_acquire);
  return bits;
}

/// A reader or the pools hold blocks that stand in no run, at the places of blocks `from` to `to` (exclusive) of the run in hand.
void union_walk::note_lone(std::uint32_t who, medium_id medium, std::uint32_t from, std::uint32_t to) {
  runner& own = runners_[who];
  own.come_to(run_);
  std::uint64_t* const bits = remnant_of(own, mask_of(medium));
  for (std::uint32_t at = from; at < to; at = (at / 64 + 1) * 64) {
    const std::uint32_t here = std::min(to - at, 64 - at % 64);
    bits[at / 64] |= ~std::uint64_t{0} >> (64 - here) << (at % 64);
  }
}

void union_walk::visit_lone_blocks(const holder_list& by, std::uint32_t from, std::uint32_t to) {
  for (const holder& each : by) visit_lone_holder(each, from, to);
}

/// What one holder of such blocks is to the query, and that it holds them.
void union_walk::visit_lone_holder(const holder& by, std::uint32_t from, std::uint32_t to) {
  using role = runner::role;
  if ((mask_of(by.medium) & scope_->media) == 0) return;
  const auto note_reader_of = [&](std::uint32_t number, worker_id reader) {
    if (const runner& own = runners_[number]; !own.is_on) {
      if (own.is_listed || !pools_before_.is_on) return;
      join(number, reader);  // see note_reader
    }
    note_lone(number, by.medium, from, to);
  };
  const worker_id worker{by.worker};
  const std::uint32_t who = roster_.number_of(worker);
  switch (meet(who, worker)) {
    case role::nobody: return;
    case role::reader: return note_reader_of(who, worker);
    case role::shared_pool: return note_lone(the_pools, by.medium, from, to);
    case role::private_pool: break;
  }
  for (const worker_id user : scope_->private_pools[runners_[who].row].users) {
    const std::uint32_t number = roster_.number_of(user);
    if (meet(number, user) == role::reader) note_reader_of(number, user);
  }
}

/// The first block from `from` on, at most the end of the run in hand, that a remnant has not.
std::uint32_t union_walk::held_until(const remnant& of, std::uint32_t from) const noexcept {
  while (from < length_) {
    const auto ones = static_cast<std::uint32_t>(std::countr_one(bits_[of.first_word + from / 64] >> (from % 64)));
    from += ones;
    if (ones == 0 || from % 64 != 0) break;
  }
  return std::min(from, length_);
}

/// Whether a remnant has any block up to `last` of the run in hand.
bool union_walk::holds_any(const remnant& of, std::uint32_t last) const noexcept {
  for (std::uint32_t word = 0; word * 64 < length_ && word * 64 <= last; ++word) {
    const std::uint64_t bits = bits_[of.first_word + word];
    if (bits == 0) continue;
    const std::uint32_t first = word * 64 + static_cast<std::uint32_t>(std::countr_zero(bits));
    return first <= last && first < length_;
  }
  return false;
}

}  // namespace kvc::core

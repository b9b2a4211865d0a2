// How lane_holdings keeps trunks whole and dead ends short: cutting runs off where nobody holds them any more, or where one worker can
// move.
#include <algorithm>

#include "core/cell_sweep.hpp"
#include "core/lane_holdings.hpp"
#include "core/quiescence.hpp"

namespace kvc::core {
namespace {

constexpr std::uint32_t longest_moved_tail = lane_names::most_handed_over;  ///< blocks; some 5 us of work
constexpr std::uint32_t most_holders_asked = 128;  ///< of a run that was cut off, some 10 us; mostly they share one list

}  // namespace

void lane_holdings::make_way(run_store& store, run_place behind, std::span<const local_hash> locals, std::uint32_t visits) {
  run& in = *behind.in;
  const std::uint32_t length = behind.offset + 1;
  const auto blocks = in.blocks();
  if (length >= blocks.size() || blocks[length] == locals[0].get()) return;
  // The first branch at this block only: where many branch off, as behind a system prompt, moving each in turn would cost more than it
  // gives.
  if (in.child_end.load(std::memory_order_acquire) >= length) return;
  const auto [holders, slot] = find_reaching(in, length + 1, 2);
  if (holders == 0) {
    if (store.try_cut(in, length, visits)) forget_names_behind(store, in, length);
  } else if (holders == 1 && blocks.size() - length <= longest_moved_tail) {
    store.expect_move(in, length);
    const slot_owner who = store.slots().owner(slot);
    if (lane_holdings* const holder = names_->colleague(who.worker)) holder->take_tail_along(store, in, length, slot, who.medium, visits);
  }
}

/// The holders of this lane may share lists that name blocks behind the end of a run that was cut off there: other blocks may follow now.
///
/// Of a prompt that a large fleet holds only the first holders are asked. A name that stays in the list of another is never believed, since
/// nobody holds a block behind the cut: who is asked for a name answers for a block that he holds himself, under that list (`plain_on`,
/// `find_plain_on`), and he comes to hold one by telling its name, which the list must have there or take (`lane_names::fit`). So the name
/// either becomes right, told by somebody for the block that stands there now, or it is refused, here and wherever else it is told, and
/// what was told is held under an odd name.
void lane_holdings::forget_names_behind(const run_store& store, const run& in, std::uint32_t length) {
  std::uint32_t asked = 0;
  in.each_cell([&](std::uint32_t slot, cell_word) {
    if (++asked > most_holders_asked) return;
    const slot_owner who = store.slots().owner(slot);
    const lane_holdings* const holder = names_->colleague(who.worker);
    const std::uint32_t which = holder == nullptr ? none : holder->find(&in, who.medium);
    if (which != none && holder->all_[which].list != holding::no_list) names_->shorten(holder->all_[which].list, length);
  });
}

/// Whether letting go of the blocks from `cutoff` on, of `old_cutoff`, may leave more than half of a run to nobody. Inside a quiescent
/// scope.
bool lane_holdings::may_be_dead_end(const holding& of, std::uint32_t old_cutoff, std::uint32_t cutoff) {
  const std::size_t half = of.in->blocks().size() / 2;
  return old_cutoff > half && cutoff <= half;
}

/// When the last who held more than half of a run lets go of that, the rest is cut off; so no more than half of a run is kept for nobody,
/// unless something stands behind it.
void lane_holdings::cut_dead_end(holding& of, std::uint32_t old_cutoff) {
  const quiescent_scope reading;  // another lane may put a wider column in its place just now
  run& in = *of.in;
  if (!may_be_dead_end(of, old_cutoff, of.cutoff)) return;
  if (of.cutoff == 0 && in.users() == 1) return;  // the run is about to go
  const auto blocks = static_cast<std::uint32_t>(in.blocks().size());
  std::uint32_t needed = std::max<std::uint32_t>(in.child_end.load(std::memory_order_acquire), 1);
  if (needed > blocks / 2 || in.holes.load(std::memory_order_acquire) != nullptr) return;
  // Mostly somebody reaches as far still, which may be told by one cell of many thousands.
  if (find_reaching(in, blocks / 2 + 1, 1).count != 0) return;
  in.each_cell([&](std::uint32_t, cell_word word) { needed = std::max(needed, word.cutoff()); });
  if (needed > blocks / 2 || !of.store->try_cut(in, needed, 0)) return;
  forget_names_behind(*of.store, in, needed);
}

/// Makes room for noting one more move: few workers ever have many.
void lane_holdings::prepare_move() {
  constexpr std::uint64_t at_first = 16;
  if (moves_ == moved_to_.size() && moves_ < moves_kept) moved_to_.resize(std::max(moves_ * 2, at_first));
}

void lane_holdings::take_tail_along(run_store& store, run& from, std::uint32_t length, std::uint32_t slot, medium_id medium,
                                    std::uint32_t visits) {
  const std::uint32_t which = is_frozen_ ? none : find(&from, medium);
  if (which == none || all_[which].more || all_[which].slot != slot || all_[which].cutoff <= length) return;
  const naming& old = names_->at(all_[which].list);
  // Names that cannot be found could not be found under a new list either, and a list that begins behind the cut would have none before it.
  if (old.gaps || old.first > length || old.end() < all_[which].cutoff || !names_->may_open()) return;
  const std::uint32_t count = all_[which].cutoff - length;
  const std::uint64_t space = old.space;
  names_->prefetch(space, {old.names + (length - old.first), count});
  prepare_move();
  std::uint32_t moved = none;
  run_store::tail_move move;
  move.before = [&](run* child) {
    moved = open(store, child, all_[which].home, medium);
    try {
      all_[moved].list = names_->open(child, space, 0);
      ++names_->at(all_[moved].list).users;
      names_->hand_over(all_[which].list, length, count, all_[moved].list);
    } catch (...) {
      close_if_empty(moved);
      throw;
    }
    all_[moved].cutoff = count;
    publish(all_[moved]);
  };
  move.after = [&] {
    all_[which].cutoff = length;
    publish(all_[which]);
  };
  if (store.try_move_tail(from, length, visits, slot, move)) moved_to_[moves_++ % moves_kept] = moved;
}

}  // namespace kvc::core

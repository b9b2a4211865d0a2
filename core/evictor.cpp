#include "core/evictor.hpp"

#include <algorithm>
#include <cmath>
#include <iterator>
#include <utility>

namespace kvc::core {

void evictor::begin() {
  is_planning_ = true;
  at_ = {};
  ++counters_.cycles;
}

bool evictor::step(std::size_t budget) {
  while (is_planning_ && budget > 0) {
    if (!at_.is_open) {
      --budget;
      is_planning_ = next_salt();
      continue;
    }
    // The salt may have gone since the last step, and its number may have been given out again.
    const auto& by_age = ledger_.keys().salts().by_age();
    const auto found = by_age.find(at_.serial);
    if (found == by_age.end()) {
      at_.is_open = false;
      continue;
    }
    salt_state& salt = ledger_.keys().salts()[found->second];
    budget -= choose(salt, budget);
    if (has_enough(salt) || (is_at_end(salt) && !begin_again(salt))) {
      salt.cursor = no_record;
      at_.is_open = false;
    }
  }
  return !is_planning_;
}

/// Goes on to the next salt and opens it if it is over its limit. False after the last one.
bool evictor::next_salt() {
  salt_table& salts = ledger_.keys().salts();
  const auto next = salts.by_age().upper_bound(at_.serial);
  if (next == salts.by_age().end()) return false;
  at_ = {.serial = next->first};
  salt_state& salt = salts[next->second];
  const auto limit = quotas_.limit_of(salt.name);
  if (limit && salt.bytes > salt.bytes_in_flight) open(salt, *limit);
  return true;
}

void evictor::open(salt_state& salt, double limit) {
  at_.mark = options_.watermark * limit;  // in the precision of the limit, as clients compute it
  if (static_cast<long double>(salt.bytes - salt.bytes_in_flight) < at_.mark) return;
  const std::uint64_t available = salt.keys - salt.keys_in_flight;
  const double ratio = limit == 0 ? 1.0 : options_.ratio;
  const bool is_by_count = options_.unit == eviction_unit::keys;
  at_.wanted = available;
  if (is_by_count) {
    at_.wanted = static_cast<std::uint64_t>(std::floor(static_cast<double>(available) * ratio));
    if (at_.wanted == 0 && ratio > 0) at_.wanted = std::min<std::uint64_t>(1, available);
  }
  at_.unseen = salt.keys;
  const bool is_wanted_whole = limit == 0 || (is_by_count && at_.wanted == available);  // by bytes there is a mark in any case
  at_.takes_all = is_wanted_whole || counters_.cycles % cycles_until_retry == 0;
  at_.is_open = at_.wanted > 0;
  if (at_.is_open) salt.cursor = salt.oldest;
}

/// Whether no more is to be chosen here.
bool evictor::has_enough(const salt_state& salt) const noexcept {
  if (at_.wanted == 0) return true;
  return options_.unit == eviction_unit::bytes && static_cast<long double>(salt.bytes - salt.bytes_in_flight) < at_.mark;
}

/// The other keys were not enough: once more from the old end, now with those that are set aside. False when that was done.
bool evictor::begin_again(salt_state& salt) noexcept {
  if (at_.takes_all || ledger_.keys_set_aside() == 0) return false;
  at_.takes_all = true;
  at_.unseen = salt.keys;
  salt.cursor = salt.oldest;
  return true;
}

/// Looks at up to `budget` keys from the cursor on and answers how many it looked at, at least 1.
std::size_t evictor::choose(salt_state& salt, std::size_t budget) {
  const key_store& keys = ledger_.keys();
  std::size_t seen = 0;
  for (; seen < budget && !is_at_end(salt) && !has_enough(salt); ++seen) {
    const std::uint32_t key = salt.cursor;
    salt.cursor = keys[key].newer;
    --at_.unseen;
    if (keys[key].piece != 0 || (ledger_.is_set_aside(key) && !at_.takes_all)) continue;
    --at_.wanted;
    add_to_plan(key);
  }
  return std::max<std::size_t>(seen, 1);
}

bool evictor::has_room(const sent_piece& one, std::size_t text) const noexcept {
  return one.keys.size() < options_.keys_per_piece && one.text + text <= options_.text_per_piece;
}

void evictor::add_to_plan(std::uint32_t key) {
  const std::size_t text = ledger_.keys().written_size(key);
  // A key that left the piece under construction may come by again, or its number may mean another key now: that goes into another piece,
  // so that no piece has a number twice.
  if (plan_.empty() || !has_room(plan_.back(), text) || plan_.back().id <= ledger_.newest_thinned_piece()) {
    plan_.push_back({.id = ++last_piece_, .is_accepted = false, .until = {}, .keys = {}, .text = 0});
    const std::size_t of_this_length = options_.text_per_piece / text + 1;
    plan_.back().keys.reserve(std::min({options_.keys_per_piece, of_this_length, ledger_.size() - ledger_.keys_in_flight()}));
  }
  plan_.back().keys.push_back(key);
  plan_.back().text += text;
  ledger_.put_in_flight(key, plan_.back().id);
  ++counters_.planned;
}

std::vector<evictor::piece> evictor::take_pieces(time_point now) {
  std::vector<piece> pieces;
  pieces.reserve(plan_.size());
  for (sent_piece& one : plan_) {
    pieces.push_back({.id = one.id, .keys = one.keys.size(), .text = one.text});
    one.until = now + options_.remembered;
  }
  // All or, when there is no memory, none: a plan that was taken in part would have pieces twice.
  sent_.insert(sent_.end(), std::make_move_iterator(plan_.begin()), std::make_move_iterator(plan_.end()));
  plan_.clear();
  return pieces;
}

std::deque<evictor::sent_piece>::const_iterator evictor::find(std::uint32_t id) const noexcept {
  const auto found = std::ranges::lower_bound(sent_, id, {}, &sent_piece::id);  // long texts make many pieces
  return found != sent_.end() && found->id == id ? found : sent_.end();
}

std::uint64_t evictor::release(std::uint32_t id, std::span<const std::uint32_t> keys, bool was_in_vain) {
  std::uint64_t released = 0;
  for (const std::uint32_t key : keys) {
    if (!ledger_.take_out_of_flight(key, id)) continue;
    if (was_in_vain) ledger_.count_in_vain(key);
    ++released;
  }
  return released;
}

void evictor::accepted(std::uint32_t id) noexcept {
  const auto found = find(id);
  if (found != sent_.end()) sent_[static_cast<std::size_t>(found - sent_.begin())].is_accepted = true;
}

void evictor::give_up(std::uint32_t id, bool was_in_vain) {
  const auto found = find(id);
  if (found == sent_.end()) return;
  counters_.failed += release(id, found->keys, was_in_vain);
  sent_.erase(found);
}

void evictor::give_up(std::uint32_t id, std::size_t from, std::size_t to, bool was_in_vain) {
  const auto found = find(id);
  if (found == sent_.end()) return;
  const std::size_t end = std::min(to, found->keys.size());
  if (from < end) counters_.failed += release(id, std::span(found->keys).subspan(from, end - from), was_in_vain);
}

bool evictor::expire(time_point now) {
  if (sent_.empty() || sent_.front().until > now) return false;
  const sent_piece& oldest = sent_.front();
  counters_.expired += release(oldest.id, oldest.keys, oldest.is_accepted);
  sent_.pop_front();
  return !sent_.empty();
}

}  // namespace kvc::core

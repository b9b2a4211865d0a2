#include "core/object_table.hpp"

#include <algorithm>
#include <cstring>

#include "core/arena.hpp"
#include "core/bring_near.hpp"
#include "core/mixed_bits.hpp"
#include "core/text_spread.hpp"
#include "core/utf8.hpp"

namespace kvc::core {
namespace {

constexpr std::size_t gone_slots = 16'384;  ///< see `may_have_gone_since`
constexpr unsigned kind_bits = 2;
constexpr unsigned state_bits = 1;
constexpr unsigned location_shift = kind_bits + state_bits;

constexpr replica_kind kind_of(std::uint32_t word) noexcept {
  return static_cast<replica_kind>(word & ((1U << kind_bits) - 1));
}
constexpr replica_state state_of(std::uint32_t word) noexcept {
  return static_cast<replica_state>(word >> kind_bits & 1U);
}
constexpr std::uint32_t location_of(std::uint32_t word) noexcept {
  return word >> location_shift;
}
/// A word of the same kind and state, elsewhere.
constexpr std::uint32_t located_at(std::uint32_t location, std::uint32_t word) noexcept {
  return location << location_shift | (word & ((1U << location_shift) - 1));
}

}  // namespace

object_table::~object_table() {
  for (std::uint32_t owner = 0; owner < owners_.size(); ++owner) {
    while (!clear_some(owner, 1U << 16, 0)) continue;
  }
}

std::uint64_t object_table::digest(std::uint32_t owner, std::string_view key) {
  // The owner spread over all bits: equal keys of two owners stand in different places.
  return spread(key) ^ (owner + 1) * golden;
}

bool is_object_key(std::string_view key, std::size_t longest) noexcept {
  if (key.empty() || key.size() > longest) return false;
  return std::ranges::none_of(key, [](char each) { return static_cast<unsigned char>(each) < 0x20 || each == 0x7F; }) && is_utf8(key);
}

std::uint32_t object_table::find(std::uint32_t owner, std::string_view key) const {
  std::uint32_t found = no_record;
  (void)by_key_.find(digest(owner, key), [&](std::uint32_t object) {
    const record& one = records_[object];
    if (one.owner != owner || std::string_view(one.text, one.length) != key) return false;
    found = object;
    return true;
  });
  return found;
}

std::uint64_t object_table::hash_at(std::uint32_t object) const {
  return digest(records_[object].owner, key(object));
}

void object_table::hashes_at(std::span<const std::uint32_t> objects, std::uint64_t* hashes) const {
  const auto expect = [this](unsigned step, std::uint32_t object) {
    step == 1 ? records_.prefetch(object) : bring_near(records_[object].text);
  };
  hash_in_turn<2>(objects, hashes, expect, [this](std::uint32_t object) { return hash_at(object); });
}

std::string_view object_table::key(std::uint32_t object) const noexcept {
  return {records_[object].text, records_[object].length};
}

std::span<object_table::replica_word> object_table::words(record& of) const noexcept {
  return {of.more != nullptr ? of.more : of.few.data(), of.count};
}

std::span<const object_table::replica_word> object_table::words(const record& of) const noexcept {
  return {of.more != nullptr ? of.more : of.few.data(), of.count};
}

replica_set object_table::set_of(std::span<const replica_word> words) noexcept {
  replica_set all;
  for (const replica_word each : words) all.add(kind_of(each), state_of(each));
  return all;
}

replica_set object_table::replicas(std::uint32_t object) const noexcept {
  return set_of(words(records_[object]));
}

void object_table::each_replica(std::uint32_t object, const std::function<void(const replica_view&)>& visit) const {
  for (const replica_word each : words(records_[object])) visit({kind_of(each), state_of(each), locations_[location_of(each)].text});
}

/// The word of a replica; its location has one more user.
object_table::replica_word object_table::packed(const replica_view& replica) {
  std::uint32_t number = 0;
  if (!replica.location.empty()) {
    const auto found = location_names_.find(replica.location);
    if (found != location_names_.end()) {
      number = found->second;
    } else if (location_names_.size() < options_.most_locations && replica.location.size() <= options_.longest_key) {
      if (free_locations_.empty()) {
        number = static_cast<std::uint32_t>(locations_.size());
        locations_.emplace_back();
      } else {
        number = free_locations_.back();
        free_locations_.pop_back();
      }
      locations_[number].text = replica.location;
      location_names_.emplace(replica.location, number);
    } else {
      ++counts_.locations_left_out;
    }
  }
  if (number != 0) ++locations_[number].users;
  return number << location_shift | static_cast<std::uint32_t>(replica.state) << kind_bits | static_cast<std::uint32_t>(replica.kind);
}

void object_table::drop_location(replica_word word) noexcept {
  const std::uint32_t number = location_of(word);
  if (number == 0 || --locations_[number].users != 0) return;
  location_names_.erase(locations_[number].text);
  locations_[number].text.clear();
  free_locations_.push_back(number);
}

/// One more replica of a record.
void object_table::put_word(record& of, replica_word word) {
  if (of.count == most_replicas) {
    ++counts_.replicas_left_out;
    drop_location(word);
    return;
  }
  if (of.count == inside && of.more == nullptr) {
    of.more = static_cast<replica_word*>(arena_take(arena_kind::objects, most_replicas * sizeof(replica_word)));
    std::ranges::copy(of.few, of.more);
    more_bytes_ += most_replicas * sizeof(replica_word);
  }
  ++of.count;
  words(of).back() = word;
}

std::uint32_t object_table::join(std::uint32_t owner, std::string_view key) {
  if (!is_key(key) || records_.size() >= options_.most_objects) {
    ++counts_.refused;
    return no_record;
  }
  make_gone();
  const std::uint32_t object = records_.take();
  if (!by_key_.add(digest(owner, key), object, *this)) {
    records_.give_back(object);
    ++counts_.refused;
    return no_record;
  }
  record& fresh = records_[object];
  fresh.text = static_cast<char*>(arena_take(arena_kind::objects, key.size()));
  std::memcpy(fresh.text, key.data(), key.size());
  fresh.length = static_cast<std::uint16_t>(key.size());
  fresh.owner = owner;
  text_bytes_ += key.size();
  link_newest(object);
  return object;
}

void object_table::link_newest(std::uint32_t object) noexcept {
  record& of = records_[object];
  owner_state& mine = owners_[of.owner];
  of.older = mine.newest;
  of.newer = no_record;
  (mine.newest == no_record ? mine.oldest : records_[mine.newest].newer) = object;
  mine.newest = object;
  if (mine.objects++ == 0) ++owners_with_objects_;
}

void object_table::unlink(std::uint32_t object) noexcept {
  const record& of = records_[object];
  owner_state& mine = owners_[of.owner];
  (of.older == no_record ? mine.oldest : records_[of.older].newer) = of.newer;
  (of.newer == no_record ? mine.newest : records_[of.newer].older) = of.older;
  if (--mine.objects == 0) --owners_with_objects_;
}

void object_table::count(replica_set replicas, std::ptrdiff_t by) noexcept {
  for (std::size_t kind = 0; kind < replica_kinds; ++kind) {
    if (replicas.has(static_cast<replica_kind>(kind), replica_state::complete)) complete_[kind] += static_cast<std::size_t>(by);
  }
}

bool object_table::may_have_gone_since(std::uint32_t owner, std::string_view key, std::uint32_t since_s) const {
  if (owners_[owner].cleared_at >= since_s) return true;
  return !gone_at_.empty() && gone_at_[digest(owner, key) % gone_slots] >= since_s;
}

/// Before there is an object, so that none needs memory to go.
void object_table::make_gone() {
  if (gone_at_.empty()) gone_at_.resize(gone_slots);
}

void object_table::erase(std::uint32_t object, std::uint32_t now_s) {
  record& gone = records_[object];
  const std::uint64_t hash = hash_at(object);
  gone_at_[hash % gone_slots] = now_s;
  count(replicas(object), -1);
  for (const replica_word each : words(gone)) drop_location(each);
  by_key_.remove(hash, object);
  leave_block(object);
  unlink(object);
  text_bytes_ -= gone.length;
  arena_give(arena_kind::objects, gone.text, gone.length);
  if (gone.more != nullptr) {
    arena_give(arena_kind::objects, gone.more, most_replicas * sizeof(replica_word));
    more_bytes_ -= most_replicas * sizeof(replica_word);
  }
  records_.give_back(object);
}

/// What is left out then makes no difference to the kinds that the object has.
void object_table::put_one_of_each_first(record& of, std::span<const replica_view> replicas) {
  replica_set seen;
  std::vector<const replica_view*> others;
  for (const replica_view& each : replicas) {
    if (seen.has(each.kind, each.state)) {
      others.push_back(&each);
      continue;
    }
    seen.add(each.kind, each.state);
    put_word(of, packed(each));
  }
  for (const replica_view* each : others) put_word(of, packed(*each));
}

std::uint32_t object_table::set(std::uint32_t owner, std::string_view key, std::span<const replica_view> replicas, std::uint32_t now_s) {
  std::uint32_t object = find(owner, key);
  if (replicas.empty()) {
    if (object != no_record) erase(object, now_s);
    return no_record;
  }
  if (object == no_record) object = join(owner, key);
  if (object == no_record) return no_record;
  record& of = records_[object];
  count(set_of(words(of)), -1);
  // The new ones first, so that locations which stay are not forgotten in between.
  std::array<replica_word, most_replicas> before{};
  const std::size_t had = of.count;
  std::ranges::copy(words(of), before.begin());
  of.count = 0;
  if (replicas.size() <= most_replicas) {
    for (const replica_view& each : replicas) put_word(of, packed(each));
  } else {
    put_one_of_each_first(of, replicas);
  }
  for (std::size_t i = 0; i < had; ++i) drop_location(before[i]);
  count(set_of(words(of)), 1);
  confirm(object, now_s);
  return object;
}

std::uint32_t object_table::add(std::uint32_t owner, std::string_view key, const replica_view& replica, std::uint32_t now_s) {
  std::uint32_t object = find(owner, key);
  const bool is_new = object == no_record;
  if (is_new) object = join(owner, key);
  if (object == no_record) return no_record;
  record& of = records_[object];
  count(set_of(words(of)), -1);
  const replica_word word = packed(replica);
  const auto all = words(of);
  const auto is_same = [&](replica_word each) { return kind_of(each) == kind_of(word) && location_of(each) == location_of(word); };
  const auto may_be_same = [&](replica_word each) {
    return kind_of(each) == kind_of(word) && (location_of(each) == 0 || location_of(word) == 0);
  };
  auto same = std::ranges::find_if(all, is_same);
  if (same == all.end()) same = std::ranges::find_if(all, may_be_same);
  if (same == all.end()) {
    put_word(of, word);
  } else if (location_of(word) != 0 || location_of(*same) == 0) {
    drop_location(*same);
    *same = word;
  } else {
    *same = located_at(location_of(*same), word);  // where it lies is known from before
  }
  count(set_of(words(of)), 1);
  is_new ? confirm(object, now_s) : put_off(object, now_s);
  return object;
}

void object_table::remove(std::uint32_t owner, std::string_view key, std::optional<replica_kind> kind, std::uint32_t now_s) {
  const std::uint32_t object = find(owner, key);
  if (object == no_record) {
    make_gone();
    gone_at_[digest(owner, key) % gone_slots] = now_s;
    return;
  }
  record& of = records_[object];
  if (!kind || std::ranges::all_of(words(of), [&](replica_word each) { return kind_of(each) == *kind; })) {
    erase(object, now_s);
    return;
  }
  count(set_of(words(of)), -1);
  std::uint8_t kept = 0;
  const auto all = words(of);
  for (const replica_word each : all) {
    if (kind_of(each) == *kind) {
      drop_location(each);
    } else {
      all[kept++] = each;
    }
  }
  of.count = kept;
  count(set_of(words(of)), 1);
  put_off(object, now_s);
}

void object_table::confirm(std::uint32_t object, std::uint32_t now_s) noexcept {
  unlink(object);
  link_newest(object);
  records_[object].known_at = now_s;
  records_[object].is_doubted = false;
}

void object_table::put_off(std::uint32_t object, std::uint32_t now_s) noexcept {
  const bool was_doubted = is_doubted(object);
  confirm(object, now_s);
  records_[object].is_doubted = was_doubted;
}

bool object_table::clear_some(std::uint32_t owner, std::size_t budget, std::uint32_t now_s) {
  for (; budget != 0 && owners_[owner].oldest != no_record; --budget) erase(owners_[owner].oldest, now_s);
  return owners_[owner].oldest == no_record;
}

std::size_t object_table::bytes() const noexcept {
  constexpr std::size_t bytes_per_name = 96;  // a node of a map and a short text
  return records_.bytes() + by_key_.bytes() + by_block_.bytes() + text_bytes_ + more_bytes_ + gone_at_.capacity() * sizeof(std::uint32_t) +
         owners_.capacity() * sizeof(owner_state) + locations_.capacity() * sizeof(location) +
         (owner_names_.size() + location_names_.size()) * bytes_per_name;
}

}  // namespace kvc::core

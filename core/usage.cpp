#include "core/usage.hpp"

#include <algorithm>
#include <array>

#include "core/key_order.hpp"

namespace kvc::core {
namespace {

/// Sums stay below 2^63, so that they fit into signed numbers wherever they go.
constexpr std::uint64_t most_bytes = (std::uint64_t{1} << 63) - 1;

}  // namespace

std::uint64_t usage_ledger::most_object_bytes() const noexcept {
  return most_bytes / std::max<std::uint64_t>(limits_.keys, 1);
}

result<std::uint32_t> usage_ledger::add(const object_key& key, std::uint64_t digest, std::uint64_t bytes) {
  if (bytes > most_object_bytes()) return make_error_code(errc::object_too_large);
  if (keys_.size() >= limits_.keys || keys_.bytes() >= limits_.bytes) return make_error_code(errc::keys_exhausted);
  const auto added = keys_.add(key, digest);
  if (!added) return added.error();
  keys_[*added].bytes = bytes;
  keys_.salts()[keys_[*added].salt].bytes += bytes;
  total_bytes_ += bytes;
  return added;
}

result<void> usage_ledger::store(const object_key& key, std::uint64_t digest, std::uint64_t bytes) {
  const std::uint32_t id = keys_.find(key, digest);
  if (id == no_record) {
    const auto added = add(key, digest, bytes);
    if (!added) {
      ++counters_.refused;
      return added.error();
    }
    append_newest(keys_, *added);
    ++counters_.stores;
    return {};
  }
  tracked_key& known = keys_[id];
  if (bytes > most_object_bytes()) {
    ++counters_.refused;
    return make_error_code(errc::object_too_large);
  }
  (void)take_out_of_flight(id, known.piece);
  forget_in_vain(known);
  salt_state& salt = keys_.salts()[known.salt];
  salt.bytes = salt.bytes - known.bytes + bytes;
  total_bytes_ = total_bytes_ - known.bytes + bytes;
  known.bytes = bytes;
  unlink(keys_, id);
  append_newest(keys_, id);
  ++counters_.stores;
  return {};
}

bool usage_ledger::lookup(const object_key& key, std::uint64_t digest) {
  const std::uint32_t id = keys_.find(key, digest);
  if (id == no_record) {
    ++counters_.unknown;
    return false;
  }
  unlink(keys_, id);
  append_newest(keys_, id);
  ++counters_.lookups;
  return true;
}

bool usage_ledger::remove(const object_key& key, std::uint64_t digest) {
  if (is_seeding_) remember_removal(digest);  // unknown keys too: they may be on a page that is still on its way
  const std::uint32_t id = keys_.find(key, digest);
  if (id == no_record) {
    ++counters_.unknown;
    return false;
  }
  tracked_key& gone = keys_[id];
  if (take_out_of_flight(id, gone.piece)) ++counters_.confirmed;
  forget_in_vain(gone);
  keys_.salts()[gone.salt].bytes -= gone.bytes;
  total_bytes_ -= gone.bytes;
  unlink(keys_, id);
  keys_.erase(id);
  ++counters_.removals;
  return true;
}

void usage_ledger::apply(std::span<const usage_event> events) {
  // Two steps ahead of the event at hand: first its line of the table, then its record, so that neither is waited for.
  constexpr std::size_t group = 32;
  std::array<std::uint64_t, group> digests{};
  for (std::size_t from = 0; from < events.size(); from += group) {
    const auto these = events.subspan(from, std::min(group, events.size() - from));
    for (std::size_t i = 0; i < these.size(); ++i) {
      digests[i] = key_digest(these[i].key);
      keys_.prefetch(digests[i]);
    }
    for (std::size_t i = 0; i < these.size(); ++i) keys_.prefetch_record(digests[i]);
    for (std::size_t i = 0; i < these.size(); ++i) apply_one(these[i], digests[i]);
  }
}

void usage_ledger::apply_one(const usage_event& event, std::uint64_t digest) {
  switch (event.what) {
    case usage_event::kind::store: (void)store(event.key, digest, event.bytes); break;  // refusals are counted
    case usage_event::kind::lookup: (void)lookup(event.key, digest); break;
    case usage_event::kind::remove: (void)remove(event.key, digest); break;
  }
}

void usage_ledger::begin_seeding() {
  is_seeding_ = true;
  removed_.clear();
  removed_.reserve(limits_.remembered_removals);  // now, or a later removal would wait until the set has grown
}

void usage_ledger::end_seeding() {
  is_seeding_ = false;
  removed_ = {};
}

void usage_ledger::remember_removal(std::uint64_t digest) {
  if (removed_.size() < limits_.remembered_removals) {
    removed_.insert(digest);
  } else if (!removed_.contains(digest)) {
    ++counters_.forgotten_removals;
  }
}

result<bool> usage_ledger::seed(const object_key& key, std::uint64_t bytes) {
  const std::uint64_t digest = key_digest(key);
  if (keys_.find(key, digest) != no_record) {
    ++counters_.seeds_known;
    return false;
  }
  if (removed_.contains(digest)) {
    ++counters_.seeds_deleted;
    return false;
  }
  const auto added = add(key, digest, bytes);
  if (!added) {
    ++counters_.refused;
    return {boost::system::in_place_error, added.error()};
  }
  insert_seeded(keys_, *added);
  ++counters_.seeded;
  return true;
}

void usage_ledger::put_in_flight(std::uint32_t id, std::uint32_t piece) noexcept {
  tracked_key& one = keys_[id];
  salt_state& salt = keys_.salts()[one.salt];
  one.piece = piece;
  ++salt.keys_in_flight;
  salt.bytes_in_flight += one.bytes;
  ++in_flight_;
}

bool usage_ledger::take_out_of_flight(std::uint32_t id, std::uint32_t piece) noexcept {
  tracked_key& one = keys_[id];
  if (piece == 0 || one.piece != piece) return false;
  salt_state& salt = keys_.salts()[one.salt];
  one.piece = 0;
  newest_thinned_ = std::max(newest_thinned_, piece);
  --salt.keys_in_flight;
  salt.bytes_in_flight -= one.bytes;
  --in_flight_;
  return true;
}

void usage_ledger::count_in_vain(std::uint32_t id) noexcept {
  tracked_key& one = keys_[id];
  if (one.in_vain == most_in_vain) return;
  ++one.in_vain;
  if (one.in_vain == most_in_vain) ++set_aside_;
}

void usage_ledger::forget_in_vain(tracked_key& one) noexcept {
  if (one.in_vain == most_in_vain) --set_aside_;
  one.in_vain = 0;
}

std::uint64_t usage_ledger::bytes_of(std::string_view salt) const {
  const std::uint32_t id = keys_.salts().find(salt);
  return id == no_record ? 0 : keys_.salts()[id].bytes;
}

}  // namespace kvc::core

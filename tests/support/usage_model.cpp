#include "tests/support/usage_model.hpp"

#include <algorithm>
#include <cmath>

namespace kvc::test {

using core::owned_object_key;

std::uint64_t usage_model::salt::bytes() const {
  std::uint64_t sum = 0;
  for (const entry& each : keys) sum += each.bytes;
  return sum;
}

std::uint64_t usage_model::salt::bytes_in_flight() const {
  std::uint64_t sum = 0;
  for (const entry& each : keys) sum += each.piece != 0 ? each.bytes : 0;
  return sum;
}

std::size_t usage_model::salt::keys_in_flight() const {
  return static_cast<std::size_t>(std::ranges::count_if(keys, [](const entry& each) { return each.piece != 0; }));
}

usage_model::entry* usage_model::find(const owned_object_key& key) {
  for (salt& home : salts_) {
    for (entry& each : home.keys) {
      if (each.key == key) return &each;
    }
  }
  return nullptr;
}

usage_model::salt& usage_model::salt_of(const owned_object_key& key) {
  const auto known = std::ranges::find(salts_, key.salt, &salt::name);
  if (known != salts_.end()) return *known;
  salts_.push_back({.name = key.salt, .keys = {}});
  return salts_.back();
}

usage_model::entry usage_model::take(const owned_object_key& key) {
  salt& home = salt_of(key);
  const auto at = std::ranges::find(home.keys, key, &entry::key);
  if (static_cast<std::size_t>(at - home.keys.begin()) < home.seeded) --home.seeded;
  entry taken = *at;
  home.keys.erase(at);
  return taken;
}

void usage_model::forget_empty() {
  std::erase_if(salts_, [](const salt& each) { return each.keys.empty(); });
}

void usage_model::store(const owned_object_key& key, std::uint64_t bytes) {
  if (find(key) != nullptr) (void)take(key);
  salt_of(key).keys.push_back({.key = key, .bytes = bytes});
}

bool usage_model::lookup(const owned_object_key& key) {
  if (find(key) == nullptr) return false;
  const entry touched = take(key);
  salt_of(key).keys.push_back(touched);
  return true;
}

bool usage_model::remove(const owned_object_key& key) {
  if (is_seeding_) removed_.insert(key);
  if (find(key) == nullptr) return false;
  (void)take(key);
  forget_empty();
  return true;
}

void usage_model::begin_seeding() {
  is_seeding_ = true;
  removed_.clear();
}

void usage_model::end_seeding() {
  is_seeding_ = false;
  removed_.clear();
}

bool usage_model::seed(const owned_object_key& key, std::uint64_t bytes) {
  if (find(key) != nullptr || removed_.contains(key)) return false;
  salt& home = salt_of(key);
  home.keys.insert(home.keys.begin() + static_cast<std::ptrdiff_t>(home.seeded), {.key = key, .bytes = bytes});
  ++home.seeded;
  return true;
}

std::vector<usage_model::piece> usage_model::plan(const core::evictor::options& with, core::evictor::time_point now) {
  std::vector<owned_object_key> victims;
  ++cycles_;
  for (const salt& home : salts_) {
    const auto own = quotas.find(home.name);
    const auto limit = own == quotas.end() ? default_limit : std::optional(own->second);
    std::uint64_t used = home.bytes() - home.bytes_in_flight();
    if (!limit || used == 0 || static_cast<double>(used) < with.watermark * *limit) continue;
    std::vector<entry> order;
    std::ranges::copy_if(home.keys, std::back_inserter(order), [](const entry& each) { return each.piece == 0; });
    std::size_t count = order.size();
    if (with.unit == core::eviction_unit::keys && *limit != 0) {
      count = static_cast<std::size_t>(std::floor(static_cast<double>(order.size()) * with.ratio));
      if (count == 0 && with.ratio > 0) count = 1;
    }
    const bool is_wanted_whole = *limit == 0 || (with.unit == core::eviction_unit::keys && count == order.size());
    if (!is_wanted_whole && cycles_ % core::evictor::cycles_until_retry != 0) {
      std::ranges::stable_partition(order, [](const entry& each) { return !each.is_set_aside(); });
    }
    for (std::size_t i = 0; i < count; ++i) {
      if (with.unit == core::eviction_unit::bytes && static_cast<double>(used) < with.watermark * *limit) break;
      victims.push_back(order[i].key);
      used -= order[i].bytes;
    }
  }
  std::vector<piece> pieces;
  std::size_t text = 0;  // of the last one
  for (const owned_object_key& each : victims) {
    const std::size_t size =
        core::written_around_key + 2 * each.hash.size() + core::escaped_size(each.model) + core::escaped_size(each.salt);
    if (pieces.empty() || pieces.back().keys.size() == with.keys_per_piece || text + size > with.text_per_piece) {
      pieces.push_back({.id = ++last_piece_, .keys = {}, .until = now + with.remembered});
      text = 0;
    }
    text += size;
    pieces.back().keys.push_back(each);
    find(each)->piece = pieces.back().id;
  }
  sent_.insert(sent_.end(), pieces.begin(), pieces.end());
  return pieces;
}

void usage_model::release(const piece& one, bool was_in_vain) {
  for (const owned_object_key& each : one.keys) {
    entry* known = find(each);
    if (known == nullptr || known->piece != one.id) continue;
    known->piece = 0;
    known->in_vain += was_in_vain ? 1 : 0;
  }
}

void usage_model::accept(std::uint32_t id) {
  for (piece& each : sent_) each.is_accepted = each.is_accepted || each.id == id;
}

void usage_model::give_up(std::uint32_t id, bool was_in_vain) {
  for (const piece& each : sent_) {
    if (each.id == id) release(each, was_in_vain);
  }
  std::erase_if(sent_, [&](const piece& each) { return each.id == id; });
}

void usage_model::expire(core::evictor::time_point now) {
  for (const piece& each : sent_) {
    if (each.until <= now) release(each, each.is_accepted);
  }
  std::erase_if(sent_, [&](const piece& each) { return each.until <= now; });
}

std::uint64_t usage_model::bytes() const {
  std::uint64_t sum = 0;
  for (const salt& each : salts_) sum += each.bytes();
  return sum;
}

std::size_t usage_model::size() const {
  std::size_t sum = 0;
  for (const salt& each : salts_) sum += each.keys.size();
  return sum;
}

std::size_t usage_model::set_aside() const {
  std::size_t sum = 0;
  for (const salt& each : salts_) sum += static_cast<std::size_t>(std::ranges::count_if(each.keys, &entry::is_set_aside));
  return sum;
}

}  // namespace kvc::test

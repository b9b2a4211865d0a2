#include "core/member_map.hpp"

#include <algorithm>
#include <bit>

#include "core/catalog.hpp"
#include "core/mixed_bits.hpp"

namespace kvc::core {
namespace {

/// Multiplicative hashing by the 64-bit golden ratio: neighbouring numbers, as workers have them, come to lie far apart.
std::size_t home_of(worker_id worker, unsigned shift) noexcept {
  return worker.get() * golden >> shift;
}

}  // namespace

member_map::member_map(std::span<const member> members) : members_(members.size()) {
  const std::size_t places = std::bit_ceil(std::max<std::size_t>(2, members.size() * 2));
  shift_ = 64U - static_cast<unsigned>(std::countr_zero(places));
  table_.assign(places, seat{.worker = {}, .member = nobody, .instance = 0});
  for (std::uint32_t i = 0; i < members.size(); ++i) {
    const member& each = members[i];
    if (i == 0 || members[i - 1].key->instance != each.key->instance) instances_.push_back({.first = i, .last = i, .has_engine = false});
    instance& of = instances_.back();
    of.last = i + 1;
    of.has_engine = of.has_engine || each.key->kind == publisher_class::engine;
    std::size_t at = home_of(each.id, shift_);
    while (table_[at].member != nobody) at = (at + 1) % places;
    table_[at] = {.worker = each.id, .member = i, .instance = static_cast<std::uint32_t>(instances_.size() - 1)};
  }
}

const member_map::seat* member_map::find(worker_id worker) const noexcept {
  if (table_.empty()) return nullptr;
  for (std::size_t at = home_of(worker, shift_); table_[at].member != nobody; at = (at + 1) % table_.size()) {
    if (table_[at].worker == worker) return &table_[at];
  }
  return nullptr;
}

}  // namespace kvc::core

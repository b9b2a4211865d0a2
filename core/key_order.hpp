// The order of use of a salt's keys: a list through their records, least recently used first.
#pragma once

#include <cstdint>

#include "core/key_store.hpp"

namespace kvc::core {

/// Puts a key that stands in no order at the recent end of its salt's.
void append_newest(key_store& keys, std::uint32_t id) noexcept;

/// Puts a key that stands in no order behind the keys seeded before it and before all others: the old end.
void insert_seeded(key_store& keys, std::uint32_t id) noexcept;

/// Takes a key out of the order. A walk that stands on it goes on with the next newer one.
void unlink(key_store& keys, std::uint32_t id) noexcept;

}  // namespace kvc::core

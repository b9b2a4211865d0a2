// Removals that follow each other in a batch and speak about the same place, as one event.
#pragma once

#include <cstddef>
#include <vector>

#include "core/event.hpp"

namespace kvc::net {

/// Names of one removal that was put together from several; a stream gives way between events, and within one after a thousand names only.
inline constexpr std::size_t most_joined_names = 256;

/// Whether `next`, coming right behind `last`, says nothing but further names: engines write an event for every block they evict. Events
/// about objects of stores are never joined, as what each of them says depends on how many names it has.
[[nodiscard]] bool can_join(const core::event& last, const core::removed_event& next);

/// Makes one event of the last two if that can be. True when it was done. Precondition: there is one.
bool join_last_removals(std::vector<core::event>& events);

}  // namespace kvc::net

#include "core/slot_roster.hpp"

#include <algorithm>

namespace kvc::core {

void slot_roster::tidy(const slot_table& slots) {
  constexpr std::size_t strangers = 1'024;  // so many workers that are gone do no harm
  if (table_ != slots.number() || numbers_.size() > 2 * std::size_t{slots.used()} + strangers) {
    known_.clear();
    numbers_.clear();
    table_ = slots.number();
  }
  known_.resize(std::max<std::size_t>(known_.size(), slots.end()));
}

}  // namespace kvc::core

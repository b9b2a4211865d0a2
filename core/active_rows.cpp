#include "core/active_rows.hpp"

#include <algorithm>
#include <bit>

namespace kvc::core {
namespace {

constexpr std::size_t searches_before_table = 8;  ///< making the table costs about as much as searching so often

std::size_t spread(std::uint32_t worker, unsigned shift) noexcept { return worker * 0x9E37'79B1U >> shift; }

}  // namespace

void active_rows::make_table() {
  const std::size_t size = std::bit_ceil(workers_.size() * 2 + 2);
  shift_ = 32 - static_cast<unsigned>(std::countr_zero(size));
  table_.assign(size, 0);
  for (std::size_t i = 0; i < workers_.size(); ++i) {
    std::size_t at = spread(workers_[i], shift_);
    while (table_[at] != 0) at = (at + 1) % size;
    table_[at] = static_cast<std::uint32_t>(i + 1);
  }
  has_table_ = true;
}

std::uint32_t active_rows::search(std::uint32_t worker) {
  if (!has_table_ && (workers_.size() <= 32 || ++searches_ <= searches_before_table)) {
    const std::size_t size = workers_.size();
    const std::uint32_t* const all = workers_.data();
    std::size_t i = 0;
    for (; i + 8 <= size; i += 8) {  // no exit inside, so that the eight are compared at once
      unsigned any = 0;
      for (std::size_t k = 0; k < 8; ++k) any |= static_cast<unsigned>(all[i + k] == worker);
      if (any != 0) break;
    }
    while (i < size && all[i] != worker) ++i;
    if (i == size) return none;
    next_ = i + 1;
    return rows_[i];
  }
  if (!has_table_) make_table();
  for (std::size_t at = spread(worker, shift_); table_[at] != 0; at = (at + 1) % table_.size()) {
    const std::size_t i = table_[at] - 1;
    if (workers_[i] != worker) continue;
    next_ = i + 1;
    return rows_[i];
  }
  return none;
}

}  // namespace kvc::core

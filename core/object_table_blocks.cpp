// Which objects hold parts of which block.
#include "core/object_table.hpp"
#include "core/spread.hpp"

namespace kvc::core {

std::uint64_t object_table::mixed(std::uint64_t block) noexcept {
  return spread(block);
}

std::uint32_t object_table::first_of_block(std::uint64_t block) const {
  std::uint32_t found = no_record;
  (void)by_block_.find(mixed(block), [&](std::uint32_t object) {
    if (records_[object].block != block) return false;
    found = object;
    return true;
  });
  return found;
}

std::optional<std::uint64_t> object_table::block_of(std::uint32_t object) const noexcept {
  const record& of = records_[object];
  return of.has_block ? std::optional(of.block) : std::nullopt;
}

void object_table::set_block(std::uint32_t object, std::uint64_t block) {
  record& of = records_[object];
  if (of.has_block && of.block == block) return;
  leave_block(object);
  of.block = block;
  const std::uint32_t first = first_of_block(block);
  if (first == no_record) {
    if (!by_block_.add(mixed(block), object, block_records(*this))) return;  // as full as a table can be: the block leads nowhere
    of.last_part = of.next_part = object;
  } else {
    of.last_part = first;
    of.next_part = records_[first].next_part;
    records_[of.next_part].last_part = object;
    records_[first].next_part = object;
  }
  of.has_block = true;
}

void object_table::leave_block(std::uint32_t object) {
  record& of = records_[object];
  if (!of.has_block) return;
  of.has_block = false;
  const std::uint64_t hash = mixed(of.block);
  const bool was_first = first_of_block(of.block) == object;
  if (was_first) by_block_.remove(hash, object);
  if (of.next_part != object) {
    records_[of.last_part].next_part = of.next_part;
    records_[of.next_part].last_part = of.last_part;
    // There is room where an entry has just left.
    if (was_first) (void)by_block_.add(hash, of.next_part, block_records(*this));
  }
  of.last_part = of.next_part = no_record;
}

}  // namespace kvc::core

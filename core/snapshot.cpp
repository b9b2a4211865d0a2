#include "core/snapshot.hpp"

#include "core/quiescence.hpp"

namespace kvc::core {
namespace {

std::uint64_t key_of(const run* which) noexcept {
  return reinterpret_cast<std::uintptr_t>(which);
}

}  // namespace

bool dump_filter::matches(const partition_key& key) const {
  return (!tenant || *tenant == key.tenant) && (!model || *model == key.model) && (!lora || *lora == key.lora) &&
         (!salt || *salt == key.salt) && (!block_size || *block_size == key.block_size);
}

void dump_slice::clear() noexcept {
  waiting.clear();
  waiting_copies.clear();
  paths.clear();
  locals.clear();
  parts.clear();
  names.clear();
  odd_names.clear();
  copies.clear();
}

dump_cursor::~dump_cursor() {
  const quiescent_scope working;
  while (!seen_.empty()) let_go_of_last();
}

const dump_cursor::seen* dump_cursor::find(const run* which) const noexcept {
  const std::uint32_t* const number = numbers_.find(key_of(which));
  return number == nullptr ? nullptr : &seen_[*number];
}

dump_cursor::seen& dump_cursor::note(run* which) {
  if (const seen* const known = find(which); known != nullptr) return const_cast<seen&>(*known);
  seen& made = seen_.emplace_back();
  made.in = which;
  try {
    numbers_.add(key_of(which), static_cast<std::uint32_t>(seen_.size() - 1));
  } catch (...) {
    seen_.pop_back();
    throw;
  }
  return made;
}

void dump_cursor::let_go_of_last() {
  const seen& last = seen_.back();
  if (last.is_pinned) homes_[last.home]->index().runs().leave(last.in);
  seen_.pop_back();
}

}  // namespace kvc::core

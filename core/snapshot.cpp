#include "core/snapshot.hpp"

#include "core/quiescence.hpp"

namespace kvc::core {

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
  while (!runs_.empty()) let_go_of_last();
}

void dump_cursor::let_go_of_last() {
  homes_[seen_.at(runs_.back()).home]->index().runs().leave(runs_.back());
  runs_.pop_back();
}

}  // namespace kvc::core

// What pool_joiner sees of the index and of the engines, and what it may do to them.
#include <optional>

#include "core/pool_applier.hpp"

namespace kvc::core {
namespace {

constexpr std::size_t most_questions = 262'144;  ///< names of one board that wait to be asked for

}  // namespace

void pool_applier::hold(std::uint16_t home, engine_hash name, seq_hash block, medium_id medium) {
  store_command command;
  command.home = homes_[home].in;
  command.medium = medium;
  command.link = store_link::placed;
  command.names = {&name, 1};
  command.blocks = {&block, 1};
  blocks_->store(command, *tally_);
  if ((media_seen_->load(std::memory_order_relaxed) & mask_of(medium)) == 0)
    media_seen_->fetch_or(mask_of(medium), std::memory_order_relaxed);
}

void pool_applier::hold_again(std::uint16_t home, engine_hash name, seq_hash block, medium_id medium) {
  if (!options_.copy_counting) hold(home, name, block, medium);
}

void pool_applier::release(std::uint16_t home, engine_hash name, medium_id medium) {
  apply_tally own;
  // By the standard there may be a block of this name elsewhere, which the worker's blocks know by its tokens.
  blocks_->remove({&name, 1}, medium, {.home = homes_[home].in.get(), .is_explicit = true}, own);
  tally_->removed += own.removed;  // it may have been given up for the byte budget before
}

name_meaning pool_applier::watch(std::uint16_t home, engine_hash name, bool is_home_told) {
  board_entry& asked = boards_[homes_[home].board];
  const name_meaning means = asked.names->watch(name, asked.inbox, is_home_told ? homes_[home].in->adapter() : name_board::anybodys);
  if (means.what == name_meaning::state::unknown && asked.questions.size() < most_questions) asked.questions.push_back(name);
  return means;
}

void pool_applier::unwatch(std::uint16_t home, engine_hash name, bool is_home_told) {
  const board_entry& asked = boards_[homes_[home].board];
  asked.names->unwatch(name, asked.inbox.get(), is_home_told ? homes_[home].in->adapter() : name_board::anybodys);
}

std::uint16_t pool_applier::home_of(std::uint16_t home, std::uint16_t adapter) {
  if (homes_[home].in->adapter() == adapter) return home;
  event_scope scope;
  const partition_key& key = homes_[home].in->key();
  scope.tenant = key.tenant;
  scope.model = key.model;
  scope.salt = key.salt;
  scope.block_size = key.block_size;
  scope.lora = homes_[home].in->names()->adapter_name(adapter);
  return home_number(find_home_(scope));
}

std::optional<medium_id> pool_applier::mixed() {
  if (!options_.mixed) return std::nullopt;
  return options_.mixed();
}

}  // namespace kvc::core

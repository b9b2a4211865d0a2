#include "perf/sim_store_world.hpp"

#include <utility>

#include "core/block_hasher.hpp"

namespace kvc::sim {
namespace {

/// Prompts that are written at one time, and how many blocks each has.
constexpr std::uint32_t prompts_at_once = 16;
constexpr std::uint32_t blocks_of_prompt = 24;
/// Token ids are below this, as in the vocabularies of current models.
constexpr std::uint64_t vocabulary = 128'000;

store_speaker speaker_of(const store_options& chosen) {
  return {.generation = chosen.generation,
          .backend = chosen.backend,
          .tenant = chosen.tenant,
          .model = chosen.model,
          .block_size = chosen.block_size};
}

}  // namespace

store_world::store_world(net::lane& where, net::zmq_engine& engine, const store_options& with)
    : home(where),
      chosen(with),
      random(with.seed),
      storage(with.rules),
      news(where.context, boost::asio::steady_timer::time_point::max()),
      release(where.context, boost::asio::steady_timer::time_point::max()),
      began_(std::chrono::steady_clock::now()) {
  for (std::uint32_t i = 0; i < with.masters; ++i) {
    publishers.push_back(std::make_unique<store_publisher>(engine, where.context.get_executor(), speaker_of(with), with.marker));
  }
}

store_world::milliseconds store_world::now() const {
  return std::chrono::duration_cast<milliseconds>(std::chrono::steady_clock::now() - began_);
}

void store_world::depose() {
  tell();
  leader_.reset();
}

void store_world::elect(std::size_t master) {
  tell();
  counts.leader_changes += master == speaker_ ? 0 : 1;
  leader_ = speaker_ = master;
}

void store_world::tell() {
  const auto changes = storage.take_changes();
  if (changes.empty()) return;
  for (const store_change& each : changes) publishers[speaker_]->tell(each);
  publishers[speaker_]->flush();
  news.cancel();
}

bool store_world::happens(std::initializer_list<store_fault> possible, store_fault& which) {
  if (is_quiet || chosen.faults == 0 || random.unit() >= chosen.fault_rate) return false;
  std::vector<store_fault> allowed;
  for (const store_fault each : possible) {
    if ((chosen.faults >> static_cast<unsigned>(each) & 1U) != 0) allowed.push_back(each);
  }
  if (allowed.empty()) return false;
  which = allowed[random.below(static_cast<std::uint32_t>(allowed.size()))];
  ++counts.faults[static_cast<std::size_t>(which)];
  return true;
}

store_world::draft store_world::new_object() {
  if (prompts_.size() < prompts_at_once) prompts_.push_back({.number = prompts_begun_++});
  prompt& of = prompts_[random.below(static_cast<std::uint32_t>(prompts_.size()))];
  if (of.blocks == blocks_of_prompt) of = {.number = prompts_begun_++};

  auto block = std::make_shared<store_block>();
  for (std::uint32_t i = 0; i < chosen.block_size; ++i) {
    const std::uint64_t place = of.number << 32 | (std::uint64_t{of.blocks} * chosen.block_size + i);
    block->tokens.push_back(static_cast<std::uint32_t>(mix(place ^ mix(chosen.seed)) % vocabulary));
  }
  const auto local = core::hash_block(block->tokens, core::default_hash_seed);
  if (of.blocks > 0) block->parent = core::engine_hash{of.last.get()};
  of.last = of.blocks == 0 ? core::first_in_sequence(local) : core::roll(of.last, local, core::default_hash_seed);
  block->name = core::engine_hash{of.last.get()};
  ++of.blocks;

  const bool is_mixed = chosen.keys == store_key_form::mixed;
  const auto form = is_mixed ? static_cast<store_key_form>(objects_made_ % 3) : chosen.keys;
  ++objects_made_;
  return {.key = store_key(form, chosen.model, of.last.get()), .block = std::move(block)};
}

void store_world::complain(std::string what) {
  constexpr std::size_t most = 20;
  ++complaint_count_;
  if (complaints_.size() < most) complaints_.push_back(std::move(what));
}

}  // namespace kvc::sim

#include "net/event_members.hpp"

#include <algorithm>
#include <array>

namespace kvc::net {
namespace {

using kind = tape_value::kind;

struct known_member {
  std::string_view name;
  tape_value event_fields::*place;  ///< null: known, and of no use here
};

// Frequent ones first. (Source: kv-events.md sections 2 to 6; seed 000 for the envelope.)
constexpr std::array<known_member, 42> known_members{{
    {"type", &event_fields::type},
    {"block_hashes", &event_fields::hashes},
    {"parent_block_hash", &event_fields::parent},
    {"token_ids", &event_fields::tokens},
    {"block_size", &event_fields::block_size},
    {"lora_id", &event_fields::lora_id},
    {"medium", &event_fields::medium},
    {"lora_name", &event_fields::lora},
    {"extra_keys", &event_fields::extra_keys},
    {"group_idx", &event_fields::group},
    {"kv_cache_spec_kind", &event_fields::spec_kind},
    {"kv_cache_spec_sliding_window", nullptr},
    {"locality", &event_fields::locality},
    {"ownership", &event_fields::ownership},
    {"session_id", nullptr},
    {"cache_salt", &event_fields::salt},
    {"event_id", nullptr},  // consecutive even where batches are lost, so it tells nothing
    {"timestamp", nullptr},
    {"event_type", &event_fields::event_type},
    {"model_name", &event_fields::model},
    {"additional_salt", &event_fields::salt},
    {"tenant_id", &event_fields::tenant},
    {"backend_id", &event_fields::backend},
    {"dp_rank", &event_fields::rank},
    {"seq_hashes", &event_fields::rolling_hashes},
    {"base_block_idx", &event_fields::base},
    {"parent_hash", &event_fields::rolling_parent},
    {"object_key", &event_fields::object_key},
    {"group_id", &event_fields::group},
    {"connector_block_hash", &event_fields::single_hash},
    {"block_mm_infos", &event_fields::mm_infos},
    {"remaining_copy_counts", nullptr},
    {"event_version", nullptr},
    {"token_offset", nullptr},
    {"worker_id", nullptr},
    {"cache_prefix", nullptr},
    {"tp_rank", nullptr},
    {"head_or_tp_rank", nullptr},
    {"pcp_rank", nullptr},
    {"dcp_rank", nullptr},
    {"pp_rank", nullptr},
    {"layer_id", nullptr},
}};

/// Publishers write their members in the same order every time, more or less that of the list: the one that is looked for is mostly the one
/// behind the last that was found. Past the end: nobody is known to send it.
const known_member* find_member(std::string_view name, const known_member* expected) {
  if (expected != known_members.end() && expected->name == name) return expected;
  return std::ranges::find(known_members, name, &known_member::name);
}

}  // namespace

void read_members(tape_value event, event_fields& fields, decode_context& context) {
  const known_member* expected = known_members.begin();
  tape_value key = event.first();
  for (std::uint32_t i = 0; i < event.length(); ++i) {
    const tape_value value = key.next();
    if (key.is(kind::string)) {
      const known_member* const known = find_member(key.text(), expected);
      if (known == known_members.end()) {
        context.counts->add_unknown(core::word_kind::field, key.text());
      } else {
        if (known->place != nullptr) fields.*known->place = value;
        expected = known + 1;
      }
    }
    key = value.next();
  }
}

tape_value member_of(tape_value map, std::string_view name) {
  tape_value key = map.first();
  for (std::uint32_t i = 0; i < map.length(); ++i) {
    const tape_value value = key.next();
    if (key.is(kind::string) && key.text() == name) return value;
    key = value.next();
  }
  return {};
}

}  // namespace kvc::net

#include "net/event_codec_vllm.hpp"

#include <algorithm>
#include <array>
#include <cstddef>
#include <span>

namespace kvc::net {
namespace {

using kind = tape_value::kind;
using place = tape_value event_fields::*;

// What stands at index 1, 2, ... of an array.
constexpr std::array<place, 10> stored_places{
    &event_fields::hashes,      // 1 block_hashes
    &event_fields::parent,      // 2 parent_block_hash
    &event_fields::tokens,      // 3 token_ids
    &event_fields::block_size,  // 4
    &event_fields::lora_id,     // 5
    &event_fields::medium,      // 6
    &event_fields::lora,        // 7 lora_name
    &event_fields::extra_keys,  // 8
    &event_fields::group,       // 9 group_idx
    &event_fields::spec_kind,   // 10 kv_cache_spec_kind
};
constexpr std::array<place, 3> removed_places{
    &event_fields::hashes,  // 1 block_hashes
    &event_fields::medium,  // 2
    &event_fields::group,   // 3 group_idx
};

std::span<const place> places_of(core::event_kind what) {
  if (what == core::event_kind::stored) return stored_places;
  if (what == core::event_kind::removed) return removed_places;
  return {};
}

}  // namespace

void take_positions(tape_value event, event_fields& fields) {
  const auto places = places_of(*fields.kind);
  const std::size_t present = std::min<std::size_t>(places.size(), event.length() - 1);
  tape_value item = event.first();
  for (const place where : places.first(present)) {
    item = item.next();
    fields.*where = item;
  }
}

reject_reason read_vllm_array(tape_value event, event_fields& fields, decode_context& context) {
  const bool is_sglang = context.type == core::publisher_type::sglang;  // without a salt its arrays are vLLM's to the byte
  fields.dialect = is_sglang ? core::event_dialect::sglang_array : core::event_dialect::vllm_array;
  fields.type = event.first();
  const reject_reason why = take_tag(fields, context);
  if (why != reject_reason::none) return why;
  take_positions(event, fields);
  if (!fields.lora.is(kind::string)) fields.lora = {};  // metadata of somebody who means something else by this place
  return reject_reason::none;
}

reject_reason read_vllm_map(event_fields& fields, decode_context& context) {
  fields.dialect = core::event_dialect::vllm_map;
  return take_tag(fields, context);
}

}  // namespace kvc::net

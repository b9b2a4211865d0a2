// The fields of an event before they mean anything, and how they become a domain event. Shared by the dialects, which only know where
// each field stands.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

#include "core/event.hpp"
#include "net/event_codec.hpp"
#include "net/tape_value.hpp"

namespace kvc::net {

/// Where the fields of one event lie on the tape; absent ones are default values. Valid as long as the tape.
struct event_fields {
  std::optional<core::event_kind> kind;  ///< absent: it says something no publisher is known to say
  core::event_dialect dialect = core::event_dialect::vllm_map;
  core::object_event::change change = core::object_event::change::stored;  ///< of an object event
  bool has_standard_hashes = false;                                        ///< its names are the standard's, unless tokens come with them
  bool has_text_hashes = false;                                            ///< names may be written as text
  bool is_on_all_media = false;                                            ///< a removal that means more than its medium says
  tape_value type;                                                         ///< the tag of a map
  tape_value event_type;                                                   ///< the word of an envelope
  tape_value hashes;
  tape_value rolling_hashes;  ///< `seq_hashes`
  tape_value single_hash;     ///< the one name of an event without a list
  tape_value parent;
  tape_value rolling_parent;  ///< `parent_hash`
  tape_value base;
  tape_value tokens;
  tape_value block_size;
  tape_value medium;
  tape_value lora;
  tape_value lora_id;  ///< deprecated; all that some publishers say of the adapter
  tape_value extra_keys;
  tape_value mm_infos;  ///< multimodal items per block, TensorRT-LLM's way
  tape_value group;
  tape_value spec_kind;  ///< kind of the KV-cache group
  tape_value locality;
  tape_value ownership;
  tape_value tenant;
  tape_value model;
  tape_value salt;
  tape_value rank;
  tape_value backend;
  tape_value object_key;  ///< of a store: its hashes are the store's names, whatever they look like
  tape_value replicas;
};

/// What a tag of the engines' forms means; absent: nothing we know.
[[nodiscard]] std::optional<core::event_kind> kind_of_tag(std::string_view tag) noexcept;

/// Whether blocks of a KV-cache group of this kind stand for the whole prefix before them. (kv-events.md section 10, case 15.)
[[nodiscard]] bool is_prefix_complete_kind(std::string_view kind) noexcept;

/// Takes the tag (`fields.type`) into `fields.kind`. Reasons: `not_an_event` when it has none, `unknown_tag`; that one is counted by name.
[[nodiscard]] reject_reason take_tag(event_fields& fields, decode_context& context);

/// Checks the fields and appends the event to `out`, unless a reason is returned; then `out` is as before.
[[nodiscard]] reject_reason append_event(const event_fields& fields, decode_context& context, std::vector<core::event>& out);

}  // namespace kvc::net

#include "net/event_codec_sglang.hpp"

#include "net/event_codec_vllm.hpp"
#include "net/event_members.hpp"

namespace kvc::net {
namespace {

using kind = tape_value::kind;

constexpr std::uint32_t salt_index = 7;

}  // namespace

bool has_sglang_salt(tape_value event) {
  if (event.length() <= salt_index || kind_of_tag(event.first().text()) != core::event_kind::stored) return false;
  tape_value item = event.first();
  for (std::uint32_t i = 0; i < salt_index; ++i) item = item.next();
  return item.is(kind::map);
}

reject_reason read_sglang_array(tape_value event, event_fields& fields) {
  fields.dialect = core::event_dialect::sglang_array;
  fields.kind = core::event_kind::stored;
  take_positions(event, fields);
  fields.salt = member_of(fields.lora, "cache_salt");
  fields.lora = {};
  return reject_reason::none;
}

bool is_sglang_map(const event_fields& fields, const decode_context& context) {
  return context.type == core::publisher_type::sglang || fields.salt.has_value();
}

reject_reason read_sglang_map(event_fields& fields, decode_context& context) {
  fields.dialect = core::event_dialect::sglang_map;
  return take_tag(fields, context);
}

}  // namespace kvc::net

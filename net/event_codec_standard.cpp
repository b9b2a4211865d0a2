#include "net/event_codec_standard.hpp"

namespace kvc::net {
namespace {

using kind = tape_value::kind;

bool is_empty_list(tape_value value) {
  return value.is(kind::array) && value.length() == 0;
}

}  // namespace

std::optional<core::event_kind> kind_of_word(std::string_view word) noexcept {
  if (word == "stored") return core::event_kind::stored;
  if (word == "removed") return core::event_kind::removed;
  if (word == "cleared") return core::event_kind::cleared;
  return std::nullopt;
}

reject_reason take_word(event_fields& fields, decode_context& context) {
  const tape_value word = fields.event_type.has_value() ? fields.event_type : fields.type;
  if (!word.is(kind::string)) return reject_reason::not_an_event;
  fields.kind = kind_of_word(word.text());
  if (fields.kind) return reject_reason::none;
  context.counts->add_unknown(core::word_kind::tag, word.text());
  return reject_reason::unknown_tag;
}

bool is_standard_map(const event_fields& fields) {
  return fields.event_type.has_value() || (fields.type.is(kind::string) && kind_of_word(fields.type.text()));
}

reject_reason read_standard_map(event_fields& fields, decode_context& context) {
  fields.dialect = core::event_dialect::standard;
  fields.has_standard_hashes = true;
  fields.has_text_hashes = true;
  const reject_reason why = take_word(fields, context);
  if (why != reject_reason::none) return why;
  if (fields.rolling_hashes.has_value()) fields.hashes = fields.rolling_hashes;
  if (fields.rolling_parent.has_value()) fields.parent = fields.rolling_parent;
  const bool names_blocks = fields.kind == core::event_kind::stored || fields.kind == core::event_kind::removed;
  return names_blocks && is_empty_list(fields.hashes) ? reject_reason::missing_field : reject_reason::none;
}

}  // namespace kvc::net

#include "net/event_codec_tensorrt.hpp"

#include "net/event_members.hpp"

namespace kvc::net {
namespace {

using kind = tape_value::kind;

constexpr std::size_t keys_of_range = 3;  ///< the list of two, and the two

/// False as well where there are more than `max_extra_keys`.
bool read_mm_object(tape_value object, std::vector<extra_key>& out) {
  if (!object.is(kind::map)) return false;
  const tape_value hash = member_of(object, "mm_hash");
  if (!hash.is_integer()) return false;
  const extra_key item = extra_key::of_unsigned(hash.node().bits);  // signed or not, one item has one name
  const tape_value ranges = member_of(object, "offsets");
  if (out.size() >= max_extra_keys) return false;
  if (!ranges.is(kind::array) || ranges.length() == 0) {
    out.push_back(item);
    return !ranges.has_value() || ranges.is(kind::array);
  }
  tape_value range = ranges.first();
  for (std::uint32_t i = 0; i < ranges.length(); ++i, range = range.next()) {
    if ((out.size() + 1) * keys_of_range > max_extra_keys) return false;
    if (!range.is(kind::array) || range.length() == 0 || !range.first().is(kind::unsigned_integer)) return false;
    out.push_back(extra_key::of_list({item, extra_key::of_unsigned(range.first().node().bits)}));
  }
  return true;
}

}  // namespace

bool is_tensorrt_map(const event_fields& fields, const decode_context& context) {
  return context.type == core::publisher_type::tensorrt_llm || fields.mm_infos.has_value();
}

reject_reason read_tensorrt_map(event_fields& fields, decode_context& context) {
  fields.dialect = core::event_dialect::tensorrt_llm;
  return take_tag(fields, context);
}

bool read_mm_objects(tape_value block, std::vector<extra_key>& out) {
  empty_keys(out);
  if (!block.has_value()) return true;
  if (!block.is(kind::map)) return false;
  const tape_value objects = member_of(block, "mm_objects");
  if (!objects.has_value()) return true;
  if (!objects.is(kind::array) || objects.length() > max_extra_keys) return false;
  tape_value object = objects.first();
  for (std::uint32_t i = 0; i < objects.length(); ++i, object = object.next()) {
    if (!read_mm_object(object, out)) return false;
  }
  return true;
}

}  // namespace kvc::net

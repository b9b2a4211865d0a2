#include "net/event_encode.hpp"

#include <algorithm>
#include <variant>

#include "net/event_encode_parts.hpp"

namespace kvc::net {
namespace {

/// How the batch around the events is written.
enum class batch_shape : std::uint8_t { of_two, of_three, map };

batch_shape shape_of(event_form form) noexcept {
  if (form == event_form::vllm_map_batch) return batch_shape::map;
  const bool is_first = form == event_form::vllm_2025_04 || form == event_form::sglang_2025_05 || form == event_form::mooncake_array;
  return is_first ? batch_shape::of_two : batch_shape::of_three;
}

bool counts_milliseconds(event_form form) noexcept {
  return form == event_form::standard || form == event_form::mooncake_master || form == event_form::mooncake_branch;
}

}  // namespace

bool is_engine_form(event_form form) noexcept {
  return form < event_form::standard;
}

bool can_say(event_form form, const core::event& what) noexcept {
  const bool is_object = std::holds_alternative<core::object_event>(what);
  const bool is_clear = std::holds_alternative<core::cleared_event>(what);
  switch (form) {
    case event_form::mooncake_array: return is_object || is_clear;
    case event_form::mooncake_master:
    case event_form::mooncake_branch:
      if (is_object) return std::get<core::object_event>(what).what != core::object_event::change::updated;
      return !is_clear || form == event_form::mooncake_branch;
    default: return !is_object;
  }
}

void encode_batch(const core::event_batch& batch, const core::medium_table& media, const encode_options& options, std::string& out) {
  out.clear();
  msgpack_writer writer(out);
  const batch_shape shape = shape_of(options.form);
  shape == batch_shape::map ? writer.map(3) : writer.array(shape == batch_shape::of_two ? 2 : 3);
  const auto name = [&](std::string_view text) {
    if (shape == batch_shape::map) writer.string(text);
  };
  const bool is_time = batch.timestamp_s >= 0 && batch.timestamp_s < 1e14;  // converting anything else would be undefined
  const std::uint64_t milliseconds = is_time ? static_cast<std::uint64_t>(batch.timestamp_s * 1000) : 0;
  name("ts");
  counts_milliseconds(options.form) ? writer.unsigned_integer(milliseconds) : writer.real(batch.timestamp_s);

  name("events");
  const auto said = std::ranges::count_if(batch.events, [&](const core::event& each) { return can_say(options.form, each); });
  writer.array(static_cast<std::uint32_t>(said));
  event_parts parts(media, options, milliseconds, out);
  for (const core::event& each : batch.events) {
    if (!can_say(options.form, each)) continue;
    is_engine_form(options.form) ? write_engine_event(each, parts) : write_envelope_event(each, parts);
  }
  if (shape == batch_shape::of_two) return;
  name("data_parallel_rank");
  parts.rank({}, batch.rank);
}

}  // namespace kvc::net

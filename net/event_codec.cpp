#include "net/event_codec.hpp"

#include <algorithm>
#include <array>
#include <utility>
#include <variant>

#include "net/event_codec_mooncake.hpp"
#include "net/event_codec_sglang.hpp"
#include "net/event_codec_standard.hpp"
#include "net/event_codec_tensorrt.hpp"
#include "net/event_codec_vllm.hpp"
#include "net/event_fields.hpp"
#include "net/event_hash.hpp"
#include "net/event_members.hpp"
#include "net/joined_removals.hpp"
#include "net/plain_events.hpp"

namespace kvc::net {
namespace {

using kind = tape_value::kind;

/// Seconds and milliseconds since the epoch differ by so much that the size tells them apart. (Source: kv-events.md section 10, case 13.)
constexpr double first_millisecond = 1e11;

/// Room that is made for events before they are read: a list of nothing is as long as its payload says and takes a byte for each.
constexpr std::size_t most_reserved_events = 4'096;

/// A publisher whose batches are not plain has the short way tried for one in so many.
constexpr std::uint32_t longest_plain_pause = 64;

/// Informational: what is no time, or a number that no clock shows, is as good as none and becomes 0, so that nobody need fear the
/// conversion.
double read_time(tape_value from) {
  double raw = 0;
  if (from.is(kind::real)) raw = from.node().number;
  if (from.is(kind::unsigned_integer)) raw = static_cast<double>(from.node().bits);
  const double scaled = raw > first_millisecond ? raw / 1000 : raw;
  const bool is_time = scaled >= 0 && scaled <= first_millisecond;  // false for what is not a number, too
  return is_time ? scaled : 0;
}

/// Informational, too: a rank that is none is left out.
void read_rank(tape_value from, core::event_batch& out) {
  const std::optional<std::uint32_t> rank = from.as_u32();
  if (rank) out.rank = core::dp_rank{*rank};
}

struct batch_parts {
  tape_value time;
  tape_value events;
  tape_value rank;
  tape_value event_time;  ///< of a bare event
};

batch_parts parts_of_array(tape_value root) {
  batch_parts parts;
  if (root.length() < 2) return parts;
  parts.time = root.first();
  parts.events = parts.time.next();
  if (root.length() > 2) parts.rank = parts.events.next();
  return parts;
}

batch_parts parts_of_map(tape_value root) {
  batch_parts parts;
  tape_value key = root.first();
  for (std::uint32_t i = 0; i < root.length(); ++i) {
    const tape_value value = key.next();
    const std::string_view name = key.is(kind::string) ? key.text() : std::string_view();
    if (name == "ts") parts.time = value;
    if (name == "events") parts.events = value;
    if (name == "data_parallel_rank" || name == "dp_rank") parts.rank = value;
    if (name == "timestamp") parts.event_time = value;
    key = value.next();
  }
  return parts;
}

/// Counts the members of a batch that nobody is known to send, as those of events are. Precondition: a map that is a batch.
void count_unknown_members(tape_value batch, core::batch_counts& counts) {
  constexpr std::array<std::string_view, 5> known{"ts", "events", "data_parallel_rank", "dp_rank", "timestamp"};
  tape_value key = batch.first();
  for (std::uint32_t i = 0; i < batch.length(); ++i, key = key.next().next()) {
    if (!key.is(kind::string) || std::ranges::find(known, key.text()) != known.end()) continue;
    counts.add_unknown(core::word_kind::field, key.text());
  }
}

/// Whether what stands before the list of an array may be its time, whatever its type. A text, a list and a map may as well be the
/// beginning of something else, of an event without its batch or of a list of events, unless events follow.
bool is_before_events(tape_value time, tape_value events) {
  if (!time.is(kind::string) && !time.is(kind::array) && !time.is(kind::map)) return true;
  return events.length() != 0 && (events.first().is(kind::array) || events.first().is(kind::map));
}

reject_reason read_array(tape_value event, event_fields& fields, decode_context& context) {
  if (event.length() == 0 || !event.first().is(kind::string)) return reject_reason::not_an_event;
  if (is_mooncake_array(event)) return read_mooncake_array(event, fields);
  return has_sglang_salt(event) ? read_sglang_array(event, fields) : read_vllm_array(event, fields, context);
}

/// The order matters: a store's envelope is an envelope too, and every engine's map is tagged like vLLM's.
reject_reason read_map(tape_value event, event_fields& fields, decode_context& context) {
  read_members(event, fields, context);
  if (is_mooncake_map(fields, context)) return read_mooncake_map(fields, context);
  if (is_standard_map(fields)) return read_standard_map(fields, context);
  if (is_tensorrt_map(fields, context)) return read_tensorrt_map(fields, context);
  if (is_sglang_map(fields, context)) return read_sglang_map(fields, context);
  return read_vllm_map(fields, context);
}

/// Whether this is a page behind its equal, of a publisher that names both alike. The name alone, or other tokens under it, would be a
/// mistake of one event, which must not cost others. Precondition: it has been left out as its own parent.
bool is_behind_its_equal(const event_fields& fields, core::engine_hash parent) {
  const bool is_one_page = fields.hashes.is(kind::array) && fields.hashes.length() == 1;
  return is_one_page && content_name_of(fields.tokens) == parent;
}

}  // namespace

event_decoder::event_decoder(core::publisher_type type, core::medium_table& media, std::string salt, spare_lists* spare, bool has_adapter)
    : type_(type), media_(&media), salt_(std::move(salt)) {
  context_.spare = spare;
  context_.has_adapter = has_adapter;
}

error_code event_decoder::decode(std::span<const std::byte> payload, core::event_batch& out) {
  if (!ambiguous_.is_any() && decode_plain(payload, out)) return {};
  context_.recipe.reset();  // there may be anything in it
  return decode_by_tape(payload, out);
}

bool event_decoder::decode_plain(std::span<const std::byte> payload, core::event_batch& out) {
  if (plain_wait_ > 0) {
    --plain_wait_;
    return false;
  }
  begin(out);
  if (read_plain_batch(payload, context_, out)) {
    plain_pause_ = 0;
    return true;
  }
  plain_pause_ = std::clamp(plain_pause_ * 2, 1U, longest_plain_pause);
  plain_wait_ = plain_pause_;
  return false;
}

error_code event_decoder::decode_by_tape(std::span<const std::byte> payload, core::event_batch& out) {
  begin(out);
  error_code failure = tape_.parse(payload, msgpack_tape::deeper::opaque);
  if (!failure) failure = decode_envelope(tape_value(tape_.nodes().data(), 0), out);
  if (failure) forget(out);
  return failure;
}

void event_decoder::begin(core::event_batch& out) {
  out.timestamp_s = 0;
  out.rank.reset();
  forget(out);
  context_.media = media_;
  context_.digests = &digests_;
  context_.counts = &out.counts;
  context_.type = type_;
  context_.salt = salt_;  // here rather than at construction: what points into this object must not survive its being moved
}

void event_decoder::forget(core::event_batch& out) const {
  out.events.clear();
  out.rejected_events = 0;
  out.joined_events = 0;
  out.counts.reset();
}

error_code event_decoder::decode_envelope(tape_value root, core::event_batch& out) {
  batch_parts parts;
  if (root.is(kind::array)) {
    parts = parts_of_array(root);
  } else if (root.is(kind::map)) {
    parts = parts_of_map(root);
  }
  const bool is_bare_event = root.is(kind::map) && !parts.events.has_value();
  if (is_bare_event) {
    out.timestamp_s = read_time(parts.event_time);
    const reject_reason why = decode_event(root, out);
    if (why == reject_reason::not_an_event) return errc::not_a_batch;
    note(why, out);
    return {};
  }
  if (!parts.events.is(kind::array)) return errc::not_a_batch;
  if (root.is(kind::array) && !is_before_events(parts.time, parts.events)) return errc::not_a_batch;
  if (root.is(kind::map)) count_unknown_members(root, out.counts);
  out.timestamp_s = read_time(parts.time);
  read_rank(parts.rank, out);
  return decode_events(parts.events, out);
}

error_code event_decoder::decode_events(tape_value events, core::event_batch& out) {
  if (events.length() > max_batch_events) return errc::too_many_elements;
  out.events.reserve(std::min<std::size_t>(events.length(), most_reserved_events));
  tape_value item = events.first();
  for (std::uint32_t i = 0; i < events.length(); ++i, item = item.next()) note(decode_event(item, out), out);
  return {};
}

reject_reason event_decoder::decode_event(tape_value from, core::event_batch& out) {
  event_fields fields;
  reject_reason why = reject_reason::not_an_event;
  if (from.is(kind::array)) {
    why = read_array(from, fields, context_);
  } else if (from.is(kind::map)) {
    why = read_map(from, fields, context_);
  }
  if (why == reject_reason::none) why = check_place(append_event(fields, context_, out.events), fields, out);
  if (why != reject_reason::none) return why;
  ++out.counts.events[static_cast<std::size_t>(fields.dialect)][out.events.back().index()];
  if (join_last_removals(out.events)) ++out.joined_events;
  return why;
}

reject_reason event_decoder::check_place(reject_reason why, const event_fields& fields, core::event_batch& out) {
  core::engine_hash parent{};
  if (why == reject_reason::own_parent && read_name(fields.parent, fields.has_text_hashes, digests_, parent)) {
    if (is_behind_its_equal(fields, parent)) ambiguous_.add(std::span(&parent, 1));
  }
  if (why != reject_reason::none || !ambiguous_.is_any()) return why;
  if (const auto* const cleared = std::get_if<core::cleared_event>(&out.events.back()); cleared != nullptr) {
    if (!cleared->scope.medium) ambiguous_.clear();
    return why;
  }
  const auto* const stored = std::get_if<core::stored_event>(&out.events.back());
  if (stored == nullptr || !stored->parent || !ambiguous_.covers(*stored->parent)) return why;
  ambiguous_.add(stored->hashes);
  out.events.pop_back();
  return reject_reason::own_parent;
}

void event_decoder::note(reject_reason why, core::event_batch& out) {
  if (why == reject_reason::none) return;
  ++counts_.rejected[static_cast<std::size_t>(why)];
  ++out.counts.rejected[static_cast<std::size_t>(why)];
  ++out.rejected_events;
}

}  // namespace kvc::net

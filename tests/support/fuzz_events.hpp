// What must hold for every batch that a decoder of events has accepted.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "net/event_codec.hpp"
#include "net/event_encode.hpp"
#include "tests/support/fuzz_require.hpp"
#include "tests/support/same_batch.hpp"

namespace kvc::fuzz {

using namespace kvc::net;

/// Sizes keep to the bounds, and nothing contradicts itself.
inline void check_bounds(const core::event& each) {
  if (const auto* stored = std::get_if<core::stored_event>(&each)) {
    require(stored->hashes.size() <= max_event_hashes, "names are bounded");
    require(stored->tokens.size() <= max_event_tokens, "tokens are bounded");
    require(stored->extra_keys.size() <= stored->hashes.size(), "key lists belong to blocks");
    require(stored->has_tokens == !stored->tokens.empty(), "tokens are there when they are said to be");
    require(!stored->parent || std::ranges::find(stored->hashes, *stored->parent) == stored->hashes.end(), "no block is its own parent");
  } else if (const auto* removed = std::get_if<core::removed_event>(&each)) {
    require(removed->hashes.size() <= max_event_hashes, "names are bounded");
  } else if (const auto* object = std::get_if<core::object_event>(&each)) {
    require(!object->scope.object_key.empty() && object->scope.object_key.size() <= max_object_key_bytes, "an object has a bounded key");
    require(object->replicas.size() <= max_object_replicas, "replicas are bounded");
    require(object->tokens.size() <= max_event_tokens, "tokens are bounded");
  }
}

/// Every event and every rejection is counted, once.
inline void check_counts(const core::event_batch& batch) {
  std::size_t counted = 0;
  for (const auto& kinds : batch.counts.events) {
    for (const std::uint32_t each : kinds) counted += each;
  }
  require(counted == batch.events.size() + batch.joined_events, "every event is counted once");
  std::size_t rejected = 0;
  for (const std::uint32_t each : batch.counts.rejected) rejected += each;
  require(rejected == batch.rejected_events, "every rejection has a reason");
  require(batch.counts.unknown.size() <= core::batch_counts::max_words + core::word_kind_count, "unknown words are bounded");
}

/// Nobody can tell whether a payload was read by the short way for plain batches. Answers what decoding came to.
inline error_code check_both_ways(std::span<const std::byte> payload, core::publisher_type type, std::string_view salt) {
  static core::event_batch batch;
  static core::event_batch again;
  static spare_lists used;   // what other payloads have left in lists must not show
  core::medium_table media;  // of their own, since both learn words
  core::medium_table other_media;
  const error_code failed = event_decoder(type, media, std::string(salt), &used).decode(payload, batch);
  require(event_decoder(type, other_media, std::string(salt)).decode_by_tape(payload, again) == failed, "both ways refuse the same");
  require(kvc::test::is_same(batch, again), "both ways read the same");
  used.take_back(batch.events);
  return failed;
}

/// An event that was written down and read again says the same.
inline void check_same(const core::event& one, const core::event& other) {
  require(one.index() == other.index(), "the kind of an event survives");
  if (const auto* stored = std::get_if<core::stored_event>(&one)) {
    const auto& again = std::get<core::stored_event>(other);
    require(stored->hashes == again.hashes && stored->parent == again.parent && stored->tokens == again.tokens, "a store survives");
  } else if (const auto* removed = std::get_if<core::removed_event>(&one)) {
    require(removed->hashes == std::get<core::removed_event>(other).hashes, "a removal survives");
  } else if (const auto* object = std::get_if<core::object_event>(&one)) {
    const auto& again = std::get<core::object_event>(other);
    require(object->scope.object_key == again.scope.object_key, "an object survives");
    require(object->what == core::object_event::change::removed || object->replicas.size() == again.replicas.size(), "replicas survive");
  }
}

/// Whether the standard's envelope has no way to say this, though others have: something about no block at all, or one block twice in a
/// list of names, which in the envelope is a chain.
inline bool is_beyond_the_envelope(const core::event& each) {
  if (const auto* removed = std::get_if<core::removed_event>(&each)) return removed->hashes.empty();
  const auto* stored = std::get_if<core::stored_event>(&each);
  if (stored == nullptr) return false;
  std::vector<core::engine_hash> names = stored->hashes;
  std::ranges::sort(names);
  return names.empty() || std::ranges::adjacent_find(names) != names.end();
}

/// Whether a payload lies deeper than a reader goes: a bare event that was read gets a batch around it when it is written.
inline bool is_too_deep(const std::string& written) {
  static msgpack_tape tape;
  return tape.parse(std::as_bytes(std::span(written))) == errc::nested_too_deep;
}

/// Every event of the batch that `form` can say is there again after it was written in that form and read by `reader`.
inline void check_survives(const core::event_batch& batch, core::medium_table& media, event_form form, event_decoder& reader,
                           core::event_batch& again) {
  if (form == event_form::standard && std::ranges::any_of(batch.events, is_beyond_the_envelope)) return;
  encode_options options;
  options.form = form;
  std::string written;
  encode_batch(batch, media, options, written);
  if (is_too_deep(written)) return;
  require(!reader.decode(std::as_bytes(std::span(written)), again), "what was accepted is a batch");
  require(again.rejected_events == 0, "what was accepted is accepted again");
  std::vector<core::event> said = batch.events;
  std::erase_if(said, [form](const core::event& each) { return !can_say(form, each); });
  const std::vector<core::event> told = kvc::test::with_removals_together(said);
  const std::vector<core::event> heard = kvc::test::with_removals_together(again.events);
  require(told.size() == heard.size(), "nothing is lost or added");
  for (std::size_t i = 0; i < told.size(); ++i) check_same(told[i], heard[i]);
}

/// A form that leaves out some of what an event says: what was written in it is read again without a complaint, and no event is lost.
inline void check_readable(const core::event_batch& batch, core::medium_table& media, event_form form, event_decoder& reader,
                           core::event_batch& again) {
  if (std::ranges::any_of(batch.events, is_beyond_the_envelope)) return;
  encode_options options;
  options.form = form;
  std::string written;
  encode_batch(batch, media, options, written);
  if (is_too_deep(written)) return;
  const auto said = std::ranges::count_if(batch.events, [form](const core::event& each) { return can_say(form, each); });
  require(!reader.decode(std::as_bytes(std::span(written)), again), "what is written in a lesser form is a batch");
  require(again.rejected_events == 0, "what is written in a lesser form is accepted");
  require(again.events.size() + again.joined_events == static_cast<std::size_t>(said), "a lesser form loses no event");
}

}  // namespace kvc::fuzz

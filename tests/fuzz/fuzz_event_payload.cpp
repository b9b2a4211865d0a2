// Any payload into the event decoder; what it accepts must keep to the bounds and survive being written down and read again.
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <variant>

#include "net/event_codec.hpp"
#include "net/event_encode.hpp"
#include "tests/support/fuzz_require.hpp"

namespace {

using namespace kvc;
using namespace kvc::net;
using fuzz::require;

void check_bounds(const core::event& each) {
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

void check_counts(const core::event_batch& batch) {
  std::size_t counted = 0;
  for (const auto& kinds : batch.counts.events) {
    for (const std::uint32_t each : kinds) counted += each;
  }
  require(counted == batch.events.size(), "every event is counted once");
  std::size_t rejected = 0;
  for (const std::uint32_t each : batch.counts.rejected) rejected += each;
  require(rejected == batch.rejected_events, "every rejection has a reason");
  require(batch.counts.unknown.size() <= core::batch_counts::max_words + core::word_kind_count, "unknown words are bounded");
}

void check_same(const core::event& one, const core::event& other) {
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

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  static core::medium_table media;
  static event_decoder decoder(core::publisher_type::automatic, media, "tenant-salt");
  static event_decoder reader(core::publisher_type::vllm, media);
  static core::event_batch batch;
  static core::event_batch again;
  if (decoder.decode(std::as_bytes(std::span(data, size)), batch)) {
    require(batch.events.empty() && batch.rejected_events == 0, "a refused payload leaves nothing behind");
    return 0;
  }
  require(batch.events.size() + batch.rejected_events <= max_batch_events, "events are bounded");
  for (const core::event& each : batch.events) check_bounds(each);
  check_counts(batch);

  for (const event_form form : {event_form::vllm_array, event_form::vllm_map, event_form::mooncake_array}) {
    encode_options options;
    options.form = form;
    std::string written;
    encode_batch(batch, media, options, written);
    if (reader.decode(std::as_bytes(std::span(written)), again) == errc::nested_too_deep) continue;  // a bare event gets a batch around it
    require(again.rejected_events == 0, "what was accepted is accepted again");
    std::size_t heard = 0;
    for (const core::event& each : batch.events) {
      if (!can_say(form, each)) continue;
      require(heard < again.events.size(), "nothing is lost");
      check_same(each, again.events[heard++]);
    }
    require(heard == again.events.size(), "nothing is added");
  }
  return 0;
}

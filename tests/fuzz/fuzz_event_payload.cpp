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
  }
}

void check_same(const core::event& one, const core::event& other) {
  require(one.index() == other.index(), "the kind of an event survives");
  if (const auto* stored = std::get_if<core::stored_event>(&one)) {
    const auto& again = std::get<core::stored_event>(other);
    require(stored->hashes == again.hashes && stored->parent == again.parent && stored->tokens == again.tokens, "a store survives");
  } else if (const auto* removed = std::get_if<core::removed_event>(&one)) {
    require(removed->hashes == std::get<core::removed_event>(other).hashes, "a removal survives");
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

  for (const event_form form : {event_form::vllm_array, event_form::vllm_map}) {
    encode_options options;
    options.form = form;
    std::string written;
    encode_batch(batch, media, options, written);
    if (reader.decode(std::as_bytes(std::span(written)), again) == errc::nested_too_deep) continue;  // a bare event gets a batch around it
    require(again.rejected_events == 0 && again.events.size() == batch.events.size(), "what was accepted is accepted again");
    for (std::size_t i = 0; i < batch.events.size(); ++i) check_same(batch.events[i], again.events[i]);
  }
  return 0;
}

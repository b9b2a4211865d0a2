// Any payload into the event decoder; what it accepts must keep to the bounds and survive being written down and read again.
#include <cstddef>
#include <cstdint>
#include <span>

#include "net/event_codec.hpp"
#include "net/event_encode.hpp"
#include "tests/support/fuzz_events.hpp"
#include "tests/support/fuzz_require.hpp"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace kvc;
  using namespace kvc::net;
  static core::medium_table media;
  static event_decoder decoder(core::publisher_type::automatic, media, "tenant-salt");
  static event_decoder reader(core::publisher_type::vllm, media);
  static core::event_batch batch;
  static core::event_batch again;
  const error_code failed = decoder.decode(std::as_bytes(std::span(data, size)), batch);
  const error_code same = fuzz::check_both_ways(std::as_bytes(std::span(data, size)), core::publisher_type::automatic, "tenant-salt");
  fuzz::require(same == failed, "what is refused does not depend on what was read before");
  if (failed) {
    fuzz::require(batch.events.empty() && batch.rejected_events == 0, "a refused payload leaves nothing behind");
    return 0;
  }
  fuzz::require(batch.events.size() + batch.joined_events + batch.rejected_events <= max_batch_events, "events are bounded");
  for (const core::event& each : batch.events) fuzz::check_bounds(each);
  fuzz::check_counts(batch);
  for (const event_form form : {event_form::vllm_array, event_form::vllm_map, event_form::mooncake_array}) {
    fuzz::check_survives(batch, media, form, reader, again);
  }
  return 0;
}

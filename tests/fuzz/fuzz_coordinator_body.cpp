// Bodies of the fleet coordinator's routes: whatever is wrong with one must be told in JSON, and what is accepted must be fit to be kept.
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "core/object_key.hpp"
#include "net/base64.hpp"
#include "net/chunk_range.hpp"
#include "net/event_batches.hpp"
#include "net/field_faults.hpp"
#include "net/json_tree.hpp"
#include "net/usage_batch.hpp"
#include "net/usage_scan.hpp"
#include "tests/support/fuzz_require.hpp"

namespace {

using namespace kvc;

void check_told(net::field_faults& faults) {
  const std::string told = faults.take();
  net::json_tree tree;
  fuzz::require(!tree.parse(told), "faults are told in JSON");
  fuzz::require(net::find_member(tree.root(), "detail").is(net::tape_node::kind::array), "as a list");
}

void check_events(const std::vector<core::usage_event>& events) {
  for (const core::usage_event& each : events) fuzz::require(core::check_key(each.key).has_value(), "a key that is taken is a key");
}

/// What the quick reader accepts, the careful one reads alike.
void check_alike(const net::usage_batch& quick, const net::usage_batch& careful) {
  fuzz::require(quick.instance_id == careful.instance_id && quick.number == careful.number && quick.tier == careful.tier, "the same batch");
  fuzz::require(quick.events.size() == careful.events.size(), "as many events");
  for (std::size_t i = 0; i < quick.events.size(); ++i) {
    const core::usage_event& one = quick.events[i];
    const core::usage_event& other = careful.events[i];
    fuzz::require(one.what == other.what && one.key == other.key && one.bytes == other.bytes, "the same event");
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  if (const auto bytes = net::decode_base64(text)) fuzz::require(bytes->size() <= size / 4 * 3, "four letters are three bytes at most");
  net::usage_batch quick;
  const bool is_quick = net::scan_usage_batch(text, quick);
  std::vector<net::chunk_range> ranges;
  const bool has_ranges = net::scan_chunk_ranges(text, ranges);
  net::json_tree tree;
  if (const auto wrong = tree.parse(text)) {
    fuzz::require((!is_quick && !has_ranges) || wrong->is_too_large, "what is no JSON is read by nobody");
    net::field_faults faults;
    faults.add_broken_json(wrong->offset, wrong->what);
    check_told(faults);
    return 0;
  }
  net::field_faults of_usage;
  net::usage_batch usage;
  net::read_usage_batch(tree.root(), usage, of_usage);
  if (of_usage.empty()) {
    check_events(usage.events);
    if (is_quick) check_alike(quick, usage);
  } else {
    fuzz::require(!is_quick, "a batch with faults is for the careful reader");
    check_told(of_usage);
  }
  net::field_faults of_batches;
  net::event_batches batches;
  net::read_event_batches(tree.root(), batches, of_batches);
  if (!of_batches.empty()) {
    check_told(of_batches);
    return 0;
  }
  for (const net::event_batch& each : batches.batches) check_events(each.events);
  return 0;
}

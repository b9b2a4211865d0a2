// Any bytes into the reader of dumps, and what it accepts into an index: nothing may break, and nothing may be left behind.
#include <cstddef>
#include <cstdint>
#include <limits>
#include <memory>
#include <span>
#include <vector>

#include "core/lane_blocks.hpp"
#include "core/snapshot.hpp"
#include "core/snapshot_loader.hpp"
#include "net/dump_decode.hpp"
#include "tests/support/fuzz_require.hpp"

namespace {

using namespace kvc;
using fuzz::require;
using record = net::dump_decoder::record;

constexpr std::size_t plenty = std::numeric_limits<std::size_t>::max();

struct loaded {
  std::vector<std::shared_ptr<core::partition>> homes;
  core::lane_blocks blocks{{.worker = core::worker_id{1}, .max_orphans = 100}};
  std::unique_ptr<core::snapshot_loader> loader = std::make_unique<core::snapshot_loader>(blocks);
  core::apply_tally tally;
};

std::uint64_t held(const core::lane_blocks& blocks) {
  std::uint64_t all = blocks.orphans();
  for (std::size_t i = 0; i < core::max_media; ++i) all += blocks.held_on(static_cast<core::medium_id>(i));
  return all;
}

/// What was loaded can be told and loaded once more, and comes out the same.
void check_again(const loaded& first) {
  core::dump_cursor cursor;
  core::dump_slice slice;
  loaded second;
  require(first.blocks.dump_some(cursor, plenty, slice), "an unbounded slice tells everything");
  for (const auto& each : cursor.homes()) second.homes.push_back(std::make_shared<core::partition>(each->key(), each->seed()));
  for (const auto& each : second.homes) second.loader->add_home(each);
  require(!second.loader->load(slice, second.tally), "what was told is accepted");
  second.loader->finish(second.tally);
  require(held(second.blocks) == held(first.blocks), "as many blocks are held");
  require(second.blocks.names() == first.blocks.names(), "under as many names");
}

void check_empty(loaded& who) {
  while (!who.blocks.clear_some(core::all_media, {}, plenty, who.tally)) continue;
  require(held(who.blocks) == 0 && who.blocks.names() == 0, "everything can be cleared");
  for (const auto& each : who.homes) require(each->index().blocks() == 0, "no block stays behind");
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  core::medium_table media;
  net::dump_decoder decoder(std::as_bytes(std::span(data, size)), media);
  std::unique_ptr<loaded> who;
  for (;;) {
    const auto found = decoder.next();
    bool goes_on = found.has_value() && *found != record::end_of_dump;
    if (goes_on && *found == record::owner) who = std::make_unique<loaded>();
    if (goes_on && *found == record::home) {
      who->homes.push_back(std::make_shared<core::partition>(decoder.home.key, decoder.home.seed));
      who->loader->add_home(who->homes.back());
    }
    if (goes_on && *found == record::slice) goes_on = !who->loader->load(decoder.slice, who->tally);
    const bool is_whole = goes_on && *found == record::end;
    if (is_whole) {
      who->loader->finish(who->tally);
      check_again(*who);
    }
    if (who && (!goes_on || is_whole)) {
      who->loader.reset();
      check_empty(*who);
      who.reset();
    }
    if (!goes_on) return 0;
  }
}

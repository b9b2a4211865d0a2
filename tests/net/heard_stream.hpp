// A stream from its payloads to its answers: decoder and applier as one publisher's events pass through them, without sockets.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "core/worker_numbers.hpp"
#include "net/event_encode.hpp"
#include "tests/net/decoding.hpp"
#include "tests/support/applier_stream.hpp"

namespace kvc::net::test {

namespace applier = kvc::test::applier;

/// What a store of these tests says; the block size of the registration is 2.
struct told {
  std::vector<std::uint64_t> names;
  std::vector<std::uint32_t> tokens;
  std::optional<std::uint64_t> parent = {};
  std::optional<core::medium_id> medium = {};
  std::uint32_t block_size = applier::block_size;
};

inline core::stored_event stored_of(const told& what) {
  core::stored_event made;
  made.hashes = applier::names(what.names);
  if (what.parent) made.parent = core::engine_hash{*what.parent};
  made.tokens = what.tokens;
  made.has_tokens = !what.tokens.empty();
  made.scope.block_size = what.block_size;
  made.scope.medium = what.medium;
  return made;
}

inline core::removed_event removed_of(const std::vector<std::uint64_t>& names, std::optional<core::medium_id> medium = {}) {
  core::removed_event made;
  made.hashes = applier::names(names);
  made.scope.medium = medium;
  return made;
}

struct heard_stream : applier::stream {
  decoding with;
  core::worker_numbers numbers;

  explicit heard_stream(core::publisher_type type, core::publisher_class kind = core::publisher_class::engine)
      : heard_stream(registered_with_defaults(type, kind)) {}
  explicit heard_stream(const core::registration& as) : applier::stream(as), with(as.type, !as.partition.lora.empty()) {
    core::event_applier::options limits;
    limits.next_worker = [this] { return std::optional(core::worker_id{100 + numbers.next()->get()}); };
    applier = std::make_unique<core::event_applier>(as, who, all, limits);
  }

  static core::registration registered_with_defaults(core::publisher_type type, core::publisher_class kind) {
    core::registration made = applier::registered(type, kind);
    made.copy_counting = core::counts_copies(type);
    return made;
  }

  /// Decodes and applies a payload; false when it is no batch.
  bool hear(const std::string& payload) {
    if (with.decode(payload)) return false;
    core::event_applier::progress at;
    BOOST_TEST(applier->apply_some(with.batch, at, applier::plenty, tally));
    return true;
  }
  bool hear_hex(std::string_view hex) { return hear(samples::from_hex(hex)); }

  /// Says one event in this form and hears it.
  void say(event_form form, core::event what, bool binary_hashes = false, std::optional<std::uint32_t> rank = {}) {
    core::event_batch batch;
    batch.timestamp_s = 1763700000.5;
    if (rank) batch.rank = core::dp_rank{*rank};
    batch.events.push_back(std::move(what));
    encode_options options;
    options.form = form;
    options.binary_hashes = binary_hashes;
    std::string payload;
    encode_batch(batch, with.media, options, payload);
    BOOST_TEST(hear(payload));
    BOOST_TEST(with.batch.rejected_events == 0U);
  }
};

}  // namespace kvc::net::test

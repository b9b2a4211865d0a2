// Batches as publishers write them, plain or not, drawn from a seed; and whether one is plain.
#pragma once

#include <cstdint>
#include <iterator>
#include <optional>
#include <random>
#include <string>
#include <vector>

#include "core/event.hpp"
#include "core/medium.hpp"
#include "core/registration.hpp"
#include "net/event_codec.hpp"
#include "net/event_encode.hpp"
#include "net/plain_events.hpp"
#include "tests/net/event_samples.hpp"

namespace kvc::net::test {

inline constexpr core::publisher_type types[] = {core::publisher_type::automatic, core::publisher_type::vllm,
                                                 core::publisher_type::sglang,    core::publisher_type::tensorrt_llm,
                                                 core::publisher_type::standard,  core::publisher_type::mooncake};

/// Batches of every form, with what engines send mostly and what they send now and then.
class batch_source {
 public:
  explicit batch_source(std::uint64_t seed) : random_(seed) {}

  std::uint64_t below(std::uint64_t bound) { return random_() % bound; }

  std::string payload() {
    core::event_batch batch;
    batch.timestamp_s = below(8) == 0 ? 0.0 : 1763700000.5;
    if (below(2) == 0) batch.rank = core::dp_rank{static_cast<std::uint32_t>(below(3))};
    const std::uint64_t odd = below(3) == 0 ? 8 : 1'000'000;  // most batches have nothing rare in them
    for (std::uint64_t left = below(12); left > 0; --left) add(batch, odd);
    std::string bytes;
    const encode_options with{.form = static_cast<event_form>(below(event_form_count)), .binary_hashes = below(odd) == 0};
    encode_batch(batch, media_, with, bytes);
    return bytes;
  }

  void spoil(std::string& bytes) {
    if (bytes.empty()) return;
    switch (below(3)) {
      case 0: bytes.resize(below(bytes.size() + 1)); break;
      case 1: bytes[below(bytes.size())] = static_cast<char>(random_()); break;
      default: {
        constexpr unsigned char likely[] = {0x00, 0x80, 0x90, 0x91, 0xa0, 0xc0, 0xc4, 0xcb, 0xcc, 0xcd, 0xce, 0xcf, 0xd3, 0xd9, 0xdc, 0xff};
        const std::string put(1, static_cast<char>(likely[below(std::size(likely))]));
        bytes.replace(below(bytes.size()), below(3), put);
      }
    }
  }

 private:
  core::event_scope scope(std::uint64_t odd) {
    core::event_scope scope;
    scope.block_size = 4;
    scope.medium = below(odd) == 0 ? std::nullopt : std::optional(static_cast<core::medium_id>(below(odd) == 0 ? below(3) : 0));
    if (below(odd) == 0) scope.lora = "adapter";
    if (below(odd) == 0) scope.salt = "salt";
    if (below(odd) == 0) scope.group = static_cast<std::uint32_t>(below(3));
    scope.prefix_complete = below(odd) != 0;
    return scope;
  }

  std::vector<core::engine_hash> names(std::uint64_t most) {
    std::vector<core::engine_hash> some(below(most) + (below(50) == 0 ? 0 : 1));
    for (auto& each : some) each = core::engine_hash{random_() >> (below(4) == 0 ? below(64) : 0)};
    return some;
  }

  void add(core::event_batch& batch, std::uint64_t odd) {
    if (below(2) == 0) {  // a row of removals, as engines write them; now and then so many that one event has no room for them
      const core::event_scope where = scope(odd);
      for (std::uint64_t left = below(30) == 0 ? 600 : 1 + below(9); left > 0; --left) {
        batch.events.emplace_back(core::removed_event{where, names(below(odd) == 0 ? 300 : 1), false});
      }
      return;
    }
    if (below(odd) == 0) {
      batch.events.emplace_back(core::cleared_event{});
      return;
    }
    core::stored_event stored;
    stored.scope = scope(odd);
    stored.hashes = names(below(8) == 0 ? 40 : 6);
    if (below(2) == 0) stored.parent = below(odd) == 0 && !stored.hashes.empty() ? stored.hashes.front() : core::engine_hash{random_()};
    if (below(odd) == 0 && stored.hashes.size() > 1) stored.hashes.back() = stored.hashes.front();
    if (below(odd) != 0) stored.tokens.resize(stored.hashes.size() * 4);
    for (auto& token : stored.tokens) token = static_cast<std::uint32_t>(below(128'000) >> below(17));
    stored.has_tokens = !stored.tokens.empty();
    if (below(odd) == 0) stored.extra_keys = {"", samples::from_hex("91a178")};
    batch.events.emplace_back(std::move(stored));
  }

  core::medium_table media_;
  std::mt19937_64 random_;
};

/// Whether the short way takes a batch.
inline bool is_plain(const std::string& payload, core::publisher_type type) {
  core::medium_table media;
  core::event_batch batch;
  decode_context context;
  context.media = &media;
  context.counts = &batch.counts;
  context.type = type;
  return read_plain_batch(samples::as_payload(payload), context, batch);
}

}  // namespace kvc::net::test

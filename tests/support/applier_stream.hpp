// One stream of events with an applier and a catalog of its own, for the tests of the applier.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include <boost/test/unit_test.hpp>

#include "core/block_hasher.hpp"
#include "core/event_applier.hpp"

namespace kvc::test::applier {

using namespace kvc::core;

inline constexpr std::uint64_t seed = 1337;
inline constexpr std::uint32_t block_size = 2;
inline constexpr std::size_t plenty = 1'000'000;

using words = std::vector<std::uint32_t>;

inline registration registered(publisher_type type, publisher_class kind = publisher_class::engine) {
  registration made;
  made.worker = {.tenant = "default", .instance = "a", .rank = dp_rank{0}, .kind = kind};
  made.partition = {.tenant = "default", .model = "m", .lora = "", .salt = "", .block_size = block_size};
  made.type = type;
  made.hash_seed = seed;
  made.medium = kind == publisher_class::pool ? medium_id::cpu : medium_id::gpu;
  return made;
}

inline std::vector<engine_hash> names(const std::vector<std::uint64_t>& numbers) {
  std::vector<engine_hash> made;
  for (const std::uint64_t each : numbers) made.emplace_back(each);
  return made;
}

inline event_scope on(medium_id medium) {
  event_scope made;
  made.medium = medium;
  return made;
}
inline event_scope in_group(std::uint32_t group, bool prefix_complete = true) {
  event_scope made;
  made.group = group;
  made.prefix_complete = prefix_complete;
  return made;
}
inline event_scope of_size(std::uint32_t size) {
  event_scope made;
  made.block_size = size;
  return made;
}

using word = std::optional<std::string>;

/// What an envelope names of its partition; nothing where a word is absent.
inline event_scope envelope(word tenant, word model, word lora, word salt) {
  event_scope made;
  made.tenant = std::move(tenant);
  made.model = std::move(model);
  made.lora = std::move(lora);
  made.salt = std::move(salt);
  return made;
}
inline event_scope with_adapter(std::string lora) {
  return envelope({}, {}, std::move(lora), {});
}

/// A stream's applier with a catalog of its own, and queries against it.
struct stream {
  catalog all;
  member who;
  std::unique_ptr<event_applier> applier;
  apply_tally tally;

  explicit stream(registration with, const event_applier::options& limits = {})
      : who{.id = worker_id{1},
            .key = shared_key(with.worker),
            .shared_pool = false,
            .status = nullptr,
            .media_seen = std::make_shared<std::atomic<media_mask>>(media_mask{0})},
        applier(std::make_unique<event_applier>(with, who, all, limits)) {}

  void apply(event happened) {
    event_batch batch;
    batch.events.push_back(std::move(happened));
    event_applier::progress at;
    BOOST_TEST(applier->apply_some(batch, at, plenty, tally));
  }
  void store(const std::vector<std::uint64_t>& named, const words& tokens, const event_scope& scope = {},
             std::optional<std::uint64_t> parent = {}) {
    stored_event made;
    made.scope = scope;
    made.hashes = names(named);
    if (parent) made.parent = engine_hash{*parent};
    made.tokens = tokens;
    made.has_tokens = !tokens.empty();
    apply(std::move(made));
  }
  void remove(const std::vector<std::uint64_t>& named, const event_scope& scope = {}) {
    apply(removed_event{.scope = scope, .hashes = names(named)});
  }
  void clear(const event_scope& scope = {}) { apply(cleared_event{.scope = scope}); }

  [[nodiscard]] std::uint32_t depth(const words& tokens, media_mask media = all_media,
                                    const partition_key& key = registered(publisher_type::vllm).partition) const {
    const auto view = all.view().get();
    const auto* home = view->find(key);
    if (home == nullptr) return 0;
    std::vector<local_hash> query;
    hash_blocks(tokens, key.block_size, seed, query);
    match_scope scope = home->scope;
    scope.media = media;
    match_result answer;
    home->partition->index().match(query, scope, answer);
    return answer.of(worker_id{1}).any;
  }
};

inline partition_key with_lora(std::string lora) {
  partition_key key = registered(publisher_type::vllm).partition;
  key.lora = std::move(lora);
  return key;
}

}  // namespace kvc::test::applier

// Engines and pools of one catalog, each a stream of its own, with the questions between them passed on by hand.
#pragma once

#include <array>
#include <chrono>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "core/block_hasher.hpp"
#include "core/event_applier.hpp"
#include "tests/support/applier_stream.hpp"

namespace kvc::test::pools {

using namespace kvc::core;
using applier::block_size;
using applier::names;
using applier::plenty;
using applier::words;
using change = object_event::change;

inline constexpr medium_id mixed{3};
inline constexpr media_mask cpu = mask_of(medium_id::cpu);
inline constexpr media_mask disk = mask_of(medium_id::disk);

/// A stream of its own worker.
struct one_stream {
  std::unique_ptr<event_applier> applier;
  member who;
  apply_tally tally;

  void apply(event happened) {
    event_batch batch;
    batch.events.push_back(std::move(happened));
    event_applier::progress at;
    while (!applier->apply_some(batch, at, 3, tally)) continue;
  }
};

/// Some streams on a catalog, and queries.
struct scene {
  catalog all;
  std::chrono::steady_clock::time_point now{std::chrono::hours(1)};
  std::uint32_t last_number = 0;
  std::vector<std::unique_ptr<one_stream>> streams;

  one_stream& add(registration with, std::size_t max_waiting = 65'536) {
    event_applier::options limits;
    limits.max_orphans = max_waiting;
    limits.pool_mixed = [] { return mixed; };
    limits.next_worker = [this] { return std::optional(worker_id{++last_number}); };
    auto made = std::make_unique<one_stream>();
    made->who = {.id = worker_id{++last_number},
                 .key = shared_key(with.worker),
                 .shared_pool = with.shared,
                 .status = nullptr,
                 .media_seen = std::make_shared<std::atomic<media_mask>>(media_mask{0})};
    made->applier = std::make_unique<event_applier>(with, made->who, all, limits);
    made->applier->pass_time(now);
    return *streams.emplace_back(std::move(made));
  }
  one_stream& engine(std::string instance, publisher_type type = publisher_type::vllm) {
    registration with = applier::registered(type);
    with.worker.instance = std::move(instance);
    with.copy_counting = counts_copies(type);
    return add(with);
  }
  static registration pool_registration(std::uint32_t shards = 0) {
    registration with = applier::registered(publisher_type::mooncake, publisher_class::pool);
    with.worker.instance = "store";
    with.copy_counting = false;
    with.shared = true;
    with.shards = shards;
    return with;
  }
  one_stream& pool(std::uint32_t shards = 0) { return add(pool_registration(shards)); }

  /// What the service does between batches.
  void settle() {
    for (const auto& each : streams) {
      std::vector<name_question> asked;
      while (each->applier->take_questions(asked, 2)) continue;
      for (const name_question& one : asked) {
        for (const auto& other : streams) other->applier->answer(one);
      }
    }
    for (const auto& each : streams) {
      while (!each->applier->catch_up_some(2, each->tally)) continue;
    }
  }
  /// The same, long after: what has been seen of parts is taken for all.
  void wait() {
    now += std::chrono::seconds(5);
    for (const auto& each : streams) each->applier->pass_time(now);
    settle();
  }

  /// Blocks of the prompt that an instance reaches on these media.
  [[nodiscard]] std::uint32_t depth(const one_stream& of, const words& tokens, media_mask media = all_media,
                                    const std::string& lora = "") const {
    const partition_key key = applier::with_lora(lora);
    const auto view = all.view().get();
    const auto* home = view->find(key);
    if (home == nullptr) return 0;
    std::vector<local_hash> query;
    hash_blocks(tokens, key.block_size, applier::seed, query);
    match_scope scope = home->scope;
    scope.media = media;
    match_result answer;
    home->partition->index().match(query, scope, answer);
    return answer.of(of.who.id).any;
  }
};

inline event store_of(const std::vector<std::uint64_t>& named, const words& tokens, std::optional<std::uint64_t> parent = {}) {
  stored_event made;
  made.hashes = names(named);
  made.tokens = tokens;
  made.has_tokens = !tokens.empty();
  if (parent) made.parent = engine_hash{*parent};
  return made;
}
inline event remove_of(const std::vector<std::uint64_t>& named) {
  return removed_event{.scope = {}, .hashes = names(named)};
}

/// An object as the later master tells it: a key and a medium.
inline event object_of(std::string key, change what = change::stored, medium_id medium = medium_id::cpu) {
  object_event made;
  made.scope.object_key = std::move(key);
  made.scope.medium = medium;
  made.what = what;
  return made;
}
/// As the first format tells it: with all of its replicas.
inline event listed_of(std::string key, const std::vector<medium_id>& media, change what = change::updated) {
  object_event made;
  made.scope.object_key = std::move(key);
  made.what = what;
  for (const medium_id each : media) made.replicas.push_back({each, "somewhere"});
  return made;
}

/// A key of vLLM's connector for a block that the engine calls `name`.
inline std::string vllm_key(std::uint64_t name, unsigned rank = 0, std::string_view model = "m") {
  constexpr std::string_view digits = "0123456789abcdef";
  std::string hex(64, '0');
  for (std::size_t i = 0; i < 48; ++i) hex[i] = digits[(name + i * 7) % 16];
  for (std::size_t i = 0; i < 16; ++i) hex[63 - i] = digits[(name >> (4 * i)) & 15];
  return std::string(model) + "@tp_rank:" + std::to_string(rank) + "@pcp0@dcp0@pp_rank:0@" + hex;
}

}  // namespace kvc::test::pools

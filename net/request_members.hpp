// The names a request body may use, and what each of them means. Everything else in a body is ignored.
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <string_view>

namespace kvc::net {

/// One meaning; several names may stand for it, of which a body uses one, or several that say the same. A name that comes again counts for
/// the last time it came.
enum class member : std::uint8_t {
  additional_salt,
  after_loss,
  backend_id,
  bind,
  block_size,
  copy_counting,
  detail,
  dp_rank,
  endpoint,
  expect_idle,
  extra_keys,
  hash_kind,
  hash_seed,
  hashes,
  instance_id,
  instance_ids,
  key,
  keys,
  lora_id,
  lora_name,
  media,
  medium,
  min_match,
  model,
  preferred,
  prefetch,
  prefetch_max_blocks,
  queries,
  replay_endpoint,
  shards,
  shared,
  tenant_id,
  tokens,
  tokens_base64,
  top_k,
  topic,
  type,
  url,
  wait_ms,
  world_size,
};
inline constexpr std::size_t member_count = static_cast<std::size_t>(member::world_size) + 1;

struct known_name {
  std::string_view name;
  member meaning;
};

/// Sorted by name. (Source: seed 000 and spec indexer-api; the aliases are those the spec lists.)
inline constexpr std::array known_names{
    known_name{"additional_salt", member::additional_salt},
    known_name{"additionalsalt", member::additional_salt},
    known_name{"after_loss", member::after_loss},
    known_name{"backend_id", member::backend_id},
    known_name{"bind", member::bind},
    known_name{"block_hash", member::hashes},
    known_name{"block_hashes", member::hashes},
    known_name{"block_size", member::block_size},
    known_name{"cache_salt", member::additional_salt},
    known_name{"copy_counting", member::copy_counting},
    known_name{"detail", member::detail},
    known_name{"dp_rank", member::dp_rank},
    known_name{"endpoint", member::endpoint},
    known_name{"expect_idle", member::expect_idle},
    known_name{"extra_keys", member::extra_keys},
    known_name{"hash_kind", member::hash_kind},
    known_name{"hash_seed", member::hash_seed},
    known_name{"instance_id", member::instance_id},
    known_name{"instance_ids", member::instance_ids},
    known_name{"key", member::key},
    known_name{"keys", member::keys},
    known_name{"lora_id", member::lora_id},
    known_name{"lora_name", member::lora_name},
    known_name{"media", member::media},
    known_name{"medium", member::medium},
    known_name{"min_match", member::min_match},
    known_name{"model", member::model},
    known_name{"model_name", member::model},
    known_name{"modelname", member::model},
    known_name{"preferred", member::preferred},
    known_name{"prefetch", member::prefetch},
    known_name{"prefetch_max_blocks", member::prefetch_max_blocks},
    known_name{"queries", member::queries},
    known_name{"replay_endpoint", member::replay_endpoint},
    known_name{"seq_hashes", member::hashes},
    known_name{"shards", member::shards},
    known_name{"shared", member::shared},
    known_name{"tenant_id", member::tenant_id},
    known_name{"token_ids", member::tokens},
    known_name{"token_ids_b64", member::tokens_base64},
    known_name{"top_k", member::top_k},
    known_name{"topic", member::topic},
    known_name{"type", member::type},
    known_name{"url", member::url},
    known_name{"wait_ms", member::wait_ms},
    known_name{"world_size", member::world_size},
};
static_assert(std::ranges::is_sorted(known_names, {}, &known_name::name));

/// The longest name there is: longer ones need not be kept to know that they are unknown.
inline constexpr std::size_t longest_known_name =
    std::ranges::max(known_names, {}, [](const known_name& each) { return each.name.size(); }).name.size();

/// Null for a name nobody knows.
[[nodiscard]] constexpr const known_name* find_known(std::string_view name) noexcept {
  const auto found = std::ranges::lower_bound(known_names, name, {}, &known_name::name);
  return found != known_names.end() && found->name == name ? &*found : nullptr;
}

}  // namespace kvc::net

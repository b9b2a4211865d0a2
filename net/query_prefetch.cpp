#include "net/query_prefetch.hpp"

#include <algorithm>
#include <string_view>
#include <utility>

#include <boost/asio/post.hpp>

#include "net/object_walk.hpp"

namespace kvc::net {
namespace {

/// How often one lane has something that queries ask for read again, and how much at once: of many queries a few are enough, since the same
/// prefixes come again and again, and stores are asked at their own rate.
constexpr std::chrono::milliseconds between_readings{50};
constexpr std::size_t blocks_per_reading = 256;
constexpr std::size_t most_blocks_to_read = 4'096;  ///< of one query, from its beginning

}  // namespace

std::shared_ptr<query_leftover> leftover_of(const query_request& query, const query_source& source, const query_scratch& scratch,
                                            bool wants_tokens) {
  const core::partition_view* const found = source.partitions.find(query.partition);
  if (found == nullptr) return nullptr;
  auto left = std::make_shared<query_leftover>();
  left->partition = query.partition;
  left->preferred = query.preferred.empty() ? query.instance : query.preferred;
  left->hash_seed = found->partition->seed();
  left->max_blocks = query.prefetch_max_blocks;
  // What an answer leaves out, a row or some media, is there all the same. Of nobody by that name the walk looks at every block.
  const std::string& whose = query.instance.empty() ? query.preferred : query.instance;
  left->to_look_up = whose;
  for (const query_scratch::row& each : scratch.rows) {
    if (query.media || found->members[each.first].key->instance != whose) continue;
    left->to_look_up.clear();
    for (std::size_t i = each.first; i < each.last; ++i) {
      const core::worker_depth& depth = scratch.matched.of(found->members[i].id);
      left->in_memory = std::max<std::size_t>(left->in_memory, depth.device_or_host);
      left->on_any = std::max<std::size_t>(left->on_any, depth.any);
    }
  }
  if (query.by_hash) {
    left->hashes.assign(query.hashes.begin(), query.hashes.end());
  } else {
    left->locals.assign(scratch.prompt.begin(), scratch.prompt.end());
    if (wants_tokens) left->tokens.assign(query.tokens.begin(), query.tokens.end());
  }
  return left;
}

std::shared_ptr<query_leftover> asked_for_by(const query_request& query, const query_source& source, const query_scratch& scratch,
                                             std::size_t turn) {
  const core::partition_view* const found = source.partitions.find(query.partition);
  if (found == nullptr || (found->scope.pools.empty() && found->scope.private_pools.empty())) return nullptr;
  // Not the match only: what the index has dropped and its store still has comes back by being read, too.
  const std::size_t blocks = std::min(query.by_hash ? query.hashes.size() : scratch.prompt.size(), most_blocks_to_read);
  if (blocks == 0) return nullptr;
  auto left = std::make_shared<query_leftover>();
  left->purpose = leftover_purpose::reading;
  left->partition = query.partition;
  left->hash_seed = found->partition->seed();
  left->in_memory = turn % ((blocks + blocks_per_reading - 1) / blocks_per_reading) * blocks_per_reading;
  left->max_blocks = blocks_per_reading;
  const auto end = static_cast<std::ptrdiff_t>(std::min(blocks, left->in_memory + blocks_per_reading));
  if (query.by_hash) {
    left->hashes.assign(query.hashes.begin(), query.hashes.begin() + end);
  } else {
    left->locals.assign(scratch.prompt.begin(), scratch.prompt.begin() + end);
  }
  return left;
}

std::optional<std::size_t> query_prefetch::next_reading(const lane& here, std::chrono::steady_clock::time_point now) {
  reading& mine = readings_[here.index()];
  if (now - mine.last < between_readings) return std::nullopt;
  mine.last = now;
  for (std::uint32_t backend = 0; backend < objects_.backends(); ++backend) {
    if (objects_.can_be_asked(backend)) return mine.turn++;
  }
  return std::nullopt;
}

void query_prefetch::note_token_store(std::uint32_t backend, bool is_there) {
  if (takes_tokens_[backend].exchange(is_there, std::memory_order_relaxed) == is_there) return;
  is_there ? ++token_stores_ : --token_stores_;
}

void query_prefetch::take(lane& here, std::shared_ptr<query_leftover> left) {
  if (under_way_->fetch_add(1, std::memory_order_relaxed) >= most_under_way) {
    under_way_->fetch_sub(1, std::memory_order_relaxed);
    left_out_.fetch_add(1, std::memory_order_relaxed);
    return;
  }
  left->under_way = under_way_;
  asio::post(here.context, [this, &here, left = std::move(left)] { carry_out(here, left); });
}

void query_prefetch::carry_out(lane& here, const std::shared_ptr<query_leftover>& left) {
  if (left->max_blocks == 0) left->max_blocks = settings_.prefetch_max_blocks;
  if (left->hashes.empty()) core::roll_from_root(left->locals, left->hash_seed, left->hashes);
  if (!left->to_look_up.empty()) look_up(here, *left);
  for (std::uint32_t backend = 0; backend < objects_.backends(); ++backend) {
    const bool has_objects = objects_.read(backend, [&](const core::object_table& table) {
      const std::uint32_t owner = table.find_owner(objects_.name(backend), left->partition.tenant);
      return owner != core::no_record && table.objects_of(owner) != 0;
    });
    const bool is_of_use = left->purpose == leftover_purpose::promotion || objects_.can_be_asked(backend);
    if (has_objects && is_of_use && left->in_memory < left->hashes.size()) {
      std::make_shared<object_walk>(here, objects_, promotions_, truth_, left, backend)->begin();
    }
  }
  if (!left->tokens.empty()) promote_tokens(*left);
}

void query_prefetch::look_up(lane& here, query_leftover& left) {
  const core::partition_view* const found = here.partitions.get().find(left.partition);
  const auto is_meant = [&left](const core::member& each) { return each.key->instance == left.to_look_up; };
  if (found == nullptr || std::ranges::none_of(found->members, is_meant)) return;  // a host or a segment may be preferred as well
  core::match_result matched;
  found->partition->index().match(std::span<const core::seq_hash>(left.hashes), found->scope, matched);
  for (const core::member& each : found->members) {
    if (!is_meant(each)) continue;
    const core::worker_depth& depth = matched.of(each.id);
    left.in_memory = std::max<std::size_t>(left.in_memory, depth.device_or_host);
    left.on_any = std::max<std::size_t>(left.on_any, depth.any);
  }
}

void query_prefetch::promote_tokens(const query_leftover& left) {
  const std::size_t blocks = std::min<std::size_t>(left.on_any, left.in_memory + left.max_blocks);
  if (blocks <= left.in_memory || blocks > left.hashes.size()) return;
  const std::size_t tokens = std::min(blocks * left.partition.block_size, left.tokens.size());
  // One name for the whole prefix, so that the same wish is known again. Hashes do not tell what else makes a partition; by their lengths
  // no two of these words run into each other.
  std::string name = "prefix " + std::to_string(left.hashes[blocks - 1].get());
  for (const std::string* word : {&left.partition.model, &left.partition.lora, &left.partition.salt})
    name += " " + std::to_string(word->size()) + ":" + *word;
  const std::string_view key = name;
  for (std::uint32_t backend = 0; backend < objects_.backends(); ++backend) {
    if (!takes_tokens_[backend].load(std::memory_order_relaxed)) continue;
    prefetch_word word{};
    promotions_.ask({.backend = backend,
                     .tenant = left.partition.tenant,
                     .preferred = left.preferred,
                     .model = left.partition.model,
                     .salt = left.partition.salt,
                     .tokens = std::span(left.tokens).first(tokens)},
                    std::span(&key, 1), std::span(&word, 1));
  }
}

void prefetch_behind(query_prefetch* by, lane& here, const query_request& query, const query_source& source, const query_scratch& after) {
  if (by == nullptr) return;
  if (auto left = leftover_of(query, source, after, by->wants_tokens())) by->take(here, std::move(left));
}

void read_again_behind(query_prefetch* by, lane& here, const query_request& query, const query_source& source, const query_scratch& after) {
  if (by == nullptr) return;
  const std::optional<std::size_t> turn = by->next_reading(here, source.now);
  if (!turn) return;
  if (auto left = asked_for_by(query, source, after, *turn)) by->take(here, std::move(left));
}

}  // namespace kvc::net

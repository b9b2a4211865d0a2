#include "net/query_prefetch.hpp"

#include <algorithm>
#include <string_view>
#include <utility>

#include <boost/asio/post.hpp>

#include "core/exist_decision.hpp"

namespace kvc::net {
namespace {

constexpr std::size_t most_parts = 4'096;  ///< objects of one block

}  // namespace

std::shared_ptr<query_leftover> leftover_of(const query_request& query, const query_source& source, const query_scratch& scratch,
                                            bool wants_tokens) {
  const core::partition_view* const found = source.partitions.find(query.partition);
  if (found == nullptr) return nullptr;
  auto left = std::make_shared<query_leftover>();
  left->tenant = query.partition.tenant;
  left->model = query.partition.model;
  left->salt = query.partition.salt;
  left->preferred = query.preferred.empty() ? query.instance : query.preferred;
  left->hash_seed = found->partition->seed();
  left->block_size = query.partition.block_size;
  left->max_blocks = query.prefetch_max_blocks;
  // Without a row of that name nothing is known to be in memory, and the walk looks at every block.
  const std::string& whose = query.instance.empty() ? query.preferred : query.instance;
  for (const query_scratch::row& each : scratch.rows) {
    if (found->members[each.first].key.instance != whose) continue;
    for (std::size_t i = each.first; i < each.last; ++i) {
      const core::worker_depth& depth = scratch.matched.of(found->members[i].id);
      left->in_memory = std::max<std::size_t>(left->in_memory, depth.device_or_host);
      left->on_any = std::max<std::size_t>(left->on_any, depth.any);
    }
  }
  if (query.by_hash) {
    left->hashes.assign(query.hashes.begin(), query.hashes.end());
  } else {
    left->locals = scratch.locals;
    if (wants_tokens) left->tokens.assign(query.tokens.begin(), query.tokens.end());
  }
  return left;
}

void query_prefetch::note_token_store(std::uint32_t backend, bool is_there) {
  if (takes_tokens_[backend].exchange(is_there, std::memory_order_relaxed) == is_there) return;
  is_there ? ++token_stores_ : --token_stores_;
}

void query_prefetch::take(lane& here, std::shared_ptr<query_leftover> left) {
  asio::post(here.context, [this, left = std::move(left)] { carry_out(*left); });
}

void query_prefetch::carry_out(query_leftover& left) {
  if (left.max_blocks == 0) left.max_blocks = settings_.prefetch_max_blocks;
  if (left.hashes.empty()) core::roll_from_root(left.locals, left.hash_seed, left.hashes);
  promote_objects(left);
  if (!left.tokens.empty()) promote_tokens(left);
}

void query_prefetch::promote_objects(query_leftover& left) {
  for (std::uint32_t backend = 0; backend < objects_.backends(); ++backend) {
    std::vector<std::string> names;
    objects_.read(backend, [&](const core::object_table& table) {
      const std::uint32_t owner = table.find_owner(objects_.name(backend), left.tenant);
      if (owner == core::no_record) return;
      std::uint64_t blocks = 0;
      for (std::size_t i = left.in_memory; i < left.hashes.size() && blocks < left.max_blocks; ++i) {
        const std::uint32_t first = table.first_of_block(left.hashes[i].get());
        bool is_there = false;
        bool is_wanted = false;
        std::uint32_t part = first;
        for (std::size_t parts = 0; part != core::no_record && parts < most_parts; ++parts) {
          if (table.owner_of(part) == owner) {
            const core::exist_decision decision = core::decide_exist(table.replicas(part), true);
            is_there = is_there || decision.exists;
            if (decision.need == core::prefetch_need::start) {
              names.emplace_back(table.key(part));
              is_wanted = true;
            }
          }
          part = table.next_of_block(part);
          if (part == first) break;
        }
        if (!is_there) return;
        if (is_wanted) ++blocks;
      }
    });
    if (names.empty()) continue;
    const std::vector<std::string_view> keys(names.begin(), names.end());
    std::vector<prefetch_word> words(keys.size());
    promotions_.ask({.backend = backend, .tenant = left.tenant, .preferred = left.preferred}, keys, words);
  }
}

void query_prefetch::promote_tokens(query_leftover& left) {
  const std::size_t blocks = std::min<std::size_t>(left.on_any, left.in_memory + left.max_blocks);
  if (blocks <= left.in_memory || blocks > left.hashes.size()) return;
  const std::size_t tokens = std::min(blocks * left.block_size, left.tokens.size());
  // One name for the whole prefix, so that the same wish is known again.
  const std::string name = "prefix " + std::to_string(left.hashes[blocks - 1].get());
  const std::string_view key = name;
  for (std::uint32_t backend = 0; backend < objects_.backends(); ++backend) {
    if (!takes_tokens_[backend].load(std::memory_order_relaxed)) continue;
    prefetch_word word{};
    promotions_.ask({.backend = backend,
                     .tenant = left.tenant,
                     .preferred = left.preferred,
                     .model = left.model,
                     .salt = left.salt,
                     .tokens = std::span(left.tokens).first(tokens)},
                    std::span(&key, 1), std::span(&word, 1));
  }
}

}  // namespace kvc::net

#include "net/api_blend.hpp"

#include <algorithm>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "core/blend_query.hpp"
#include "net/answer_writer.hpp"
#include "net/coordinator_reply.hpp"

namespace kvc::net {
namespace {

constexpr std::size_t chunks_per_slice = 1'024;    ///< published or removed, some 0.2 ms
constexpr std::size_t offsets_per_slice = 16'384;  ///< looked at, some 0.2 ms
/// A publication, in as many slices as wanted. Home lane.
class publication {
 public:
  publication(coordinator_context& context, const std::vector<chunk_range>& ranges) : context_(context), ranges_(ranges) {}

  /// Publishes about `budget` chunks. False when there is no more to do.
  bool advance(std::size_t budget) {
    for (std::size_t used = 0; at_ < ranges_.size() && used < budget;) {
      const chunk_range& range = ranges_[at_];
      const std::size_t chunks = range.tokens.size() / context_.settings.blend_chunk_size;
      const std::size_t some = budget - used;
      inserted_ += context_.tables.blend.publish(range.scope, std::span<const std::uint64_t>(range.tokens),
                                                 std::span<const std::string_view>(range.object_keys), range.old_st_base, from_, some);
      const bool has_more = chunks == range.object_keys.size() && chunks - from_ > some;
      used += has_more ? some : chunks - from_ + 1;
      from_ = has_more ? from_ + some : 0;
      at_ += has_more ? 0 : 1;
    }
    return at_ < ranges_.size();
  }
  [[nodiscard]] std::size_t inserted() const noexcept { return inserted_; }

 private:
  coordinator_context& context_;
  const std::vector<chunk_range>& ranges_;
  std::size_t at_ = 0;    ///< the range that is next
  std::size_t from_ = 0;  ///< its chunk that is next
  std::size_t inserted_ = 0;
};

/// Home lane.
asio::awaitable<std::size_t> publish_all(coordinator_context& context, const std::vector<chunk_range>& ranges) {
  publication all(context, ranges);
  // The lane changes over between two slices only: a turn of it costs more than some chunks do.
  while (all.advance(chunks_per_slice)) co_await yield_home(context);
  co_return all.inserted();
}

asio::awaitable<std::size_t> remove_all(coordinator_context& context, const std::vector<std::string_view>& keys) {
  std::size_t removed = 0;
  std::size_t in_slice = 0;
  for (const std::string_view key : keys) {
    for (bool has_more = true; has_more;) {
      const std::size_t some = context.tables.blend.remove(key, chunks_per_slice);
      has_more = some == chunks_per_slice;
      removed += some;
      in_slice += some + 1;
      if (in_slice < chunks_per_slice) continue;
      in_slice = 0;
      co_await yield_home(context);
    }
  }
  co_return removed;
}

template <class Token>
asio::awaitable<std::vector<core::blend_match>> look_up(coordinator_context& context, std::string_view scope,
                                                        std::span<const Token> tokens) {
  core::blend_query query(context.tables.blend, scope, context.settings.blend_probe_stride);
  while (!query.advance(context.tables.blend, tokens, offsets_per_slice)) co_await yield_home(context);
  co_return std::move(query.matches());
}

http_reply count_reply(std::string_view name, std::size_t count) {
  http_reply reply;
  answer_writer out(reply.body, wire_form::json);
  out.object(1);
  out.member(name, count);
  out.end_object();
  return reply;
}

http_reply matches_reply(const std::vector<core::blend_match>& matches) {
  http_reply reply;
  answer_writer out(reply.body, wire_form::json);
  out.object(1);
  out.key("matches");
  out.list(matches.size());
  for (const core::blend_match& each : matches) {
    out.object(3);
    out.member("object_key", each.object_key);
    out.member("old_st", each.old_st);
    out.member("cur_st", each.cur_st);
    out.end_object();
  }
  out.end_list();
  out.end_object();
  return reply;
}

template <class Token>
asio::awaitable<http_reply> match_tokens(coordinator_context& context, lane& here, std::string_view scope, std::span<const Token> tokens) {
  const auto matches = co_await on_home(context, here, [&] { return look_up<Token>(context, scope, tokens); });
  co_return matches_reply(matches);
}

}  // namespace

asio::awaitable<http_reply> publish_chunks_reply(coordinator_context& context, lane& here, const std::vector<chunk_range>& ranges) {
  const std::size_t inserted = co_await on_home(context, here, [&] { return publish_all(context, ranges); });
  co_return count_reply("inserted", inserted);
}

http_reply publish_chunks_now(coordinator_context& context, const std::vector<chunk_range>& ranges) {
  publication all(context, ranges);
  while (all.advance(chunks_per_slice)) {
  }
  return count_reply("inserted", all.inserted());
}

asio::awaitable<http_reply> remove_chunks_reply(coordinator_context& context, lane& here, const removal_request& wanted) {
  const std::size_t removed = co_await on_home(context, here, [&] { return remove_all(context, wanted.object_keys); });
  co_return count_reply("removed", removed);
}

asio::awaitable<http_reply> match_chunks_reply(coordinator_context& context, lane& here, const match_request& wanted) {
  if (const auto* const stand_ins = std::get_if<std::vector<std::uint64_t>>(&wanted.tokens)) {
    http_reply reply = co_await match_tokens<std::uint64_t>(context, here, wanted.scope, *stand_ins);
    co_return reply;
  }
  http_reply reply = co_await match_tokens<std::uint32_t>(context, here, wanted.scope, std::get<std::vector<std::uint32_t>>(wanted.tokens));
  co_return reply;
}

bool is_published_in_a_turn(std::size_t body_bytes, std::size_t chunk_tokens) noexcept {
  constexpr std::size_t bytes_per_token = 2;  // at least: a digit and a comma
  return body_bytes / bytes_per_token / chunk_tokens <= chunks_per_slice;
}

}  // namespace kvc::net

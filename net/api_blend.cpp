#include "net/api_blend.hpp"

#include <algorithm>
#include <bit>
#include <cstdint>
#include <cstring>
#include <limits>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "core/blend_query.hpp"
#include "net/answer_writer.hpp"
#include "net/base64.hpp"
#include "net/coordinator_reply.hpp"
#include "net/field_reading.hpp"

namespace kvc::net {
namespace {

static_assert(std::endian::native == std::endian::little, "tokens come in little-endian order and are taken as they are");

constexpr std::size_t chunks_per_slice = 1'024;    ///< published or removed, some 0.2 ms
constexpr std::size_t offsets_per_slice = 16'384;  ///< looked at, some 0.2 ms
constexpr whole_range any_token{.least = 0, .most = std::numeric_limits<std::int64_t>::max()};

/// Calls `read(element, its place)` for each element of an optional list.
template <class Read>
void each_element(const tape_value& object, std::string_view name, const field_place& where, field_faults& faults, Read read) {
  const tape_value list = find_member(object, name);
  if (!list.is_present()) return;
  const field_place at(where, name);
  if (!check_list(list, at, faults) || list.length() == 0) return;
  tape_value each = list.first();
  for (std::uint32_t i = 0;;) {
    read(each, field_place(at, i));
    if (++i == list.length()) break;
    each = each.next();
  }
}

std::vector<std::string_view> read_object_keys(const tape_value& object, const field_place& where, field_faults& faults) {
  std::vector<std::string_view> keys;
  each_element(object, "object_keys", where, faults, [&](const tape_value& each, const field_place& at) {
    if (const auto key = read_text(each, at, faults)) keys.push_back(*key);
  });
  return keys;
}

std::vector<chunk_range> read_ranges(const tape_value& body, const field_place& root, field_faults& faults) {
  std::vector<chunk_range> ranges;
  each_element(body, "ranges", root, faults, [&](const tape_value& value, const field_place& where) {
    if (!check_object(value, where, faults)) return;
    chunk_range& range = ranges.emplace_back();
    if (const auto scope = require_member(value, "model_scope", where, faults)) {
      range.scope = read_text(*scope, field_place(where, "model_scope"), faults).value_or(std::string_view());
    }
    each_element(value, "tokens", where, faults, [&](const tape_value& each, const field_place& at) {
      const bool is_plain = each.is(tape_node::kind::unsigned_integer);  // all 64 bits: some clients have stand-ins for images
      range.tokens.push_back(is_plain ? each.node().bits : static_cast<std::uint64_t>(read_whole(each, at, faults).value_or(0)));
    });
    range.object_keys = read_object_keys(value, where, faults);
    if (const auto base = require_member(value, "old_st_base", where, faults)) {
      range.old_st_base = static_cast<std::uint64_t>(read_whole(*base, field_place(where, "old_st_base"), faults, any_token).value_or(0));
    }
  });
  return ranges;
}

/// Home lane.
asio::awaitable<std::size_t> publish_all(coordinator_context& context, const std::vector<chunk_range>& ranges) {
  std::size_t inserted = 0;
  for (const chunk_range& each : ranges) {
    const std::size_t chunks = each.tokens.size() / context.settings.blend_chunk_size;
    std::size_t from = 0;
    do {
      inserted +=
          context.tables.blend.publish(each.scope, std::span<const std::uint64_t>(each.tokens),
                                       std::span<const std::string_view>(each.object_keys), each.old_st_base, from, chunks_per_slice);
      from += chunks_per_slice;
      co_await yield_home(context);
    } while (from < chunks && chunks == each.object_keys.size());
  }
  co_return inserted;
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
asio::awaitable<std::vector<core::blend_match>> look_up(coordinator_context& context, std::string scope, std::span<const Token> tokens) {
  core::blend_query query(context.tables.blend, std::move(scope), context.settings.blend_probe_stride);
  while (!query.advance(context.tables.blend, tokens, offsets_per_slice)) co_await yield_home(context);
  co_return std::move(query.matches());
}

/// The numbers that base64 of their little-endian bytes stands for; nothing after a fault.
template <class Token>
std::optional<std::vector<Token>> read_packed(const tape_value& value, const field_place& where, field_faults& faults) {
  const auto text = read_text(value, where, faults);
  if (!text) return std::nullopt;
  const std::optional<std::string> bytes = decode_base64(*text);
  if (!bytes || bytes->size() % sizeof(Token) != 0) {
    const std::string why = bytes ? "the bytes are no multiple of " + std::to_string(sizeof(Token)) : "this is not standard base64";
    faults.add("value_error", where, "Value error, " + why, value, fault_context{"error"});
    return std::nullopt;
  }
  std::vector<Token> tokens(bytes->size() / sizeof(Token));
  if (!tokens.empty()) std::memcpy(tokens.data(), bytes->data(), bytes->size());
  return tokens;
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
asio::awaitable<http_reply> match_tokens(coordinator_context& context, lane& here, std::string_view scope, std::vector<Token> tokens) {
  const auto matches =
      co_await on_home(context, here, [&] { return look_up<Token>(context, std::string(scope), std::span<const Token>(tokens)); });
  co_return matches_reply(matches);
}

}  // namespace

asio::awaitable<http_reply> publish_chunks_reply(coordinator_context& context, lane& here, const tape_value& body) {
  field_faults faults;
  const field_place root("body");
  std::vector<chunk_range> ranges;
  if (check_object(body, root, faults)) ranges = read_ranges(body, root, faults);
  if (!faults.empty()) co_return faults_reply(faults);
  http_reply reply = co_await publish_ranges_reply(context, here, ranges);
  co_return reply;
}

asio::awaitable<http_reply> publish_ranges_reply(coordinator_context& context, lane& here, const std::vector<chunk_range>& ranges) {
  const std::size_t inserted = co_await on_home(context, here, [&] { return publish_all(context, ranges); });
  co_return count_reply("inserted", inserted);
}

asio::awaitable<http_reply> remove_chunks_reply(coordinator_context& context, lane& here, const tape_value& body) {
  field_faults faults;
  const field_place root("body");
  std::vector<std::string_view> keys;
  if (check_object(body, root, faults)) keys = read_object_keys(body, root, faults);
  if (!faults.empty()) co_return faults_reply(faults);
  const std::size_t removed = co_await on_home(context, here, [&] { return remove_all(context, keys); });
  co_return count_reply("removed", removed);
}

asio::awaitable<http_reply> match_chunks_reply(coordinator_context& context, lane& here, const tape_value& body) {
  field_faults faults;
  const field_place root("body");
  if (!check_object(body, root, faults)) co_return faults_reply(faults);
  std::string_view scope;
  if (const auto value = require_member(body, "model_scope", root, faults)) {
    scope = read_text(*value, field_place(root, "model_scope"), faults).value_or(std::string_view());
  }
  const tape_value narrow = find_member(body, "tokens_b64");
  const tape_value wide = find_member(body, "tokens_u64_b64");
  std::optional<std::vector<std::uint32_t>> tokens;
  std::optional<std::vector<std::uint64_t>> stand_ins;
  if (narrow.is_present() && wide.is_present()) {
    faults.add("value_error", root, "Value error, give tokens_b64 or tokens_u64_b64, not both", body, fault_context{"error"});
  } else if (wide.is_present()) {
    stand_ins = read_packed<std::uint64_t>(wide, field_place(root, "tokens_u64_b64"), faults);
  } else if (narrow.is_present()) {
    tokens = read_packed<std::uint32_t>(narrow, field_place(root, "tokens_b64"), faults);
  } else {
    tokens.emplace();  // the field's default is the empty prompt
  }
  if (!faults.empty()) co_return faults_reply(faults);
  if (stand_ins) {
    http_reply reply = co_await match_tokens<std::uint64_t>(context, here, scope, *std::move(stand_ins));
    co_return reply;
  }
  http_reply reply = co_await match_tokens<std::uint32_t>(context, here, scope, *std::move(tokens));
  co_return reply;
}

}  // namespace kvc::net

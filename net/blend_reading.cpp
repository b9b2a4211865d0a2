#include "net/blend_reading.hpp"

#include <bit>
#include <cstring>
#include <limits>
#include <optional>
#include <string>

#include "net/base64.hpp"
#include "net/field_reading.hpp"

namespace kvc::net {
namespace {

static_assert(std::endian::native == std::endian::little, "tokens come in little-endian order and are taken as they are");

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

}  // namespace

void read_chunk_ranges(const tape_value& body, std::vector<chunk_range>& into, field_faults& faults) {
  const field_place root("body");
  into.clear();
  if (!check_object(body, root, faults)) return;
  each_element(body, "ranges", root, faults, [&](const tape_value& value, const field_place& where) {
    if (!check_object(value, where, faults)) return;
    chunk_range& range = into.emplace_back();
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
}

void read_removal(const tape_value& body, removal_request& into, field_faults& faults) {
  const field_place root("body");
  if (check_object(body, root, faults)) into.object_keys = read_object_keys(body, root, faults);
}

void read_match(const tape_value& body, match_request& into, field_faults& faults) {
  const field_place root("body");
  if (!check_object(body, root, faults)) return;
  if (const auto value = require_member(body, "model_scope", root, faults)) {
    into.scope = read_text(*value, field_place(root, "model_scope"), faults).value_or(std::string_view());
  }
  const tape_value narrow = find_member(body, "tokens_b64");
  const tape_value wide = find_member(body, "tokens_u64_b64");
  if (narrow.is_present() && wide.is_present()) {
    faults.add("value_error", root, "Value error, give tokens_b64 or tokens_u64_b64, not both", body, fault_context{"error"});
  } else if (wide.is_present()) {
    if (auto tokens = read_packed<std::uint64_t>(wide, field_place(root, "tokens_u64_b64"), faults)) into.tokens = *std::move(tokens);
  } else if (narrow.is_present()) {
    if (auto tokens = read_packed<std::uint32_t>(narrow, field_place(root, "tokens_b64"), faults)) into.tokens = *std::move(tokens);
  }  // neither: the field's default is the empty prompt
}

}  // namespace kvc::net

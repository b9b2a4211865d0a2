#include "net/usage_batch.hpp"

#include <algorithm>
#include <array>
#include <limits>

#include "core/hex.hpp"
#include "net/coordinator_tier.hpp"
#include "net/field_reading.hpp"

namespace kvc::net {
namespace {

using event_kind = core::usage_event::kind;

constexpr std::array<std::string_view, 3> kind_words{"store", "lookup", "delete"};
constexpr std::array<event_kind, 3> kinds{event_kind::store, event_kind::lookup, event_kind::remove};
constexpr std::string_view expected_kinds = "'store', 'lookup' or 'delete'";
constexpr whole_range from_zero{.least = 0, .most = std::numeric_limits<std::int64_t>::max()};

/// The member, when it is there and right; absence is a fault.
template <class Read>
auto required(const tape_value& object, std::string_view name, const field_place& where, field_faults& faults, Read read) {
  const auto value = require_member(object, name, where, faults);
  return value ? read(*value, field_place(where, name)) : decltype(read(*value, where)){};
}

std::optional<core::usage_event> read_event(const tape_value& value, const field_place& where, hash_room& room, field_faults& faults) {
  if (!check_object(value, where, faults)) return std::nullopt;
  const auto kind = required(value, "type", where, faults, [&](const tape_value& word, const field_place& at) {
    return read_word(word, kind_words, expected_kinds, at, faults);
  });
  const auto key = required(value, "key", where, faults,
                            [&](const tape_value& object, const field_place& at) { return read_object_key(object, at, room, faults); });
  const auto bytes = required(value, "bytes", where, faults,
                              [&](const tape_value& number, const field_place& at) { return read_whole(number, at, faults, from_zero); });
  if (!kind || !key || !bytes) return std::nullopt;
  return core::usage_event{.what = kinds[*kind], .key = *key, .bytes = static_cast<std::uint64_t>(*bytes)};
}

}  // namespace

std::optional<std::string_view> hash_room::decode(std::string_view hex) {
  constexpr std::size_t page_bytes = 64U << 10;
  scratch_.clear();
  if (!core::decode_hex(hex, scratch_)) return std::nullopt;
  if (pages_.empty() || pages_.back().capacity() - pages_.back().size() < scratch_.size()) {
    pages_.emplace_back().reserve(std::max(page_bytes, scratch_.size()));
  }
  std::string& page = pages_.back();
  const std::size_t begin = page.size();
  page += scratch_;  // within the capacity, so that earlier views stay good
  return std::string_view(page).substr(begin);
}

std::optional<core::object_key> read_object_key(const tape_value& value, const field_place& where, hash_room& room, field_faults& faults) {
  if (!check_object(value, where, faults)) return std::nullopt;
  const auto text = [&](const tape_value& each, const field_place& at) { return read_text(each, at, faults); };
  const auto hex = required(value, "chunk_hash_hex", where, faults, text);
  const auto model = required(value, "model_name", where, faults, text);
  const auto rank = required(value, "kv_rank", where, faults,
                             [&](const tape_value& each, const field_place& at) { return read_whole(each, at, faults); });
  std::optional<std::int64_t> group = 0;
  if (const tape_value each = find_member(value, "object_group_id"); each.is_present()) {
    group = read_whole(each, field_place(where, "object_group_id"), faults);
  }
  std::optional<std::string_view> salt = std::string_view();
  if (const tape_value each = find_member(value, "cache_salt"); each.is_present()) salt = text(each, field_place(where, "cache_salt"));
  if (!hex || !model || !rank || !group || !salt) return std::nullopt;

  const auto refuse = [&](std::string_view why) {
    faults.add("value_error", where, "Value error, " + std::string(why), value, fault_context{"error"});
    return std::nullopt;
  };
  if (*group < 0) return refuse("object_group_id must not be negative");
  const auto hash = room.decode(*hex);
  if (!hash) return refuse(make_error_code(core::errc::hash_not_hex).message());
  const core::object_key key{*hash, *model, *rank, static_cast<std::uint64_t>(*group), *salt};
  const core::result<void> fine = core::check_key(key);
  if (!fine) return refuse(fine.error().message());
  return key;
}

std::string_view read_sender(const tape_value& object, const field_place& where, field_faults& faults) {
  const auto value = require_member(object, "instance_id", where, faults);
  if (!value) return {};
  const field_place place(where, "instance_id");
  const auto id = read_text(*value, place, faults);
  if (!id) return {};
  if (id->size() <= longest_sender) return *id;
  faults.add("value_error", place, "Value error, an instance_id may have at most " + std::to_string(longest_sender) + " bytes", *value,
             fault_context{"error"});
  return {};
}

void read_usage_batch(const tape_value& body, usage_batch& into, field_faults& faults) {
  const field_place root("body");
  if (!check_object(body, root, faults)) return;
  into.instance_id = read_sender(body, root, faults);
  constexpr whole_range from_one{.least = 1, .most = std::numeric_limits<std::int64_t>::max()};
  const auto number = required(body, "seq", root, faults,
                               [&](const tape_value& value, const field_place& at) { return read_whole(value, at, faults, from_one); });
  into.number = core::seqno{static_cast<std::uint64_t>(number.value_or(1))};
  if (const auto list = require_member(body, "events", root, faults)) {
    const field_place where(root, "events");
    if (check_list(*list, where, faults) && list->length() != 0) {
      into.events.reserve(list->length());
      tape_value each = list->first();
      for (std::uint32_t i = 0;;) {
        if (auto event = read_event(each, field_place(where, i), into.room, faults)) into.events.push_back(*event);
        if (++i == list->length()) break;
        each = each.next();
      }
    }
  }
  into.tier = read_body_tier(body, root, faults).value_or(core::cache_tier::l2);
}

}  // namespace kvc::net

#include "net/event_batches.hpp"

#include <array>
#include <limits>
#include <optional>

#include "net/field_reading.hpp"

namespace kvc::net {
namespace {

using event_kind = core::usage_event::kind;

constexpr std::array<std::string_view, 4> type_words{"store", "access", "delete", "config"};
constexpr std::string_view expected_types = "'store', 'access', 'delete' or 'config'";
constexpr std::array<event_kind, 3> kinds{event_kind::store, event_kind::lookup, event_kind::remove};
constexpr std::size_t config_type = 3;
constexpr whole_range from_zero{.least = 0, .most = std::numeric_limits<std::int64_t>::max()};
constexpr whole_range from_one{.least = 1, .most = std::numeric_limits<std::int64_t>::max()};

/// `kind`: nothing where it is not known, and what is wrong with any kind is looked for only.
void read_entry(const tape_value& value, const field_place& where, std::optional<event_kind> kind, event_batches& into, event_batch& batch,
                field_faults& faults) {
  if (!check_object(value, where, faults)) return;
  std::optional<core::object_key> key;
  if (const auto told = require_member(value, "key", where, faults)) {
    key = read_object_key(*told, field_place(where, "key"), into.room, faults);
  }
  std::optional<std::int64_t> bytes = 0;
  const tape_value size = find_member(value, "size_bytes");
  if (size.has_value() || kind == event_kind::store) {  // only a store has to tell it
    const auto told = require_member(value, "size_bytes", where, faults);
    bytes = told ? read_whole(*told, field_place(where, "size_bytes"), faults, from_zero) : std::nullopt;
  }
  if (key && bytes && kind) batch.events.push_back({.what = *kind, .key = *key, .bytes = static_cast<std::uint64_t>(*bytes)});
}

void read_entries(const tape_value& value, const field_place& where, std::optional<event_kind> kind, event_batches& into,
                  event_batch& batch, field_faults& faults) {
  const tape_value list = find_member(value, "entries");
  if (!list.has_value()) return;
  const field_place at(where, "entries");
  if (!check_list(list, at, faults) || list.length() == 0) return;
  batch.events.reserve(list.length());
  tape_value each = list.first();
  for (std::uint32_t i = 0;;) {
    read_entry(each, field_place(at, i), kind, into, batch, faults);
    if (++i == list.length()) break;
    each = each.next();
  }
}

void read_batch(const tape_value& value, const field_place& where, event_batches& into, field_faults& faults) {
  if (!check_object(value, where, faults)) return;
  event_batch& batch = into.batches.emplace_back();
  batch.instance_id = read_sender(value, where, faults);
  if (const auto incarnation = require_member(value, "incarnation", where, faults)) {
    const auto number = read_whole(*incarnation, field_place(where, "incarnation"), faults, from_zero);
    batch.incarnation = static_cast<std::uint64_t>(number.value_or(0));
  }
  if (const auto seqno = require_member(value, "seq", where, faults)) {
    batch.number = core::seqno{static_cast<std::uint64_t>(read_whole(*seqno, field_place(where, "seq"), faults, from_one).value_or(1))};
  }
  std::optional<std::size_t> type;
  if (const auto word = require_member(value, "event_type", where, faults)) {
    type = read_word(*word, type_words, expected_types, field_place(where, "event_type"), faults);
  }
  bool is_l2 = true;
  if (const tape_value tier = find_member(value, "tier"); tier.has_value()) {
    const auto word = read_text(tier, field_place(where, "tier"), faults);
    is_l2 = !word || *word == "l2";
  }
  // Who has told it all wrong is told so at once, and not of the entries when the rest has been mended.
  const bool is_config = type && *type == config_type;
  if (is_l2 && !is_config) read_entries(value, where, type ? std::optional(kinds[*type]) : std::nullopt, into, batch, faults);
}

}  // namespace

void read_event_batches(const tape_value& body, event_batches& into, field_faults& faults) {
  const field_place root("body");
  if (!check_object(body, root, faults)) return;
  const auto list = require_member(body, "batches", root, faults);
  if (!list) return;
  const field_place where(root, "batches");
  if (!check_list(*list, where, faults) || list->length() == 0) return;
  into.batches.reserve(list->length());
  tape_value each = list->first();
  for (std::uint32_t i = 0;;) {
    read_batch(each, field_place(where, i), into, faults);
    if (++i == list->length()) break;
    each = each.next();
  }
}

}  // namespace kvc::net

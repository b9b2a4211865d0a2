#include "net/usage_scan.hpp"

#include <cstdint>

#include "core/object_key.hpp"
#include "net/plain_json.hpp"

namespace kvc::net {
namespace {

using event_kind = core::usage_event::kind;

bool scan_kind(plain_json& at, event_kind& into) {
  std::string_view word;
  if (!at.text(word)) return false;
  if (word == "store") {
    into = event_kind::store;
  } else if (word == "lookup") {
    into = event_kind::lookup;
  } else {
    into = event_kind::remove;
    return word == "delete";
  }
  return true;
}

bool scan_key(plain_json& at, core::object_key& into, hash_room& room) {
  enum : unsigned { hash, model, rank, group, salt };  // the first three are required
  members_seen seen;
  const bool is_read = at.object([&](std::string_view name) {
    if (name == "chunk_hash_hex") {
      std::string_view hex;
      if (!seen.add(hash) || !at.text(hex)) return false;
      const auto bytes = room.decode(hex);
      if (bytes) into.hash = *bytes;
      return bytes.has_value();
    }
    if (name == "model_name") return seen.add(model) && at.text(into.model);
    if (name == "kv_rank") return seen.add(rank) && at.whole(into.kv_rank);
    if (name == "object_group_id") {
      std::int64_t number = 0;
      if (!seen.add(group) || !at.whole(number) || number < 0) return false;
      into.object_group = static_cast<std::uint64_t>(number);
      return true;
    }
    return name == "cache_salt" && seen.add(salt) && at.text(into.salt);
  });
  return is_read && seen.has_first(3) && core::check_key(into).has_value();
}

bool scan_event(plain_json& at, core::usage_event& into, hash_room& room) {
  enum : unsigned { kind, key, bytes };
  members_seen seen;
  const bool is_read = at.object([&](std::string_view name) {
    if (name == "type") return seen.add(kind) && scan_kind(at, into.what);
    if (name == "key") return seen.add(key) && scan_key(at, into.key, room);
    std::int64_t number = 0;
    if (name != "bytes" || !seen.add(bytes) || !at.whole(number) || number < 0) return false;
    into.bytes = static_cast<std::uint64_t>(number);
    return true;
  });
  return is_read && seen.has_first(3);
}

}  // namespace

bool scan_usage_batch(std::string_view body, usage_batch& into) {
  // An event is hardly shorter than this; an estimate keeps the list from moving while it grows.
  constexpr std::size_t bytes_per_event = 150;
  enum : unsigned { id, number, list, tier };  // the first three are required
  plain_json at(body);
  members_seen seen;
  const bool is_read = at.object([&](std::string_view name) {
    if (name == "instance_id") {
      return seen.add(id) && at.text(into.instance_id) && into.instance_id.size() <= longest_sender;
    }
    if (name == "seq") {
      std::int64_t seqno = 0;
      if (!seen.add(number) || !at.whole(seqno) || seqno < 1) return false;
      into.number = core::seqno{static_cast<std::uint64_t>(seqno)};
      return true;
    }
    if (name == "events") {
      if (!seen.add(list)) return false;
      into.events.reserve(body.size() / bytes_per_event);
      return at.list([&] { return scan_event(at, into.events.emplace_back(), into.room); });
    }
    std::string_view word;
    return name == "tier" && seen.add(tier) && at.text(word) && word == "l2";
  });
  into.tier = core::cache_tier::l2;
  return is_read && at.is_at_end() && seen.has_first(3);
}

}  // namespace kvc::net

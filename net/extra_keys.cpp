#include "net/extra_keys.hpp"

#include <algorithm>
#include <utility>

#include "net/msgpack_tape.hpp"

namespace kvc::net {
namespace {

using kind = extra_key::kind;

/// Room for them that is kept until the next block.
constexpr std::size_t kept_keys = 64;

/// Recursion is bounded by the tape's depth limit, or by the caller who built the keys. `room`: how many more keys there may be.
bool read_key(tape_value from, extra_key& into, std::size_t& room) {
  if (room == 0) return false;
  --room;
  const tape_node& node = from.node();
  switch (node.what) {
    case tape_node::kind::nil: into.what = kind::nil; return true;
    case tape_node::kind::boolean: into.what = kind::boolean; break;
    case tape_node::kind::unsigned_integer: into.what = kind::unsigned_integer; break;
    case tape_node::kind::negative_integer: into.what = kind::negative_integer; break;
    case tape_node::kind::real:
      into.what = kind::real;
      into.number = node.number;
      return true;
    case tape_node::kind::string:
    case tape_node::kind::binary:
      into.what = node.what == tape_node::kind::string ? kind::text : kind::bytes;
      into.data = node.text();
      return true;
    case tape_node::kind::extension: return false;
    case tape_node::kind::array:
    case tape_node::kind::map: {
      into.what = node.what == tape_node::kind::array ? kind::list : kind::map;
      const std::size_t count = std::size_t{node.length} * (into.what == kind::map ? 2 : 1);
      tape_value item = from.first();
      for (std::size_t i = 0; i < count; ++i, item = item.next()) {
        if (!read_key(item, into.items.emplace_back(), room)) return false;
      }
      return true;
    }
  }
  into.bits = node.bits;
  return true;
}

void encode(const extra_key& key, std::string& out);

void encode_map(const extra_key& key, std::string& out) {
  std::vector<std::pair<std::string, std::string>> pairs;
  for (std::size_t i = 0; i + 1 < key.items.size(); i += 2) {
    auto& [name, value] = pairs.emplace_back();
    encode(key.items[i], name);
    encode(key.items[i + 1], value);
  }
  std::ranges::sort(pairs);
  msgpack_writer(out).map(static_cast<std::uint32_t>(pairs.size()));
  for (const auto& [name, value] : pairs) out.append(name).append(value);
}

void encode(const extra_key& key, std::string& out) {
  msgpack_writer writer(out);
  switch (key.what) {
    case kind::nil: writer.nil(); break;
    case kind::boolean: writer.boolean(key.bits != 0); break;
    case kind::unsigned_integer: writer.unsigned_integer(key.bits); break;
    case kind::negative_integer: writer.integer(static_cast<std::int64_t>(key.bits)); break;
    case kind::real: writer.real(key.number); break;
    case kind::text: writer.string(key.data); break;
    case kind::bytes: writer.binary(std::as_bytes(std::span(key.data))); break;
    case kind::list:
      writer.array(static_cast<std::uint32_t>(key.items.size()));
      for (const extra_key& item : key.items) encode(item, out);
      break;
    case kind::map: encode_map(key, out); break;
  }
}

/// The `type` of a typed key; empty when it is none.
std::string_view type_of(const extra_key& key) {
  if (key.what != kind::map) return {};
  for (std::size_t i = 0; i + 1 < key.items.size(); i += 2) {
    if (key.items[i].data == "type" && key.items[i + 1].what == kind::text) return key.items[i + 1].data;
  }
  return {};
}

/// The first text a typed key holds beside its type: the name of an adapter, a salt.
std::string_view value_of(const extra_key& key) {
  for (std::size_t i = 0; i + 1 < key.items.size(); i += 2) {
    if (key.items[i].data != "type" && key.items[i + 1].what == kind::text) return key.items[i + 1].data;
  }
  return {};
}

bool is_left_out(const extra_key& key, const extra_key_filter& filter) {
  if (key.what == kind::text) return !key.data.empty() && (key.data == filter.lora || key.data == filter.salt);
  const std::string_view type = type_of(key);
  return type == "lora" || (type == "cache_salt" && !filter.salt.empty() && value_of(key) == filter.salt);
}

}  // namespace

extra_key extra_key::of_text(std::string_view value) {
  extra_key key;
  key.what = kind::text;
  key.data = value;
  return key;
}

extra_key extra_key::of_bytes(std::string_view value) {
  extra_key key = of_text(value);
  key.what = kind::bytes;
  return key;
}

extra_key extra_key::of_unsigned(std::uint64_t value) {
  extra_key key;
  key.what = kind::unsigned_integer;
  key.bits = value;
  return key;
}

extra_key extra_key::of_integer(std::int64_t value) {
  extra_key key = of_unsigned(static_cast<std::uint64_t>(value));
  if (value < 0) key.what = kind::negative_integer;
  return key;
}

extra_key extra_key::of_list(std::vector<extra_key> values) {
  extra_key key;
  key.what = kind::list;
  key.items = std::move(values);
  return key;
}

void empty_keys(std::vector<extra_key>& scratch) {
  if (scratch.capacity() > kept_keys) scratch = std::vector<extra_key>();
  scratch.clear();
}

bool read_extra_keys(tape_value block, std::vector<extra_key>& out) {
  empty_keys(out);
  std::size_t room = max_extra_keys;
  if (!block.has_value()) return true;
  if (!block.is(tape_value::kind::array)) return read_key(block, out.emplace_back(), room);
  tape_value item = block.first();
  for (std::uint32_t i = 0; i < block.length(); ++i, item = item.next()) {
    if (!read_key(item, out.emplace_back(), room)) return false;
  }
  return true;
}

std::string encode_extra_keys(std::span<const extra_key> keys, const extra_key_filter& filter) {
  const auto left_out = [&filter](const extra_key& key) { return is_left_out(key, filter); };
  const auto dropped = std::ranges::count_if(keys, left_out);
  const std::size_t kept = keys.size() - static_cast<std::size_t>(dropped);
  std::string out;
  if (kept == 0) return out;
  msgpack_writer(out).array(static_cast<std::uint32_t>(kept));
  for (const extra_key& key : keys) {
    if (!left_out(key)) encode(key, out);
  }
  return out;
}

std::string_view typed_lora(std::span<const extra_key> keys) {
  for (const extra_key& key : keys) {
    if (type_of(key) == "lora") return value_of(key);
  }
  return {};
}

}  // namespace kvc::net

#include "perf/sim_mp_wire.hpp"

#include <cmath>
#include <limits>
#include <utility>

#include <boost/json/array.hpp>
#include <boost/json/object.hpp>
#include <boost/json/parse.hpp>
#include <boost/json/value.hpp>

#include "core/hex.hpp"
#include "net/answer_writer.hpp"

namespace kvc::sim {
namespace {

namespace json = boost::json;
using core::owned_object_key;

constexpr double gib = 1024.0 * 1024.0 * 1024.0;

net::answer_writer writer_to(std::string& out) {
  return {out, net::wire_form::json};
}

void write_key(net::answer_writer& out, const owned_object_key& key) {
  std::string hex;
  core::append_hex(key.hash, hex);
  out.object();
  out.member("chunk_hash_hex", hex);
  out.member("model_name", key.model);
  out.key("kv_rank");
  out.signed_number(key.kv_rank);
  out.member("object_group_id", key.object_group);
  out.member("cache_salt", key.salt);
  out.end_object();
}

std::string_view word_of(mp_event::kind kind, mp_dialect dialect) {
  switch (kind) {
    case mp_event::kind::store: return "store";
    case mp_event::kind::lookup: return dialect == mp_dialect::quota ? "lookup" : "access";
    case mp_event::kind::remove: return "delete";
  }
  return "";
}

json::value parsed(std::string_view body) {
  boost::system::error_code failed;
  json::value tree = json::parse(json::string_view(body.data(), body.size()), failed);
  return failed ? json::value() : tree;
}

const json::value* member_of(const json::value& tree, std::string_view name) {
  const json::object* object = tree.if_object();
  return object == nullptr ? nullptr : object->if_contains(json::string_view(name.data(), name.size()));
}

std::optional<std::string> text_of(const json::value* found) {
  if (found == nullptr || !found->is_string()) return std::nullopt;
  return std::string(found->as_string().data(), found->as_string().size());
}

std::optional<std::int64_t> whole_of(const json::value* found) {
  if (found == nullptr) return std::nullopt;
  boost::system::error_code failed;
  const auto number = found->to_number<std::int64_t>(failed);
  if (failed) return std::nullopt;
  return number;
}

std::optional<owned_object_key> read_key(const json::value& from) {
  const auto hex = text_of(member_of(from, "chunk_hash_hex"));
  const auto model = text_of(member_of(from, "model_name"));
  const auto rank = whole_of(member_of(from, "kv_rank"));
  const auto group = whole_of(member_of(from, "object_group_id"));
  const auto salt = text_of(member_of(from, "cache_salt"));
  owned_object_key key;
  if (!hex || !model || !rank || !group || *group < 0 || !salt || !core::decode_hex(*hex, key.hash)) return std::nullopt;
  key.model = *model;
  key.kv_rank = *rank;
  key.object_group = static_cast<std::uint64_t>(*group);
  key.salt = *salt;
  return key;
}

}  // namespace

std::string mp_registration(const mp_identity& who) {
  std::string body;
  auto out = writer_to(body);
  out.object();
  out.member("instance_id", who.instance_id);
  out.member("ip", who.ip);
  out.member("http_port", who.port);
  out.key("metadata");
  out.object();
  out.end_object();
  out.member("p2p_advertised_url", "");
  out.member("mq_port", 0U);
  out.end_object();
  return body;
}

std::string mp_quota_batch(std::string_view instance_id, std::uint64_t number, std::span<const mp_event> events) {
  std::string body;
  auto out = writer_to(body);
  out.object();
  out.member("instance_id", instance_id);
  out.member("seq", number);
  out.member("tier", "l2");
  out.key("events");
  out.list();
  for (const mp_event& each : events) {
    out.object();
    out.member("type", word_of(each.what, mp_dialect::quota));
    out.key("key");
    write_key(out, each.key);
    out.member("bytes", each.bytes);
    out.end_object();
  }
  out.end_list();
  out.end_object();
  return body;
}

std::size_t mp_batch_count(std::span<const mp_event> events) noexcept {
  std::size_t count = 0;
  for (std::size_t i = 0; i < events.size(); ++i) count += i == 0 || events[i].what != events[i - 1].what ? 1 : 0;
  return count;
}

std::string mp_event_batches(const mp_identity& who, std::uint64_t first_number, std::span<const mp_event> events) {
  std::string body;
  auto out = writer_to(body);
  out.object();
  out.key("batches");
  out.list();
  for (std::size_t at = 0; at < events.size(); ++first_number) {
    const mp_event::kind kind = events[at].what;
    out.object();
    out.member("instance_id", who.instance_id);
    out.member("incarnation", who.incarnation);
    out.member("seq", first_number);
    out.member("event_type", word_of(kind, mp_dialect::events));
    out.member("tier", "l2");
    out.member("backend", "s3");
    out.key("entries");
    out.list();
    for (; at < events.size() && events[at].what == kind; ++at) {
      out.object();
      out.key("key");
      write_key(out, events[at].key);
      out.member("size_bytes", events[at].bytes);
      out.end_object();
    }
    out.end_list();
    out.member("shared", true);
    out.end_object();
  }
  out.end_list();
  out.end_object();
  return body;
}

std::string mp_listing(const mp_page& page, bool leave_out_a_size) {
  std::string body;
  auto out = writer_to(body);
  out.object();
  out.member("adapter", "s3");
  out.key("entries");
  out.list();
  for (const mp_entry& each : page.entries) {
    out.object();
    out.key("key");
    write_key(out, each.key);
    if (!leave_out_a_size) out.member("size_bytes", each.bytes);
    leave_out_a_size = false;
    out.end_object();
  }
  out.end_list();
  out.key("next_page_token");
  if (page.next) {
    out.text(*page.next);
  } else {
    out.nothing();
  }
  out.end_object();
  return body;
}

// A token is the key as JSON, in hex: opaque to others, and it goes through a query parameter as it is.
std::string mp_token_of_key(const owned_object_key& key) {
  std::string text;
  auto out = writer_to(text);
  write_key(out, key);
  std::string token;
  core::append_hex(text, token);
  return token;
}

std::optional<owned_object_key> mp_key_of_token(std::string_view token) {
  std::string text;
  if (!core::decode_hex(token, text)) return std::nullopt;
  return read_key(parsed(text));
}

std::optional<std::vector<owned_object_key>> mp_read_deletion(std::string_view body) {
  const json::value tree = parsed(body);
  const json::value* const member = member_of(tree, "keys");
  const json::array* const list = member == nullptr ? nullptr : member->if_array();
  if (list == nullptr) return std::nullopt;
  std::vector<owned_object_key> keys;
  for (const json::value& each : *list) {
    auto key = read_key(each);
    if (!key) return std::nullopt;
    keys.push_back(std::move(*key));
  }
  return keys;
}

std::optional<std::map<std::string, std::uint64_t>> mp_read_usage(std::string_view body) {
  const json::value tree = parsed(body);
  const json::value* const member = member_of(tree, "by_cache_salt");
  const json::array* const list = member == nullptr ? nullptr : member->if_array();
  if (list == nullptr) return std::nullopt;
  std::map<std::string, std::uint64_t> usage;
  for (const json::value& each : *list) {
    const auto salt = text_of(member_of(each, "cache_salt"));
    const json::value* const used = member_of(each, "usage_gb");
    if (!salt || used == nullptr || !used->is_number()) return std::nullopt;
    // Exact: what a simulated fleet stores is far below the 2^53 bytes that a double still tells apart.
    const auto bytes = static_cast<std::uint64_t>(std::llround(used->to_number<double>() * gib));
    if (bytes > 0) usage[*salt] = bytes;
  }
  return usage;
}

std::optional<std::uint64_t> mp_read_number(std::string_view body, std::string_view member) {
  const json::value tree = parsed(body);
  const auto number = whole_of(member_of(tree, member));
  if (!number || *number < 0) return std::nullopt;
  return static_cast<std::uint64_t>(*number);
}

std::optional<std::string> mp_read_text(std::string_view body, std::string_view member) {
  const json::value tree = parsed(body);
  return text_of(member_of(tree, member));
}

std::optional<double> mp_read_metric(std::string_view page, std::string_view name) {
  for (std::size_t at = 0; at < page.size();) {
    const std::size_t end = std::min(page.find('\n', at), page.size());
    const std::string_view line = page.substr(at, end - at);
    if (line.size() > name.size() && line.starts_with(name) && line[name.size()] == ' ') {
      boost::system::error_code failed;
      const json::value value = json::parse(json::string_view(line.data() + name.size() + 1, line.size() - name.size() - 1), failed);
      if (!failed && value.is_number()) return value.to_number<double>();
    }
    at = end + 1;
  }
  return std::nullopt;
}

std::string mp_salt_segment(std::string_view salt) {
  if (salt.empty()) return "_default";
  std::string out;
  for (const char each : salt) {
    const bool is_plain = (each >= 'a' && each <= 'z') || (each >= 'A' && each <= 'Z') || (each >= '0' && each <= '9') || each == '-';
    if (is_plain) {
      out += each;
    } else {
      out += '%';
      core::append_hex(std::string_view(&each, 1), out);
    }
  }
  return out;
}

}  // namespace kvc::sim

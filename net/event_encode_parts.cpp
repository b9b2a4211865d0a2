#include "net/event_encode_parts.hpp"

#include <span>

namespace kvc::net {
namespace {

std::uint32_t size_of(std::size_t size) {
  return static_cast<std::uint32_t>(size);
}

}  // namespace

std::array<char, 32> digest_of_name(core::engine_hash value) {
  std::array<char, 32> digest{};
  for (std::size_t i = 0; i < digest.size(); ++i) {
    const std::uint64_t word = value.get() * (4 - i / 8);
    digest[i] = static_cast<char>(word >> (56 - 8 * (i % 8)) & 0xff);
  }
  return digest;
}

void event_parts::write_name(std::string_view name) {
  if (!name.empty()) writer_.string(name);
}

void event_parts::begin_array(std::uint32_t length, std::string_view tag) {
  writer_.array(length);
  writer_.string(tag);
}

void event_parts::begin_map(std::uint32_t members, std::string_view tag) {
  writer_.map(members);
  writer_.string("type");
  writer_.string(tag);
}

void event_parts::begin_envelope(std::uint32_t members, std::string_view word) {
  writer_.map(members);
  number("event_id", event_id_++);
  number("timestamp", milliseconds_);
  text("event_type", word);
}

void event_parts::number(std::string_view name, std::uint64_t value) {
  write_name(name);
  writer_.unsigned_integer(value);
}

void event_parts::nothing(std::string_view name) {
  write_name(name);
  writer_.nil();
}

void event_parts::text(std::string_view name, std::string_view value) {
  write_name(name);
  writer_.string(value);
}

void event_parts::text(std::string_view name, const std::optional<std::string>& value) {
  if (!value) return nothing(name);
  text(name, std::string_view(*value));
}

void event_parts::hash(core::engine_hash value, bool is_signed) {
  if (options_->binary_hashes) {
    const auto digest = digest_of_name(value);
    return writer_.binary(std::as_bytes(std::span(digest)));
  }
  if (is_signed) return writer_.integer(static_cast<std::int64_t>(value.get()));
  writer_.unsigned_integer(value.get());
}

void event_parts::hashes(std::string_view name, const std::vector<core::engine_hash>& values, bool is_signed) {
  write_name(name);
  writer_.array(size_of(values.size()));
  for (const core::engine_hash each : values) hash(each, is_signed);
}

void event_parts::parent(std::string_view name, const std::optional<core::engine_hash>& value, bool is_signed) {
  if (!value) return nothing(name);
  write_name(name);
  hash(*value, is_signed);
}

void event_parts::tokens(std::string_view name, const std::vector<std::uint32_t>& values) {
  write_name(name);
  writer_.array(size_of(values.size()));
  for (const std::uint32_t token : values) writer_.unsigned_integer(token);
}

void event_parts::medium(std::string_view name, const core::event_scope& scope) {
  if (!scope.medium) return nothing(name);
  text(name, media_->name(*scope.medium));
}

void event_parts::rank(std::string_view name, const std::optional<core::dp_rank>& value) {
  if (!value) return nothing(name);
  number(name, value->get());
}

void event_parts::extra_keys(std::string_view name, const std::vector<std::string>& values) {
  if (values.empty()) return nothing(name);
  write_name(name);
  writer_.array(size_of(values.size()));
  for (const std::string& keys : values) keys.empty() ? writer_.nil() : static_cast<void>(out_->append(keys));
}

void event_parts::replicas(const std::vector<core::object_replica>& values) {
  writer_.array(size_of(values.size()));
  for (const core::object_replica& each : values) {
    writer_.array(2);
    // The store's own words for its tiers; other media keep theirs.
    const bool is_local = each.kind == core::replica_kind::local_disk;
    const std::string_view disk = core::replica_kind_names[static_cast<std::size_t>(is_local ? each.kind : core::replica_kind::disk)];
    const bool is_memory = each.medium == core::medium_id::cpu;
    writer_.string(is_memory ? "memory" : each.medium == core::medium_id::disk ? disk : media_->name(each.medium));
    writer_.string(each.location);
  }
}

}  // namespace kvc::net

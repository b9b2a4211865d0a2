#include "net/event_encode.hpp"

#include <array>
#include <cstddef>
#include <string_view>
#include <variant>

#include "net/msgpack_tape.hpp"

namespace kvc::net {
namespace {

std::uint32_t size_of(std::size_t size) {
  return static_cast<std::uint32_t>(size);
}

/// Writes one event after the other in the form that was asked for.
class event_encoder {
 public:
  event_encoder(const core::medium_table& media, const encode_options& options, std::uint64_t milliseconds, std::string& out)
      : media_(&media), options_(&options), milliseconds_(milliseconds), event_id_(options.first_event_id), out_(&out), writer_(out) {}

  void operator()(const core::stored_event& event) {
    switch (options_->form) {
      case event_form::vllm_array:
        begin_array(12, "BlockStored");
        hashes(event.hashes);
        stored_fields(event, &event_encoder::skip_name);
        optional_stored_fields(event, &event_encoder::skip_name);
        writer_.nil();  // kv_cache_spec_sliding_window
        break;
      case event_form::vllm_map:
        begin_map(11, "BlockStored");
        named_hashes("block_hashes", event.hashes);
        stored_fields(event, &event_encoder::write_name);
        optional_stored_fields(event, &event_encoder::write_name);
        break;
      case event_form::standard:
        begin_envelope(4, "stored", event.scope);
        named_hashes("seq_hashes", event.hashes);
        writer_.string("base_block_idx");
        if (event.base) {
          writer_.unsigned_integer(event.base->get());
        } else {
          writer_.nil();
        }
        writer_.string("parent_hash");
        parent(event);
        writer_.string("token_ids");
        tokens(event);
        break;
    }
  }

  void operator()(const core::removed_event& event) {
    switch (options_->form) {
      case event_form::vllm_array:
        begin_array(4, "BlockRemoved");
        hashes(event.hashes);
        medium(event.scope);
        writer_.unsigned_integer(event.scope.group);
        break;
      case event_form::vllm_map:
        begin_map(4, "BlockRemoved");
        named_hashes("block_hashes", event.hashes);
        writer_.string("medium");
        medium(event.scope);
        writer_.string("group_idx");
        writer_.unsigned_integer(event.scope.group);
        break;
      case event_form::standard:
        begin_envelope(1, "removed", event.scope);
        named_hashes("seq_hashes", event.hashes);
        break;
    }
  }

  void operator()(const core::cleared_event& event) {
    switch (options_->form) {
      case event_form::vllm_array:
        begin_array(1, "AllBlocksCleared");
        break;
      case event_form::vllm_map:
        begin_map(1, "AllBlocksCleared");
        break;
      case event_form::standard:
        begin_envelope(0, "cleared", event.scope);
        break;
    }
  }

 private:
  /// Writes or leaves out the name in front of a value: the map and the array form have the same fields in the same order.
  using naming = void (event_encoder::*)(std::string_view);
  void write_name(std::string_view name) { writer_.string(name); }
  void skip_name(std::string_view) {}

  void begin_array(std::uint32_t length, std::string_view tag) {
    writer_.array(length);
    writer_.string(tag);
  }

  void begin_map(std::uint32_t members, std::string_view tag) {
    writer_.map(members);
    writer_.string("type");
    writer_.string(tag);
  }

  void begin_envelope(std::uint32_t own_members, std::string_view word, const core::event_scope& scope) {
    writer_.map(11 + own_members);
    writer_.string("event_id");
    writer_.unsigned_integer(event_id_++);
    writer_.string("timestamp");
    writer_.unsigned_integer(milliseconds_);
    writer_.string("event_type");
    writer_.string(word);
    named_text("model_name", scope.model);
    writer_.string("block_size");
    writer_.unsigned_integer(scope.block_size);
    named_text("additional_salt", scope.salt);
    named_text("lora_name", scope.lora);
    named_text("tenant_id", scope.tenant);
    writer_.string("backend_id");
    writer_.string(options_->backend_id);
    writer_.string("medium");
    medium(scope);
    writer_.string("dp_rank");
    rank(scope.rank);
  }

  /// From the parent to the adapter: the fields every version since 2025-12 has.
  void stored_fields(const core::stored_event& event, naming name) {
    (this->*name)("parent_block_hash");
    parent(event);
    (this->*name)("token_ids");
    tokens(event);
    (this->*name)("block_size");
    writer_.unsigned_integer(event.scope.block_size);
    (this->*name)("lora_id");
    writer_.nil();
    (this->*name)("medium");
    medium(event.scope);
    (this->*name)("lora_name");
    text(event.scope.lora);
  }

  void optional_stored_fields(const core::stored_event& event, naming name) {
    (this->*name)("extra_keys");
    if (event.extra_keys.empty()) {
      writer_.nil();
    } else {
      writer_.array(size_of(event.extra_keys.size()));
      for (const std::string& keys : event.extra_keys) keys.empty() ? writer_.nil() : static_cast<void>(out_->append(keys));
    }
    (this->*name)("group_idx");
    writer_.unsigned_integer(event.scope.group);
    (this->*name)("kv_cache_spec_kind");
    writer_.string(event.scope.prefix_complete ? "full_attention" : "sliding_window");
  }

  void hash(core::engine_hash name) {
    if (!options_->binary_hashes) return writer_.unsigned_integer(name.get());
    std::array<std::byte, 32> digest{};
    for (std::size_t i = 0; i < digest.size(); ++i) {  // the bytes in front only need to differ from block to block
      const std::uint64_t word = name.get() * (4 - i / 8);
      digest[i] = static_cast<std::byte>(word >> (56 - 8 * (i % 8)) & 0xff);
    }
    writer_.binary(digest);
  }

  void hashes(const std::vector<core::engine_hash>& names) {
    writer_.array(size_of(names.size()));
    for (const core::engine_hash name : names) hash(name);
  }

  void named_hashes(std::string_view name, const std::vector<core::engine_hash>& names) {
    writer_.string(name);
    hashes(names);
  }

  void parent(const core::stored_event& event) {
    if (event.parent) return hash(*event.parent);
    writer_.nil();
  }

  void tokens(const core::stored_event& event) {
    if (!event.has_tokens && options_->form == event_form::standard) return writer_.nil();
    writer_.array(size_of(event.tokens.size()));
    for (const std::uint32_t token : event.tokens) writer_.unsigned_integer(token);
  }

  void medium(const core::event_scope& scope) {
    if (scope.medium) return writer_.string(media_->name(*scope.medium));
    writer_.nil();
  }

  void rank(const std::optional<core::dp_rank>& number) {
    if (number) return writer_.unsigned_integer(number->get());
    writer_.nil();
  }

  void text(const std::optional<std::string>& value) {
    if (value) return writer_.string(*value);
    writer_.nil();
  }

  void named_text(std::string_view name, const std::optional<std::string>& value) {
    writer_.string(name);
    text(value);
  }

  const core::medium_table* media_;
  const encode_options* options_;
  std::uint64_t milliseconds_;
  std::uint64_t event_id_;
  std::string* out_;
  msgpack_writer writer_;
};

}  // namespace

void encode_batch(const core::event_batch& batch, const core::medium_table& media, const encode_options& options, std::string& out) {
  out.clear();
  msgpack_writer writer(out);
  writer.array(3);
  const bool is_time = batch.timestamp_s >= 0 && batch.timestamp_s < 1e14;  // converting anything else would be undefined
  const std::uint64_t milliseconds = is_time ? static_cast<std::uint64_t>(batch.timestamp_s * 1000) : 0;
  if (options.form == event_form::standard) {
    writer.unsigned_integer(milliseconds);
  } else {
    writer.real(batch.timestamp_s);
  }
  writer.array(size_of(batch.events.size()));
  event_encoder encoder(media, options, milliseconds, out);
  for (const core::event& each : batch.events) std::visit(encoder, each);
  if (batch.rank) {
    writer.unsigned_integer(batch.rank->get());
  } else {
    writer.nil();
  }
}

}  // namespace kvc::net

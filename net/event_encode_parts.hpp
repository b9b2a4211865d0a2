// The values all event forms are written from, each under a name where the form has names.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "core/event.hpp"
#include "net/event_encode.hpp"
#include "net/msgpack_tape.hpp"

namespace kvc::net {

/// Appends values to one batch. An empty name writes none, so that arrays and maps share what they have in common.
/// Lives during one call of `encode_batch`.
class event_parts {
 public:
  event_parts(const core::medium_table& media, const encode_options& options, std::uint64_t milliseconds, std::string& out)
      : media_(&media), options_(&options), milliseconds_(milliseconds), event_id_(options.first_event_id), out_(&out), writer_(out) {}

  [[nodiscard]] const encode_options& options() const noexcept { return *options_; }
  [[nodiscard]] msgpack_writer& writer() noexcept { return writer_; }

  void begin_array(std::uint32_t length, std::string_view tag);
  void begin_map(std::uint32_t members, std::string_view tag);
  /// The members every envelope begins with: id, time, type.
  void begin_envelope(std::uint32_t members, std::string_view word);

  void number(std::string_view name, std::uint64_t value);
  void nothing(std::string_view name);
  void text(std::string_view name, const std::optional<std::string>& value);
  void text(std::string_view name, std::string_view value);
  void hashes(std::string_view name, const std::vector<core::engine_hash>& values, bool is_signed);
  void parent(std::string_view name, const std::optional<core::engine_hash>& value, bool is_signed);
  void tokens(std::string_view name, const std::vector<std::uint32_t>& values);
  void medium(std::string_view name, const core::event_scope& scope);
  void rank(std::string_view name, const std::optional<core::dp_rank>& value);
  void extra_keys(std::string_view name, const std::vector<std::string>& values);
  void replicas(const std::vector<core::object_replica>& values);

 private:
  void write_name(std::string_view name);
  void hash(core::engine_hash value, bool is_signed);

  const core::medium_table* media_;
  const encode_options* options_;
  std::uint64_t milliseconds_;
  std::uint64_t event_id_;
  std::string* out_;
  msgpack_writer writer_;
};

/// The 32 bytes that stand for a name: they end with it, and those in front differ from block to block.
[[nodiscard]] std::array<char, 32> digest_of_name(core::engine_hash value);

/// Writes an event in a form of vLLM, SGLang or TensorRT-LLM. Precondition: `can_say`.
void write_engine_event(const core::event& what, event_parts& to);

/// Writes an event as the standard envelope or in a form of Mooncake. Precondition: `can_say`.
void write_envelope_event(const core::event& what, event_parts& to);

[[nodiscard]] bool is_engine_form(event_form form) noexcept;

}  // namespace kvc::net

// The fields of one event that is written plainly, each read where it stands. See plain_events.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "core/event.hpp"
#include "net/big_endian.hpp"
#include "net/event_codec.hpp"
#include "net/msgpack_cursor.hpp"

namespace kvc::net {

/// A name of its full width, with its format; all bytes of it are there.
inline constexpr std::size_t wide_name_bytes = 9;
[[nodiscard]] inline core::engine_hash wide_name(const unsigned char* at) noexcept {
  return core::engine_hash{big_endian_at<std::uint64_t>(at + 1)};
}

/// Reads the fields of one event after the other. Every member that answers false has met something that is not plain. Pure but for the
/// context's memories of media and of fields; one owner.
class plain_fields {
 public:
  /// Both outlive the reader.
  plain_fields(msgpack_cursor& from, decode_context& with) noexcept : from_(&from), with_(&with) {}

  /// Takes the fields behind the tag, as a map's pairs or by their position; names must be among them.
  [[nodiscard]] bool read(bool is_map, std::uint64_t fields, core::stored_event& into) {
    into_ = {&into.scope, &into.hashes, &into};
    return read(is_map, fields);
  }
  [[nodiscard]] bool read(bool is_map, std::uint64_t fields, core::removed_event& into) {
    into_ = {&into.scope, &into.hashes, nullptr};
    return read(is_map, fields);
  }

  /// Where the only name of the removal that was read last stands in full width; null: it is none like that.
  [[nodiscard]] const unsigned char* only_name_at() const noexcept { return name_at_; }

 private:
  enum class field : std::uint8_t;
  struct target {
    core::event_scope* scope = nullptr;
    std::vector<core::engine_hash>* names = nullptr;
    core::stored_event* stored = nullptr;  ///< null: it is a removal
  };
  struct known_member;
  struct layout;
  struct open_stretch {
    field_memory::place where;
    const unsigned char* at = nullptr;  ///< null: what stands there is known, and need not be kept
  };

  [[nodiscard]] bool read(bool is_map, std::uint64_t fields);
  [[nodiscard]] bool by_position(std::uint64_t fields);
  [[nodiscard]] bool by_name(std::uint64_t fields);
  [[nodiscard]] const known_member* member(const known_member* expected);
  [[nodiscard]] static bool varies(field what) noexcept;
  void keep(const open_stretch& begun, const unsigned char* end, std::uint64_t fields_left, const known_member* expected);
  void take(const field_memory::stretch& same);
  [[nodiscard]] bool has(field what) const noexcept { return (seen_ & 1U << static_cast<unsigned>(what)) != 0; }
  [[nodiscard]] bool one(field what);
  [[nodiscard]] bool names();
  [[nodiscard]] std::size_t take_wide(std::span<core::engine_hash> into);
  [[nodiscard]] bool name(core::engine_hash& into);
  [[nodiscard]] bool parent();
  [[nodiscard]] bool tokens();
  [[nodiscard]] const unsigned char* keep_tokens();
  [[nodiscard]] const unsigned char* hash_tokens();
  [[nodiscard]] bool is_by_recipe() const;
  [[nodiscard]] bool medium();
  [[nodiscard]] bool group_kind();
  [[nodiscard]] bool adapter();
  [[nodiscard]] bool adapter_id();
  [[nodiscard]] bool rank();
  [[nodiscard]] bool no_keys();

  msgpack_cursor* from_;
  decode_context* with_;
  target into_;        ///< of the event in hand
  unsigned seen_ = 0;  ///< fields that were not nil, by bit
  const unsigned char* name_at_ = nullptr;
  const unsigned char* tokens_at_ = nullptr;  ///< of the event in hand, behind the length of their list
  std::size_t token_count_ = 0;
};

}  // namespace kvc::net

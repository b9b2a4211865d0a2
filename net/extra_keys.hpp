// What else than its tokens tells a block apart (multimodal items and the like), in one canonical form for events and queries.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "net/tape_value.hpp"

namespace kvc::net {

/// One entry of a block's key list: a scalar, or a list (pairs of identifier and offset), or a map of typed keys.
struct extra_key {
  enum class kind : std::uint8_t { nil, boolean, unsigned_integer, negative_integer, real, text, bytes, list, map };

  kind what = kind::nil;
  std::uint64_t bits = 0;        ///< integers in two's complement, booleans as 0 or 1
  double number = 0;             ///< real
  std::string data;              ///< text or bytes
  std::vector<extra_key> items;  ///< elements of a list; keys and values of a map in turn

  [[nodiscard]] static extra_key of_text(std::string_view value);
  [[nodiscard]] static extra_key of_bytes(std::string_view value);
  [[nodiscard]] static extra_key of_unsigned(std::uint64_t value);
  [[nodiscard]] static extra_key of_integer(std::int64_t value);
  [[nodiscard]] static extra_key of_list(std::vector<extra_key> values);
};

/// What is left out of a key list, because the partition says it already and it must not enter a hash. (Source: spec indexer-api,
/// "Hashing".)
struct extra_key_filter {
  std::string_view lora;  ///< the adapter the block belongs to; empty: none
  std::string_view salt;  ///< the partition's salt; give it for the first block of a sequence only, where engines put it; empty: none
};

/// Keys of one block, those inside of others counted: a key takes 80 bytes here, and may have come as one.
inline constexpr std::size_t max_extra_keys = 4'096;

/// Empties a list that is used from block to block; what an unusual one took is given back.
void empty_keys(std::vector<extra_key>& scratch);

/// Reads one block's keys from a tape: nil or absent gives none, a value that is not a list counts as a list of one. False when something
/// is no key (an extension), or there are more than `max_extra_keys`. `out` is scratch: what an unusual block took goes with the next.
[[nodiscard]] bool read_extra_keys(tape_value block, std::vector<extra_key>& out);

/// The bytes that enter the block's hash: an array of the keys that pass the filter, in their order, integers in shortest form, maps with
/// their pairs sorted by encoded key. Empty when no key is left. The same keys give the same bytes, whoever sent them and in whatever
/// width.
///
/// Left out are: a text equal to the adapter; a text equal to the salt; typed keys `{type: lora, ...}`; typed keys `{type: cache_salt,
/// ...}` that hold the salt. A typed salt other than the partition's stays, or blocks of different salts would meet.
[[nodiscard]] std::string encode_extra_keys(std::span<const extra_key> keys, const extra_key_filter& filter);

/// The adapter that a typed key names, or an empty text.
[[nodiscard]] std::string_view typed_lora(std::span<const extra_key> keys);

}  // namespace kvc::net

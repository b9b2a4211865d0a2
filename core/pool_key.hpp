// What the key of a store's object tells: which block it is of, and which part of that block.
#pragma once

#include <cstdint>
#include <string_view>

#include "core/digest_names.hpp"
#include "core/ids.hpp"

namespace kvc::core {

/// Who made up a key. (Source: kv-events.md sections 6.1 to 6.4 for numbers, vLLM, Ascend and the halves of SGLang; the key classes of
/// LMCache and of SGLang's storage for the others.)
enum class key_form : std::uint8_t {
  opaque,   ///< a name and nothing more
  number,   ///< a 64-bit number, decimal or `0x`: a block's own sequence hash, or an engine's hash of it
  digest,   ///< hexadecimal digits and nothing else
  vllm,     ///< [prefix@]model@tp_rank:N@pcpN@dcpN@pp_rank:N[@group:N]@hex
  ascend,   ///< model@pcpN@dcpN@head_or_tp_rank:N[@pp_rank:N]@hex[@layer]
  sglang,   ///< [tag_]hex[_rank[_pipeline rank]]_k, and the same with _v
  file,     ///< hex_model[_rank_ranks], SGLang's for backends without halves
  lmcache,  ///< [format@]model@ranks@rank@hex[@type][@layer][@tag%value ...]
};

/// Which part of a block lies in an object: engines that share the work of a model share its blocks, too.
struct block_part {
  enum class half : std::uint8_t { both, keys, values };
  static constexpr std::uint32_t most = 4'095;  ///< of each number

  std::uint32_t tensor = 0;           ///< tensor-parallel rank, or the attention head's
  std::uint32_t pipeline = 0;         ///< pipeline-parallel rank
  std::uint32_t prefill_context = 0;  ///< context-parallel ranks
  std::uint32_t decode_context = 0;
  std::uint32_t layer = 0;  ///< one more than the layer's number; 0: all layers
  half of = half::both;

  /// All of it in one number, in which equal parts are equal.
  [[nodiscard]] constexpr std::uint64_t code() const noexcept {
    constexpr unsigned width = 12;
    return (((((std::uint64_t{static_cast<std::uint8_t>(of)} << width | layer) << width | decode_context) << width | prefill_context)
                 << width |
             pipeline)
            << width) |
           tensor;
  }
  friend bool operator==(const block_part&, const block_part&) = default;
};

/// A key taken apart. Views live as long as the text.
struct pool_key {
  key_form form = key_form::opaque;
  std::string_view prefix;  ///< what stands before the model or the digest, and with LMCache behind it: whose objects these are
  std::string_view suffix;
  std::string_view model;    ///< "" where the key has none
  std::string_view digits;   ///< hexadecimal, of the digest
  std::uint64_t number = 0;  ///< of form `number`
  bool is_negative = false;  ///< the digits are those of a negative number
  std::uint32_t group = 0;   ///< KV-cache group
  block_part part;
  std::uint32_t ranks = 0;  ///< how many objects of different `tensor` make a block; 0: the key does not tell

  /// Whether objects of this form are parts of blocks; of the others each is a block.
  [[nodiscard]] constexpr bool has_parts() const noexcept { return form >= key_form::vllm; }
};

/// Takes a key apart; what fits no form is opaque. Any bytes of any length. Pure.
[[nodiscard]] pool_key parse_pool_key(std::string_view key) noexcept;

/// The name that the engine which made the key has for the block. SGLang publishes the first 8 bytes of its digest, all others the last 8
/// (kv-events.md sections 2.3 and 3). Precondition: the form is not `opaque`.
[[nodiscard]] engine_hash name_of(const pool_key& key, digest_names& digests);

/// The same for who remembers no digests: two that end alike are one name. Pure.
[[nodiscard]] engine_hash folded_name_of(const pool_key& key) noexcept;
/// Whether the name in the key goes before any that an event tells: what a store makes of SGLang's digest is not what SGLang makes of it.
[[nodiscard]] constexpr bool names_by_beginning(const pool_key& key) noexcept {
  return key.form == key_form::sglang || key.form == key_form::file;
}

/// Whether a model named in a key is this one: connectors write the last component of the path, or another sign for the slash.
[[nodiscard]] bool is_same_model(std::string_view in_key, std::string_view model) noexcept;

}  // namespace kvc::core

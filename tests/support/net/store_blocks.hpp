// Blocks of prompts as stores and their connectors name them.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "core/block_hasher.hpp"
#include "net/msgpack_tape.hpp"

namespace kvc::test {

/// The hash of the first block of `tokens`, as the standard has it, and a key that says so.
inline std::uint64_t block_of(const std::vector<std::uint32_t>& tokens, std::size_t index) {
  std::vector<core::local_hash> locals;
  std::vector<core::seq_hash> hashes;
  core::hash_blocks(tokens, 4, core::default_hash_seed, locals);
  core::roll_from_root(locals, core::default_hash_seed, hashes);
  return hashes[index].get();
}

/// An envelope of a store whose connector tells what is in the block: the hash of block `index` of `tokens`, behind the one before it.
inline std::string stored_block(const std::vector<std::uint32_t>& tokens, std::uint32_t index, const std::string& medium,
                                const std::string& model = "m") {
  std::string payload;
  net::msgpack_writer out(payload);
  out.array(3);
  out.unsigned_integer(0);
  out.array(1);
  out.map(8);
  out.string("event_type");
  out.string("stored");
  out.string("model_name");
  out.string(model);
  out.string("block_size");
  out.unsigned_integer(4);
  out.string("medium");
  out.string(medium);
  out.string("object_key");
  out.string((model == "m" ? "" : model + "-") + std::to_string(block_of(tokens, index)));
  out.string("seq_hashes");
  out.array(1);
  out.unsigned_integer(block_of(tokens, index));
  out.string("parent_hash");
  index == 0 ? out.nil() : out.unsigned_integer(block_of(tokens, index - 1));
  out.string("token_ids");
  out.array(4);
  for (std::size_t i = 0; i < 4; ++i) out.unsigned_integer(tokens[index * 4 + i]);
  out.unsigned_integer(0);
  return payload;
}

/// vLLM's connector's key of rank 0 for a block that vLLM calls `name`.
inline std::string connector_key(std::uint64_t name, unsigned rank = 0, const std::string& model = "m") {
  constexpr std::string_view digits = "0123456789abcdef";
  std::string hex(64, '0');
  for (std::size_t i = 0; i < 16; ++i) hex[63 - i] = digits[name >> (4 * i) & 15];
  return model + "@tp_rank:" + std::to_string(rank) + "@pcp0@dcp0@pp_rank:0@" + hex;
}

}  // namespace kvc::test

#include "perf/sim_wire.hpp"

#include <array>
#include <cstddef>
#include <span>
#include <variant>
#include <vector>

#include "net/msgpack_tape.hpp"
#include "perf/sim_mix.hpp"

namespace kvc::sim {
namespace {

using net::msgpack_writer;

void put_hash(msgpack_writer& to, core::engine_hash hash, hash_form form) {
  if (form == hash_form::integer) {
    to.unsigned_integer(hash.get());
    return;
  }
  // A SHA-256 digest whose last 8 bytes, read as big-endian, are the integer form of the same name.
  std::array<std::byte, 32> digest;
  const std::array<std::uint64_t, 4> words{mix(hash.get() + 1), mix(hash.get() + 2), mix(hash.get() + 3), hash.get()};
  for (std::size_t i = 0; i < digest.size(); ++i) digest[i] = static_cast<std::byte>(words[i / 8] >> (56 - 8 * (i % 8)));
  to.binary(digest);
}

void put_hashes(msgpack_writer& to, const std::vector<core::engine_hash>& hashes, hash_form form) {
  to.array(static_cast<std::uint32_t>(hashes.size()));
  for (const auto hash : hashes) put_hash(to, hash, form);
}

void put_parent(msgpack_writer& to, const core::stored_event& event, hash_form form) {
  if (event.parent) {
    put_hash(to, *event.parent, form);
  } else {
    to.nil();
  }
}

void put_tokens(msgpack_writer& to, const core::stored_event& event) {
  to.array(static_cast<std::uint32_t>(event.tokens.size()));
  for (const auto token : event.tokens) to.unsigned_integer(token);
}

void put_array(msgpack_writer& to, const core::stored_event& event, hash_form form) {
  to.array(12);
  to.string("BlockStored");
  put_hashes(to, event.hashes, form);
  put_parent(to, event, form);
  put_tokens(to, event);
  to.unsigned_integer(event.scope.block_size);
  to.nil();  // lora_id
  to.string("GPU");
  to.nil();                // lora_name
  to.nil();                // extra_keys
  to.unsigned_integer(0);  // group_idx
  to.string("full_attention");
  to.nil();  // sliding window
}

void put_map(msgpack_writer& to, const core::stored_event& event, hash_form form) {
  to.map(10);
  to.string("type");
  to.string("BlockStored");
  to.string("block_hashes");
  put_hashes(to, event.hashes, form);
  to.string("parent_block_hash");
  put_parent(to, event, form);
  to.string("token_ids");
  put_tokens(to, event);
  to.string("block_size");
  to.unsigned_integer(event.scope.block_size);
  to.string("lora_id");
  to.nil();
  to.string("medium");
  to.string("GPU");
  to.string("lora_name");
  to.nil();
  to.string("group_idx");
  to.unsigned_integer(0);
  to.string("kv_cache_spec_kind");
  to.string("full_attention");
}

void put_array(msgpack_writer& to, const core::removed_event& event, hash_form form) {
  to.array(4);
  to.string("BlockRemoved");
  put_hashes(to, event.hashes, form);
  to.string("GPU");
  to.unsigned_integer(0);
}

void put_map(msgpack_writer& to, const core::removed_event& event, hash_form form) {
  to.map(4);
  to.string("type");
  to.string("BlockRemoved");
  to.string("block_hashes");
  put_hashes(to, event.hashes, form);
  to.string("medium");
  to.string("GPU");
  to.string("group_idx");
  to.unsigned_integer(0);
}

void put_array(msgpack_writer& to, const core::cleared_event& /*event*/, hash_form /*form*/) {
  to.array(1);
  to.string("AllBlocksCleared");
}

void put_map(msgpack_writer& to, const core::cleared_event& /*event*/, hash_form /*form*/) {
  to.map(1);
  to.string("type");
  to.string("AllBlocksCleared");
}

}  // namespace

void encode_batch(const core::event_batch& batch, event_form events, hash_form hashes, std::string& out) {
  msgpack_writer to(out);
  to.array(3);
  to.real(batch.timestamp_s);
  to.array(static_cast<std::uint32_t>(batch.events.size()));
  for (const auto& event : batch.events) {
    const auto put = [&](const auto& each) {
      if (events == event_form::array) {
        put_array(to, each, hashes);
      } else {
        put_map(to, each, hashes);
      }
    };
    std::visit(put, event);
  }
  if (batch.rank) {
    to.unsigned_integer(batch.rank->get());
  } else {
    to.nil();
  }
}

}  // namespace kvc::sim

#include "tests/support/net/payloads.hpp"

#include <numeric>

#include "net/msgpack_tape.hpp"

namespace kvc::test {
namespace {

net::msgpack_writer begin_batch(std::string& out) {
  net::msgpack_writer writer(out);
  static std::uint64_t batches = 0;  // engines stamp their batches, so no two are alike
  writer.array(3);
  writer.real(1.7e9 + static_cast<double>(++batches));
  writer.array(1);
  return writer;
}

void write_hashes(net::msgpack_writer& writer, const std::vector<std::uint64_t>& hashes) {
  writer.string("block_hashes");
  writer.array(static_cast<std::uint32_t>(hashes.size()));
  for (const std::uint64_t each : hashes) writer.unsigned_integer(each);
}

}  // namespace

std::vector<std::uint32_t> tokens_from(std::uint32_t first, std::uint32_t blocks, std::uint32_t block_size) {
  std::vector<std::uint32_t> tokens(static_cast<std::size_t>(blocks) * block_size);
  std::iota(tokens.begin(), tokens.end(), first);
  return tokens;
}

std::string stored_payload(const std::vector<std::uint64_t>& hashes, std::optional<std::uint64_t> parent,
                           const std::vector<std::uint32_t>& tokens, std::uint32_t block_size, const std::string& medium) {
  std::string out;
  net::msgpack_writer writer = begin_batch(out);
  writer.map(6);
  writer.string("type");
  writer.string("BlockStored");
  write_hashes(writer, hashes);
  writer.string("parent_block_hash");
  if (parent) {
    writer.unsigned_integer(*parent);
  } else {
    writer.nil();
  }
  writer.string("token_ids");
  writer.array(static_cast<std::uint32_t>(tokens.size()));
  for (const std::uint32_t each : tokens) writer.unsigned_integer(each);
  writer.string("block_size");
  writer.unsigned_integer(block_size);
  writer.string("medium");
  writer.string(medium);
  writer.unsigned_integer(0);
  return out;
}

std::string stored_for_rank_payload(std::uint32_t rank, const std::vector<std::uint64_t>& hashes,
                                    const std::vector<std::uint32_t>& tokens) {
  std::string out = stored_payload(hashes, {}, tokens);
  out.pop_back();  // the rank is the last element, one byte when it is small
  net::msgpack_writer(out).unsigned_integer(rank);
  return out;
}

std::string padded_payload(std::uint64_t hash, const std::vector<std::uint32_t>& tokens, const std::string& padding) {
  std::string out;
  net::msgpack_writer writer = begin_batch(out);
  writer.map(6);
  writer.string("type");
  writer.string("BlockStored");
  write_hashes(writer, {hash});
  writer.string("parent_block_hash");
  writer.nil();
  writer.string("token_ids");
  writer.array(static_cast<std::uint32_t>(tokens.size()));
  for (const std::uint32_t each : tokens) writer.unsigned_integer(each);
  writer.string("block_size");
  writer.unsigned_integer(tokens.size());
  writer.string("session_id");
  writer.string(padding);
  writer.unsigned_integer(0);
  return out;
}

std::string stored_one_by_one_payload(const std::vector<std::uint64_t>& hashes, const std::string& adapter) {
  std::string out;
  net::msgpack_writer writer(out);
  writer.array(3);
  writer.real(1.8e9);
  writer.array(static_cast<std::uint32_t>(hashes.size()));
  for (const std::uint64_t each : hashes) {
    writer.map(6);
    writer.string("type");
    writer.string("BlockStored");
    write_hashes(writer, {each});
    writer.string("parent_block_hash");
    writer.nil();
    writer.string("token_ids");
    writer.array(4);
    for (std::uint64_t i = 0; i < 4; ++i) writer.unsigned_integer(each * 4 + i);
    writer.string("block_size");
    writer.unsigned_integer(4);
    writer.string("lora_name");
    writer.string(adapter);
  }
  writer.unsigned_integer(0);
  return out;
}

std::string removed_payload(const std::vector<std::uint64_t>& hashes, const std::string& medium) {
  std::string out;
  net::msgpack_writer writer = begin_batch(out);
  writer.map(3);
  writer.string("type");
  writer.string("BlockRemoved");
  write_hashes(writer, hashes);
  writer.string("medium");
  writer.string(medium);
  writer.unsigned_integer(0);
  return out;
}

std::string cleared_payload() {
  std::string out;
  net::msgpack_writer writer = begin_batch(out);
  writer.map(1);
  writer.string("type");
  writer.string("AllBlocksCleared");
  writer.unsigned_integer(0);
  return out;
}

std::string aged(std::string payload, std::chrono::seconds age) {
  const std::chrono::duration<double> time = std::chrono::system_clock::now().time_since_epoch() - age;
  std::string written;
  net::msgpack_writer(written).real(time.count());
  return payload.replace(1, written.size(), written);  // behind the head of the batch's array
}

}  // namespace kvc::test

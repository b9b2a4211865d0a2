#include "net/dump_encode.hpp"

#include "net/msgpack_tape.hpp"

namespace kvc::net {
namespace {

/// Begins a record with as many fields behind its kind.
msgpack_writer begin(dump_kind kind, std::uint32_t fields, std::string& out) {
  msgpack_writer writer(out);
  writer.array(fields + 1);
  writer.unsigned_integer(static_cast<std::uint64_t>(kind));
  return writer;
}

void number_or_nil(msgpack_writer& writer, const std::optional<core::seqno>& number) {
  if (number) return writer.unsigned_integer(number->get());
  writer.nil();
}

}  // namespace

template <class Hash>
void dump_encoder::hashes(std::span<const Hash> list, std::string& out) {
  hashes_.resize(list.size() * 8);
  std::byte* at = hashes_.data();
  for (const Hash hash : list) {
    for (unsigned i = 0; i < 8; ++i)
      *at++ = static_cast<std::byte>(hash.get() >> (8 * i) & 0xFF);  // one store where the CPU is little-endian
  }
  msgpack_writer(out).binary(hashes_);
}

void dump_encoder::header(std::string& out) {
  msgpack_writer writer = begin(dump_kind::header, 2, out);
  writer.string(dump_magic);
  writer.unsigned_integer(dump_version);
}

void dump_encoder::owner(const dump_owner& told, std::string& out) {
  msgpack_writer writer = begin(dump_kind::owner, 7, out);
  writer.string(told.worker.tenant);
  writer.string(told.worker.instance);
  writer.unsigned_integer(told.worker.rank.get());
  writer.boolean(told.worker.kind == core::publisher_class::pool);
  writer.string(told.backend_id);
  writer.boolean(told.copy_counting);
  number_or_nil(writer, told.seqno);
}

void dump_encoder::home(const dump_home& told, std::string& out) {
  msgpack_writer writer = begin(dump_kind::home, 6, out);
  writer.string(told.key.tenant);
  writer.string(told.key.model);
  writer.string(told.key.lora);
  writer.string(told.key.salt);
  writer.unsigned_integer(told.key.block_size);
  writer.unsigned_integer(told.seed);
}

void dump_encoder::slice(const core::dump_slice& told, std::string& out) {
  for (const auto& each : told.waiting) waiting(told, each, out);
  for (const auto& each : told.paths) {
    msgpack_writer writer = begin(dump_kind::path, 6, out);
    writer.unsigned_integer(each.number);
    writer.unsigned_integer(each.home);
    if (each.parent == core::dump_slice::no_path) {
      writer.nil();
    } else {
      writer.unsigned_integer(each.parent);
    }
    writer.unsigned_integer(each.parent_offset);
    writer.unsigned_integer(each.base);
    hashes(std::span(told.locals).subspan(each.first_local, each.count), out);
  }
  for (const auto& each : told.parts) {
    msgpack_writer writer = begin(dump_kind::part, 4, out);
    writer.unsigned_integer(each.path);
    writer.unsigned_integer(each.offset);
    writer.string(media_->name(each.medium));
    hashes(std::span(told.names).subspan(each.first_name, each.count), out);
  }
  for (const auto& each : told.odd_names) name(told, each, out);
}

void dump_encoder::name(const core::dump_slice& in, const core::dump_slice::odd_name& told, std::string& out) const {
  msgpack_writer writer = begin(dump_kind::name, 2, out);
  writer.unsigned_integer(told.name.get());
  writer.array(told.count);
  for (const auto& each : std::span(in.copies).subspan(told.first_copy, told.count)) {
    writer.array(5);
    writer.string(media_->name(each.medium));
    writer.unsigned_integer(each.count);
    writer.unsigned_integer(each.home);
    if (each.path == core::dump_slice::no_path) {
      writer.nil();
      writer.unsigned_integer(each.block.get());
    } else {
      writer.unsigned_integer(each.path);
      writer.unsigned_integer(each.offset);
    }
  }
}

void dump_encoder::waiting(const core::dump_slice& in, const core::dump_slice::waiting_name& told, std::string& out) const {
  msgpack_writer writer = begin(dump_kind::waiting, 5, out);
  writer.unsigned_integer(told.name.get());
  writer.unsigned_integer(told.home);
  if (told.parent) {
    writer.unsigned_integer(told.parent->get());
  } else {
    writer.nil();
  }
  writer.unsigned_integer(told.local.get());
  writer.array(told.count);
  for (const auto& each : std::span(in.waiting_copies).subspan(told.first_copy, told.count)) {
    writer.array(2);
    writer.string(media_->name(each.medium));
    writer.unsigned_integer(each.count);
  }
}

void dump_encoder::end(const dump_end& told, std::string& out) {
  msgpack_writer writer = begin(dump_kind::end, 2, out);
  number_or_nil(writer, told.seqno);
  writer.unsigned_integer(told.blocks);
}

void dump_encoder::end_of_dump(std::uint64_t workers, std::string& out) {
  begin(dump_kind::end_of_dump, 1, out).unsigned_integer(workers);
}

}  // namespace kvc::net

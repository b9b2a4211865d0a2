#include "perf/sim_poison.hpp"

#include <algorithm>
#include <cstddef>

#include "net/msgpack_tape.hpp"

namespace kvc::sim {
namespace {

constexpr unsigned short_list = 0x90;  ///< MessagePack's mark of a list of up to 15 elements, with their number in its low bits
constexpr std::size_t most_events = 14;

class event_text {
 public:
  net::msgpack_writer& to() { return writer_; }
  std::string take() { return bytes_; }

 private:
  std::string bytes_;
  net::msgpack_writer writer_{bytes_};
};

/// What a poison is made of.
struct poison {
  std::uint64_t held = 0;
  const std::vector<std::uint32_t>* tokens = nullptr;

  void write_tokens(net::msgpack_writer& to) const {
    to.array(static_cast<std::uint32_t>(tokens->size()));
    for (const std::uint32_t each : *tokens) to.unsigned_integer(each);
  }
  void write_name(net::msgpack_writer& to) const {
    to.array(1);
    to.unsigned_integer(held);
  }
};

using poison_list = std::vector<std::string>;

template <class Write>
void add(poison_list& made, Write write) {
  event_text event;
  write(event.to());
  made.push_back(event.take());
}

void write_member(net::msgpack_writer& to, std::string_view name, std::string_view text) {
  to.string(name);
  to.string(text);
}

/// vLLM's first array, which is enough for a decoder to believe.
std::string store(const std::vector<std::uint64_t>& names, std::uint64_t parent, const std::vector<std::uint32_t>& tokens,
                  std::uint32_t block_size) {
  event_text event;
  event.to().array(6);
  event.to().string("BlockStored");
  event.to().array(static_cast<std::uint32_t>(names.size()));
  for (const std::uint64_t each : names) event.to().unsigned_integer(each);
  event.to().unsigned_integer(parent);
  event.to().array(static_cast<std::uint32_t>(tokens.size()));
  for (const std::uint32_t each : tokens) event.to().unsigned_integer(each);
  event.to().unsigned_integer(block_size);
  event.to().nil();
  return event.take();
}

void add_vllm(const poison& what, poison_list& made) {
  const std::vector<std::uint32_t>& tokens = *what.tokens;
  const auto size = static_cast<std::uint32_t>(tokens.size());
  made.push_back(store({what.held}, what.held, tokens, size));
  std::vector<std::uint32_t> twice = tokens;
  twice.insert(twice.end(), tokens.begin(), tokens.end());
  made.push_back(store({what.held, what.held}, what.held + 1, twice, size));
  add(made, [](net::msgpack_writer& to) { to.nil(); });
  add(made, [](net::msgpack_writer& to) { to.unsigned_integer(7); });
  add(made, [](net::msgpack_writer& to) { to.map(0); });
  add(made, [](net::msgpack_writer& to) { to.array(0); });
  add(made, [](net::msgpack_writer& to) {
    to.array(1);
    to.string("BlockStored");
  });
  add(made, [&what](net::msgpack_writer& to) {
    to.array(2);
    to.string("BlockMoved");
    what.write_name(to);
  });
  add(made, [](net::msgpack_writer& to) {
    to.array(2);
    to.string("BlockRemoved");
    to.string("everything");
  });
  add(made, [&what](net::msgpack_writer& to) {
    to.map(2);
    write_member(to, "type", "BlockForgotten");
    to.string("block_hashes");
    what.write_name(to);
  });
  add(made, [&what](net::msgpack_writer& to) {
    to.map(2);
    write_member(to, "type", "BlockRemoved");
    to.string("block_hashes");
    to.array(2);
    to.unsigned_integer(what.held);
    to.real(0.5);
  });
  // A copy of somebody else's: nothing is wrong with it, but it is not this instance's.
  add(made, [&what](net::msgpack_writer& to) {
    to.map(4);
    write_member(to, "type", "BlockRemoved");
    to.string("block_hashes");
    what.write_name(to);
    write_member(to, "medium", "GPU");
    write_member(to, "locality", "REMOTE");
  });
}

/// A page of SGLang's under a salt, as an array and as a map.
void add_sglang(const poison& what, poison_list& made) {
  const auto size = static_cast<std::uint32_t>(what.tokens->size());
  add(made, [&](net::msgpack_writer& to) {
    to.array(8);
    to.string("BlockStored");
    what.write_name(to);
    to.unsigned_integer(what.held);  // behind itself
    what.write_tokens(to);
    to.unsigned_integer(size);
    to.nil();
    to.string("GPU");
    to.map(1);
    write_member(to, "cache_salt", "salt");
  });
  add(made, [&](net::msgpack_writer& to) {
    to.map(5);
    write_member(to, "type", "BlockStored");
    to.string("block_hashes");
    what.write_name(to);
    to.string("parent_block_hash");
    to.nil();
    to.string("token_ids");
    what.write_tokens(to);
    to.string("cache_salt");
    to.unsigned_integer(1);  // is no text
  });
  add(made, [&](net::msgpack_writer& to) {
    to.map(4);
    write_member(to, "type", "BlockStored");
    to.string("block_hashes");
    what.write_name(to);
    to.string("token_ids");  // pairs of which one is none
    to.array(1);
    to.array(2);
    to.string("one");
    to.unsigned_integer(2);
    to.string("block_size");
    to.unsigned_integer(size);
  });
}

/// The standard's envelope.
void add_envelopes(const poison& what, poison_list& made) {
  add(made, [&](net::msgpack_writer& to) {
    to.map(5);
    write_member(to, "event_type", "stored");
    to.string("seq_hashes");
    what.write_name(to);
    to.string("parent_hash");
    to.unsigned_integer(what.held);  // behind itself
    to.string("token_ids");
    what.write_tokens(to);
    to.string("block_size");
    to.unsigned_integer(what.tokens->size());
  });
  add(made, [&](net::msgpack_writer& to) {
    to.map(2);
    write_member(to, "event_type", "forgotten");
    to.string("seq_hashes");
    what.write_name(to);
  });
  add(made, [](net::msgpack_writer& to) {
    to.map(1);
    write_member(to, "event_type", "removed");  // of nothing
  });
  add(made, [&](net::msgpack_writer& to) {
    to.map(3);
    write_member(to, "event_type", "removed");
    to.string("seq_hashes");
    what.write_name(to);
    to.string("tenant_id");
    to.unsigned_integer(1);  // is no text
  });
}

/// Objects of stores, by position and by name.
void add_objects(const poison& what, poison_list& made) {
  const std::string key = std::to_string(what.held);
  add(made, [&](net::msgpack_writer& to) {
    to.array(2);
    to.string("BlockUpdateEvent");  // without a list of replicas, which is another thing than an empty one
    to.string(key);
  });
  add(made, [&](net::msgpack_writer& to) {
    to.array(3);
    to.string("BlockUpdateEvent");
    to.string(key);
    to.array(1);
    to.array(1);
    to.string("memory");  // nowhere
  });
  add(made, [&](net::msgpack_writer& to) {
    to.array(3);
    to.string("BlockUpdateEvent");
    to.string("");  // of no object
    to.array(0);
  });
  add(made, [&](net::msgpack_writer& to) {
    to.array(8);
    to.string("BlockStoreEvent");
    to.string(key);
    to.array(1);
    to.array(2);
    to.string("memory");
    to.string("192.0.2.10:6000");
    to.string("");
    to.unsigned_integer(what.tokens->size());
    to.string(key);
    to.string(key);  // behind itself
    what.write_tokens(to);
  });
  add(made, [&](net::msgpack_writer& to) {
    to.map(4);
    write_member(to, "event_type", "removed");
    to.string("object_key");
    to.unsigned_integer(what.held);  // is no text
    to.string("seq_hashes");
    what.write_name(to);
    write_member(to, "medium", "cpu");
  });
}

}  // namespace

std::vector<std::string> poison_events(std::uint64_t held, const std::vector<std::uint32_t>& tokens) {
  const poison what{held, &tokens};
  poison_list made;
  add_vllm(what, made);
  add_sglang(what, made);
  add_envelopes(what, made);
  add_objects(what, made);
  return made;
}

std::string with_event(std::string_view payload, std::string_view empty, std::string_view event) {
  std::size_t at = 0;
  if (payload == empty) {
    at = empty.rfind(static_cast<char>(short_list));
  } else {
    at = static_cast<std::size_t>(std::ranges::mismatch(payload, empty).in1 - payload.begin());
  }
  if (at >= payload.size()) return std::string(payload);
  const unsigned mark = static_cast<unsigned char>(payload[at]);
  if (mark < short_list || mark > short_list + most_events) return std::string(payload);
  std::string made(payload.substr(0, at));
  made.push_back(static_cast<char>(mark + 1));
  made += event;
  made += payload.substr(at + 1);
  return made;
}

}  // namespace kvc::sim

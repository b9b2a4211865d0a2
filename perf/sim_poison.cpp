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

}  // namespace

std::vector<std::string> poison_events(std::uint64_t held, const std::vector<std::uint32_t>& tokens) {
  std::vector<std::string> made;
  const auto size = static_cast<std::uint32_t>(tokens.size());
  made.push_back(store({held}, held, tokens, size));
  std::vector<std::uint32_t> twice = tokens;
  twice.insert(twice.end(), tokens.begin(), tokens.end());
  made.push_back(store({held, held}, held + 1, twice, size));
  const auto add = [&made](auto write) {
    event_text event;
    write(event.to());
    made.push_back(event.take());
  };
  add([](net::msgpack_writer& to) { to.nil(); });
  add([](net::msgpack_writer& to) { to.unsigned_integer(7); });
  add([](net::msgpack_writer& to) { to.map(0); });
  add([](net::msgpack_writer& to) { to.array(0); });
  add([](net::msgpack_writer& to) {
    to.array(1);
    to.string("BlockStored");
  });
  add([held](net::msgpack_writer& to) {
    to.array(2);
    to.string("BlockMoved");
    to.array(1);
    to.unsigned_integer(held);
  });
  add([](net::msgpack_writer& to) {
    to.array(2);
    to.string("BlockRemoved");
    to.string("everything");
  });
  add([held](net::msgpack_writer& to) {
    to.map(2);
    to.string("type");
    to.string("BlockForgotten");
    to.string("block_hashes");
    to.array(1);
    to.unsigned_integer(held);
  });
  add([held](net::msgpack_writer& to) {
    to.map(2);
    to.string("type");
    to.string("BlockRemoved");
    to.string("block_hashes");
    to.array(2);
    to.unsigned_integer(held);
    to.real(0.5);
  });
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

// Frames of any number and size into the readers of live and replayed messages. Input: frames, each behind a byte with its length.
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "net/zmq_frames.hpp"
#include "tests/support/fuzz_require.hpp"

namespace {

using namespace kvc::net;
using frame = std::span<const std::byte>;

std::vector<frame> split(frame input) {
  std::vector<frame> frames;
  while (!input.empty()) {
    const std::size_t length = std::min(std::to_integer<std::size_t>(input.front()), input.size() - 1);
    frames.push_back(input.subspan(1, length));
    input = input.subspan(1 + length);
  }
  return frames;
}

void check_number(kvc::core::seqno number, frame sent) {
  const seqno_frame written(number);
  const auto bytes = std::as_bytes(std::span(written.view()));
  kvc::fuzz::require(std::ranges::equal(bytes, sent), "a seqno is written as it was read");
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::vector<frame> frames = split(std::as_bytes(std::span(data, size)));
  if (const auto live = read_live(frames)) {
    kvc::fuzz::require(frames.size() == 3, "a live message has three frames");
    kvc::fuzz::require(live->payload.data() == frames[2].data(), "the payload is the last frame");
    kvc::fuzz::require(live->number.get() != end_of_replay, "no batch is numbered like the end of a replay");
    check_number(live->number, frames[1]);
  }
  if (const auto reply = read_replay(frames); reply && !reply->is_end) {
    kvc::fuzz::require(reply->batch.payload.data() == frames.back().data(), "the payload is the last frame");
    check_number(reply->batch.number, frames[frames.size() - 2]);
  }
  return 0;
}

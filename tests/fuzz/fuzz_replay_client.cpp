// Answers of a replay endpoint, as the frames of its replies, into what reads and judges them: whatever comes, a recovery ends, lets
// batches in in their order, and owns up to every one that it passed. Input: first seqno, last seqno (255: until the end marker), attempts;
// then replies, each a byte with its number of frames (255: silence) and the frames, each behind a byte with its length.
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "core/replay_fsm.hpp"
#include "net/zmq_frames.hpp"
#include "tests/support/fuzz_require.hpp"

namespace {

using namespace kvc;
using action = core::replay_fsm::action;
using frame = std::span<const std::byte>;
using fuzz::require;

constexpr unsigned means_silence = 255;
constexpr unsigned until_the_end = 255;
constexpr unsigned most_frames = 7;

unsigned take(frame& input) {
  if (input.empty()) return means_silence;
  const unsigned byte = std::to_integer<unsigned>(input.front());
  input = input.subspan(1);
  return byte;
}

std::vector<frame> take_frames(frame& input, unsigned count) {
  std::vector<frame> frames;
  for (unsigned i = 0; i < count; ++i) {
    const std::size_t wanted = input.empty() ? 0 : take(input);
    const std::size_t length = std::min(wanted, input.size());
    frames.push_back(input.first(length));
    input = input.subspan(length);
  }
  return frames;
}

/// One recovery, driven as a stream drives it.
class recovery {
 public:
  recovery(std::uint64_t from, std::optional<std::uint64_t> to, std::size_t attempts)
      : from_(from),
        to_(to),
        next_(from),
        machine_(core::seqno{from}, to ? std::optional(core::seqno{*to}) : std::nullopt, limits(attempts)) {
    step(machine_.start());
  }

  [[nodiscard]] bool is_done() const { return done_; }

  void hear(std::span<const frame> frames) {
    const auto reply = net::read_replay(frames);
    if (!reply) return;  // counted and passed over
    if (reply->is_end) return step(machine_.on_end());
    const std::uint64_t number = reply->batch.number.get();
    const action what = machine_.on_batch(reply->batch.number);
    if (what == action::apply) {
      require(number >= next_ && number != net::end_of_replay, "batches come in once and in their order");
      require(!to_ || number <= *to_, "nothing comes in that was not asked for");
      next_ = number + 1;
      ++applied_;
    }
    step(what);
    if (what == action::apply && machine_.is_complete()) done_ = true;
  }

  void hear_nothing() { step(machine_.on_silence()); }

  void check() const {
    require(machine_.applied_count() == applied_, "what came in is counted");
    const std::uint64_t passed = machine_.lost_count();
    // Numbers near the end of their range cannot be added up.
    if (to_) {
      require(applied_ + passed == *to_ - from_ + 1, "every batch that was asked for came in or is lost");
    } else {
      require(applied_ + passed == next_ - from_, "every batch before the last one came in or is lost");
    }
    std::uint64_t before = 0;
    for (const auto& range : machine_.lost()) {
      require(range.from <= range.to && range.from.get() >= before, "what is lost is listed in order");
      before = range.to.get();
    }
  }

 private:
  static core::replay_fsm::limits limits(std::size_t attempts) { return {.attempts = attempts, .max_requests = 16}; }

  void step(action what) {
    if (what == action::request) {
      require(++requests_ <= 17, "requests are bounded");
      require(machine_.request_from().get() >= from_, "nothing is asked for that came before");
    }
    done_ = done_ || what == action::finish;
  }

  std::uint64_t from_;
  std::optional<std::uint64_t> to_;
  std::uint64_t next_;
  std::uint64_t applied_ = 0;
  std::size_t requests_ = 0;
  bool done_ = false;
  core::replay_fsm machine_;
};

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  frame input = std::as_bytes(std::span(data, size));
  if (input.size() < 3) return 0;
  const unsigned from = take(input);
  const unsigned to = take(input);
  const std::size_t attempts = 1 + take(input) % 4U;
  if (to != until_the_end && to < from) return 0;
  recovery under_test(from, to == until_the_end ? std::nullopt : std::optional<std::uint64_t>(to), attempts);
  while (!input.empty() && !under_test.is_done()) {
    const unsigned count = take(input);
    if (count == means_silence) {
      under_test.hear_nothing();
    } else {
      under_test.hear(take_frames(input, count % (most_frames + 1)));
    }
  }
  // Nothing more comes: that ends every recovery.
  for (std::size_t silences = 0; !under_test.is_done(); ++silences) {
    require(silences <= 17, "silence ends a recovery");
    under_test.hear_nothing();
  }
  under_test.check();
  return 0;
}

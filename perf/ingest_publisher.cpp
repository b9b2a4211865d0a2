#include "perf/ingest_publisher.hpp"

#include <algorithm>
#include <array>
#include <chrono>
#include <cmath>
#include <cstring>
#include <stdexcept>
#include <string>
#include <sys/prctl.h>

#include "core/event.hpp"
#include "core/medium.hpp"
#include "net/event_encode.hpp"
#include "net/zmq_frames.hpp"

namespace kvc::perf {
namespace {

constexpr std::uint32_t batches_between_looks = 256;  ///< for replay requests
constexpr std::int64_t shortest_sleep_ns = 100'000;
constexpr std::int64_t longest_sleep_ns = 2'000'000;

net::zmq_options as_engines() {
  net::zmq_options chosen;
  chosen.send_high_water = 100'000;  // vLLM's default
  return chosen;
}

net::zmq_options without_loss() {
  net::zmq_options chosen;
  chosen.send_high_water = 0;  // a whole replay fits: it is bounded by what is kept
  return chosen;
}

void note(std::array<char, ingest_board::max_endpoint + 1>& into, const std::string& endpoint) {
  if (endpoint.empty() || endpoint.size() > ingest_board::max_endpoint) throw std::runtime_error("no endpoint for a publisher");
  std::memcpy(into.data(), endpoint.c_str(), endpoint.size() + 1);
}

}  // namespace

std::vector<std::int64_t> ingest_schedule(const ingest_frames& frames, double blocks_per_s, std::uint32_t batch_weight) {
  std::vector<std::int64_t> due;
  due.reserve(frames.batches().size());
  const double all = static_cast<double>(frames.blocks() + std::uint64_t{batch_weight} * frames.batches().size());
  const double ns_each = static_cast<double>(frames.blocks()) * 1e9 / (blocks_per_s * all);
  std::uint64_t before = 0;
  for (const ingest_batch& each : frames.batches()) {
    due.push_back(std::llround(static_cast<double>(before) * ns_each));
    before += each.blocks + batch_weight;
  }
  return due;
}

ingest_publisher::ingest_publisher(ingest_board& board, const ingest_load& load) : board_(board), load_(load) {
  net::encode_batch({}, core::medium_table(), {}, nothing_);
  ::prctl(PR_SET_TIMERSLACK, 1);  // sleeps end when they should
}

void ingest_publisher::run() {
  open();
  be_heard();
  wait_for("the word to go", [this] {
    answer_replays();
    return board_.may_go.load();
  });
  if (load_.frames != nullptr && !load_.is_history) publish();
  wait_for("the end", [this] {
    answer_replays();
    return board_.is_over.load();
  });
}

void ingest_publisher::open() {
  for (std::uint32_t i = 0; i < load_.streams; ++i) {
    outlet made{net::zmq_socket(engine_, context_.get_executor(), net::zmq_socket::kind::publisher, as_engines()),
                net::zmq_socket(engine_, context_.get_executor(), net::zmq_socket::kind::router, without_loss()),
                {},
                load_.first_number,
                load_.first_number};
    if (made.live.bind("tcp://127.0.0.1:*") || made.replay.bind("tcp://127.0.0.1:*")) throw std::runtime_error("no port for a publisher");
    note(board_.where[i].live, made.live.bound_endpoint());
    note(board_.where[i].replay, made.replay.bound_endpoint());
    outlets_.push_back(std::move(made));
  }
  if (load_.frames != nullptr) {
    load_.frames->bring_near();
    for (std::uint32_t i = 0; i < load_.frames->batches().size(); ++i) outlets_[load_.frames->batches()[i].stream].batches.push_back(i);
  }
  if (load_.is_history) {
    for (outlet& each : outlets_) each.next += each.batches.size();
  }
  board_.is_bound = true;
}

void ingest_publisher::be_heard() {
  // Many streams are told of rarely, or being heard would be work.
  const std::int64_t pause_ns = std::int64_t{1'000'000} * std::max(5U, load_.streams / 4);
  std::int64_t next_ns = 0;
  wait_for("subscriptions", [&] {
    answer_replays();
    if (ingest_now() >= next_ns) {
      for (std::uint32_t i = 0; i < load_.streams; ++i) send(i, nothing_);
      next_ns = ingest_now() + pause_ns;
    }
    return board_.is_heard.load();
  });
  for (std::uint32_t i = 0; i < load_.streams; ++i) {
    if (!load_.is_history) outlets_[i].first_frame = outlets_[i].next;
    board_.next_number[i] = outlets_[i].next;
  }
  board_.is_quiet = true;
}

void ingest_publisher::publish() {
  const ingest_frames& frames = *load_.frames;
  if (load_.blocks_per_s > 0) due_ = ingest_schedule(frames, load_.blocks_per_s, load_.batch_weight);
  const std::int64_t start = ingest_now();
  start_s_ = std::chrono::duration<double>(std::chrono::system_clock::now().time_since_epoch()).count();
  board_.first_sent_ns = start;
  for (std::size_t i = 0; i < frames.batches().size(); ++i) {
    if (i % batches_between_looks == 0) answer_replays();
    while (!due_.empty()) {
      const std::int64_t ahead = start + due_[i] - ingest_now();
      if (ahead < shortest_sleep_ns) break;
      ingest_nap(std::chrono::microseconds(std::min(ahead, longest_sleep_ns) / 1'000));
    }
    send(frames.batches()[i].stream, stamped(i));
  }
  board_.last_sent_ns = ingest_now();
}

/// The batch as it is sent, and again when it is asked for: who is asked has to show what was heard.
std::string_view ingest_publisher::stamped(std::size_t place) {
  const ingest_batch& batch = load_.frames->batches()[place];
  const std::string_view payload = load_.frames->payload(batch);
  if (due_.empty() || batch.time == 0) return payload;
  stamped_.assign(payload);
  stamped_.replace(batch.time, sizeof(double), big_endian(start_s_ + static_cast<double>(due_[place]) * 1e-9));
  return stamped_;
}

void ingest_publisher::send(std::uint32_t stream, std::string_view payload) {
  outlet& to = outlets_[stream];
  const net::seqno_frame number(core::seqno{to.next++});
  const std::array<std::string_view, 3> frames{std::string_view(), number.view(), payload};
  if (to.live.try_send(frames)) ++board_.refused;
}

std::string_view ingest_publisher::payload_of(const outlet& from, std::uint64_t number) {
  const bool is_frame = number >= from.first_frame && number - from.first_frame < from.batches.size();
  const bool has_begun = load_.is_history || board_.may_go.load(std::memory_order_relaxed);
  if (!is_frame || !has_begun) return nothing_;
  return stamped(from.batches[number - from.first_frame]);
}

void ingest_publisher::answer_replays() {
  net::zmq_message request;
  for (outlet& each : outlets_) {
    while (!each.replay.try_receive(request)) answer_replay(each, request);
  }
}

void ingest_publisher::answer_replay(outlet& from, const net::zmq_message& request) {
  const auto asked = net::read_replay_request(request);
  if (!asked) return;  // as vLLM: no answer to what is no request
  if (board_.replay_asked_ns == 0) board_.replay_asked_ns = ingest_now();
  const std::string_view asker = asked->asker;
  std::uint64_t number = std::max(asked->first.get(), load_.first_number);
  for (; number < from.next; ++number) {
    const net::seqno_frame frame(core::seqno{number});
    const std::array<std::string_view, 5> frames{asker, std::string_view(), std::string_view(), frame.view(), payload_of(from, number)};
    if (from.replay.try_send(frames)) return;
  }
  const net::seqno_frame end(core::seqno{net::end_of_replay});
  const std::array<std::string_view, 5> frames{asker, std::string_view(), std::string_view(), end.view(), std::string_view()};
  static_cast<void>(from.replay.try_send(frames));
}

}  // namespace kvc::perf

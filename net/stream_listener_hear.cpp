// How a stream hears: what its publisher says, what comes of a replay, and how the connection is.
#include <algorithm>
#include <chrono>
#include <utility>

#include <boost/system/system_error.hpp>

#include "net/endpoint_host.hpp"
#include "net/stream_listener.hpp"

namespace kvc::net {
namespace {

/// A look at the connection is a system call, too dear for each message where they come fast. How long a publisher was away is not known
/// better than this.
constexpr std::chrono::milliseconds longest_unlooked{10};

/// Idle checks between the looks of a pool, even one at rest: it may have more questions than may be under way (see pool_asker), and
/// nothing else makes it ask the rest when those that were are answered by nobody.
constexpr int pool_patience = 5;

/// When an idle stream looks around: at one of a few moments that all streams of the lane share, so that it wakes for many of
/// them at once.
std::chrono::steady_clock::time_point next_look(std::chrono::steady_clock::time_point wanted, std::chrono::milliseconds rhythm) {
  constexpr std::chrono::milliseconds finest{10};
  constexpr std::chrono::milliseconds coarsest{125};
  const std::chrono::steady_clock::duration grid = std::clamp(rhythm / 8, finest, coarsest);
  const auto since_start = wanted.time_since_epoch();
  return std::chrono::steady_clock::time_point(since_start + grid - since_start % grid);
}

}  // namespace

asio::awaitable<void> stream_listener::hear() {
  if (is_untold_ || breaks_.is_behind(seen_.disconnects)) {
    settle();
    co_return;
  }
  const auto asleep_since = clock::now();
  auto look_at = machine_.wake_at();
  if (sink_.is_waiting_for_parts()) look_at = std::min(look_at, asleep_since + settings_->pool_settle);
  if (sink_.is_pool()) look_at = std::min(look_at, asleep_since + pool_patience * settings_->idle_check);
  if (!seen_.connected || news_.has_kept_back()) look_at = std::min(look_at, asleep_since + settings_->idle_check);
  put_burst_back();  // many streams that sleep would each keep their last batches
  const error_code failed = co_await socket_->wait(next_look(look_at, settings_->idle_check));
  is_quiet_ = false;
  if (stopping_ || failed == errc::cancelled || failed == errc::closed) {
    stopping_ = true;
    co_return;
  }
  if (failed && failed != errc::timed_out) throw boost::system::system_error(failed);  // a stream that just ended would stay listed
  if (const auto settled = lane_->beat.settled(); settled > asleep_since) machine_.on_standing(settled);
  if (failed || socket_->has_notices()) {
    (void)look(clock::now());
    settle();
  } else {
    (void)hear_at_once();  // for nothing, when the transport only had something to say to itself
  }
}

// The connection has been looked at before: what came over one that has broken is there by now.
void stream_listener::settle() {
  if (hear_at_once()) return;
  is_quiet_ = true;
  now_ = clock::now();
  breaks_.on_drained(seen_.disconnects);
  // A name may mean another address by now: publishers that are started anew elsewhere keep their names.
  const bool may_have_moved = !service_->registration.bind && !name_in_endpoint(service_->registration.endpoint).empty();
  if (!seen_.connected && may_have_moved && now_ - opened_at_ >= lookup_pause_) wants_another_socket_ = true;
  if (seen_.given_up) {
    wants_another_socket_ = true;
    sink_.reject_message({}, "connection", make_error_code(seen_.fault));
  }
  tell_connection(now_);
  if (now_ >= machine_.wake_at()) machine_.on_quiet(now_);
  catch_up();
}

bool stream_listener::hear_at_once() {
  if (!burst_) burst_ = lane_->bursts.borrow();
  burst_->finish();
  if (burst_->size() == 0 && !burst_->receive(*socket_)) {
    put_burst_back();  // whoever waits, for a replay perhaps, keeps none: of a thousand that did, the holes would stay
    return false;
  }
  is_quiet_ = false;
  burst_->tell();
  take((*burst_)[0]);
  return true;
}

void stream_listener::take(const live_burst::arrival& what) {
  if (stopping_ || what.failed == errc::closed) {
    stopping_ = true;
    return;
  }
  now_ = clock::now();
  watch_connection(what.is_other_connection, now_);
  if (what.failed) {
    sink_.reject_message({}, "message", what.failed);
  } else if (!core::is_topic_wanted(service_->registration.topic, what.batch.topic)) {
    sink_.note_other_topic(what.batch.topic);
  } else {
    live_number_ = what.batch.number;
    machine_.on_live(what.batch.number, what.batch.payload, now_);
  }
}

void stream_listener::put_burst_back() {
  if (!burst_) return;
  burst_->clear();
  lane_->bursts.give_back(std::move(burst_));
}

asio::awaitable<void> stream_listener::hear_reply() {
  using kind = replay_client::reply::kind;
  reply_ = replay_client::reply();  // silence, when there is nobody to hear any more
  if (replay_) reply_ = co_await replay_->next(machine_.wake_at());
  if (stopping_ || reply_.what == kind::stopped) {
    stopping_ = true;
    co_return;
  }
  now_ = clock::now();
  socket_->take_in();                       // nobody will receive before the answer has ended
  breaks_.on_look(look(now_).disconnects);  // before the answer is believed: it may be another publisher's already
  tell_connection(now_);
  if (machine_.next() != core::stream_fsm::step::read_reply) {
    end_replay();
    co_return;
  }
  switch (reply_.what) {
    case kind::batch:
      if (!reply_.topic.empty() && !core::is_topic_wanted(service_->registration.topic, reply_.topic)) {
        sink_.note_other_topic(reply_.topic);  // the endpoint is another publisher's: its numbers mean nothing here
        machine_.on_reply_noise(now_);
        break;
      }
      machine_.on_reply(reply_.number, reply_.payload, now_);
      break;
    case kind::end: machine_.on_reply_end(now_); break;
    case kind::silence:
      if (!name_in_endpoint(service_->registration.replay_endpoint).empty()) replay_.reset();  // it may have moved
      machine_.on_reply_silence(now_);
      break;
    case kind::unreadable:
      sink_.reject_message({}, "replay reply", make_error_code(errc::bad_frame_count));
      machine_.on_reply_noise(now_);
      break;
    case kind::stopped: break;
  }
}

void stream_listener::watch_connection(bool is_other, clock::time_point now) {
  if (!is_other && now - looked_at_ < longest_unlooked) return;
  const auto& seen = look(now);
  if (is_other) breaks_.on_other_connection(seen.disconnects);
  // A break that is not told yet is none to the machine: it comes when what arrived before it has been heard.
  if (is_other || !breaks_.is_behind(seen.disconnects)) tell_connection(now);
}

const connection_seen& stream_listener::look(clock::time_point now) {
  looked_at_ = now;
  seen_ = socket_->poll_connection();
  is_untold_ = true;
  news_.note_connection(seen_);
  return seen_;
}

void stream_listener::tell_connection(clock::time_point now) {
  is_untold_ = false;
  machine_.on_connection(seen_.connected, breaks_.told(), now);
}

}  // namespace kvc::net

#include "net/api_usage_events.hpp"

#include <algorithm>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "net/answer_writer.hpp"

namespace kvc::net {
namespace {

constexpr std::size_t events_per_slice = 2'048;  ///< some 0.2 ms

/// What is left of a turn of the home lane, in events.
class slice_left {
 public:
  [[nodiscard]] bool is_over() const noexcept { return events_ == 0; }
  [[nodiscard]] std::size_t events() const noexcept { return events_; }
  void spend(std::size_t events) noexcept { events_ -= std::min(events, events_); }
  void begin_anew() noexcept { events_ = events_per_slice; }

 private:
  std::size_t events_ = events_per_slice;
};

/// What a batch takes beside its events: its sender is looked up in the turns and in the fence, and its name is copied and hashed for each.
std::size_t cost_of_batch(std::string_view sender) {
  constexpr std::size_t least = 4;
  constexpr std::size_t bytes_per_event = 128;
  return least + sender.size() / bytes_per_event;
}

/// Home lane.
asio::awaitable<void> apply_slices(coordinator_context& context, std::span<const core::usage_event> events, slice_left& left) {
  while (!events.empty()) {
    if (left.is_over()) {
      co_await yield_home(context);
      left.begin_anew();
    }
    const std::size_t some = std::min(events.size(), left.events());
    context.tables.usage.apply(events.first(some));
    left.spend(some);
    events = events.subspan(some);
  }
}

asio::awaitable<bool> apply_batch(coordinator_context& context, const usage_batch& batch) {
  const sender_turns::turn turn = co_await context.event_turns.take(std::string(batch.instance_id));
  context.tables.seqnos.observe(batch.instance_id, batch.number);
  slice_left left;
  co_await apply_slices(context, batch.events, left);
  co_return true;
}

struct admitted {
  std::uint64_t applied = 0;
  std::uint64_t duplicates = 0;
  std::uint64_t stale = 0;
};

asio::awaitable<admitted> apply_batches(coordinator_context& context, const event_batches& all) {
  admitted counts;
  slice_left left;
  for (const event_batch& each : all.batches) {
    // Here, where nobody's turn is held: a request may have hundreds of thousands of batches with hardly an event in them.
    if (left.is_over()) {
      co_await yield_home(context);
      left.begin_anew();
    }
    left.spend(cost_of_batch(each.instance_id));
    // From the verdict to the last slice: what its sender tells next comes after the whole of it.
    const sender_turns::turn turn = co_await context.event_turns.take(std::string(each.instance_id));
    const auto verdict = context.tables.fence.admit(each.instance_id, each.incarnation, each.number);
    if (verdict == core::incarnation_fence::verdict::duplicate) {
      ++counts.duplicates;
    } else if (verdict == core::incarnation_fence::verdict::stale) {
      ++counts.stale;
    } else {
      ++counts.applied;
      try {
        co_await apply_slices(context, each.events, left);
      } catch (...) {
        // As for want of memory. Its sender is told that it failed; sent again, it must not be taken for one that came before.
        context.tables.fence.take_back(each.instance_id, each.incarnation, each.number);
        throw;
      }
    }
  }
  co_return counts;
}

http_reply recorded_reply(std::size_t events) {
  http_reply reply;
  answer_writer out(reply.body, wire_form::json);
  out.object(1);
  out.member("recorded", events);
  out.end_object();
  return reply;
}

}  // namespace

asio::awaitable<http_reply> record_usage_events(coordinator_context& context, lane& here, const usage_batch& batch) {
  co_await on_home(context, here, [&] { return apply_batch(context, batch); });
  co_return recorded_reply(batch.events.size());
}

http_reply record_usage_events_now(coordinator_context& context, const usage_batch& batch) {
  context.tables.seqnos.observe(batch.instance_id, batch.number);
  context.tables.usage.apply(batch.events);
  return recorded_reply(batch.events.size());
}

asio::awaitable<http_reply> record_event_batches(coordinator_context& context, lane& here, const event_batches& all) {
  const admitted counts = co_await on_home(context, here, [&] { return apply_batches(context, all); });
  http_reply reply;
  answer_writer out(reply.body, wire_form::json);
  out.object(3);
  out.member("applied", counts.applied);
  out.member("duplicates", counts.duplicates);
  out.member("stale", counts.stale);
  out.end_object();
  co_return reply;
}

}  // namespace kvc::net

#include "net/stream_news.hpp"

#include <string>
#include <utility>

#include "net/log.hpp"

namespace kvc::net {
namespace {

std::string text_of(const std::optional<core::seqno>& number) {
  return number ? std::to_string(number->get()) : std::string("none");
}

template <class Value>
void put(std::atomic<Value>& into, Value value) {
  into.store(value, std::memory_order_relaxed);
}

}  // namespace

void stream_news::show(core::stream_fsm& machine) {
  if (machine.so_far() != shown_) show_totals(machine.so_far());
  put(service_->status->behind, machine.behind());
  if (!machine.newest_applied()) put(service_->status->last_seqno, core::stream_status::no_seqno);
  if (!machine.is_evicted() && service_->status->evicted.load(std::memory_order_relaxed) != 0)
    put(service_->status->evicted, std::uint64_t{0});
  if (machine.has_facts()) {
    for (const auto& each : machine.take_facts()) tell(each);
  }
  if (machine.state() != state_) show_state(machine, machine.state());
  if (lines_.has_kept_back()) tell_of_kept_back(machine);
}

void stream_news::stop(const core::stream_fsm& machine) {
  if (state_ != core::stream_state::stopped) show_state(machine, core::stream_state::stopped);
}

void stream_news::tell_of_kept_back(const core::stream_fsm& machine) {
  const auto lines = lines_.settle(std::chrono::steady_clock::now());
  if (!lines) return;
  const core::stream_fsm::totals& so_far = machine.so_far();
  log::warn(log::module::stream, "lines kept back, the stream changes too often",
            {{"instance", service_->registration.worker.instance},
             {"tenant", service_->registration.worker.tenant},
             {"dp_rank", service_->registration.worker.rank.get()},
             {"endpoint", service_->registration.endpoint},
             {"lines", *lines},
             {"state", core::to_string(state_)},
             {"seqno", text_of(machine.newest_applied())},
             {"gaps", so_far.gaps},
             {"lost", so_far.lost},
             {"restarts", so_far.restarts},
             {"breaks", disconnects_},
             {"generation", service_->status->generation.load(std::memory_order_relaxed)}});
}

void stream_news::show_state(const core::stream_fsm& machine, core::stream_state now_in) {
  const core::stream_state before = std::exchange(state_, now_in);
  put(service_->status->state, now_in);
  if (now_in != core::stream_state::stopped && !may_write()) return;
  log::info(log::module::stream, "state",
            {{"instance", service_->registration.worker.instance},
             {"tenant", service_->registration.worker.tenant},
             {"dp_rank", service_->registration.worker.rank.get()},
             {"endpoint", service_->registration.endpoint},
             {"from", core::to_string(before)},
             {"to", core::to_string(now_in)},
             {"seqno", text_of(machine.newest_applied())},
             {"missing", machine.so_far().missing},
             {"unproven", machine.so_far().unproven},
             {"evicted", service_->status->evicted.load(std::memory_order_relaxed)},
             {"generation", service_->status->generation.load(std::memory_order_relaxed)}});
}

void stream_news::show_totals(const core::stream_fsm::totals& now) {
  core::stream_status& status = *service_->status;
  const core::stream_fsm::totals before = std::exchange(shown_, now);
  // The registration's generation is where the machine's count begins.
  put(status.generation, service_->generation.get() + now.generation - 1);
  put(status.missing, now.missing);
  put(status.unproven, now.unproven);
  put(status.lost, now.lost);
  put(status.gaps, now.gaps);
  put(status.stale_batches, now.duplicates);
  put(status.replays, now.replays);
  put(status.restarts, now.restarts);
  constexpr auto unanswered = static_cast<std::size_t>(core::replay_outcome::unanswered);
  put(status.replays_failed, now.outcomes[unanswered]);
  for (std::size_t i = 0; i < core::replay_outcome_count; ++i) put(status.replays_by_outcome[i], now.outcomes[i]);
  counters_->gaps.add(now.gaps - before.gaps);
  counters_->replays.add(now.replays - before.replays);
  counters_->replays_failed.add(now.outcomes[unanswered] - before.outcomes[unanswered]);
  counters_->lost_batches.add(now.lost - before.lost);
  counters_->restarts.add(now.restarts - before.restarts);
}

void stream_news::note_applied(const core::stream_fsm& machine, std::chrono::steady_clock::time_point now) {
  if (!machine.newest_applied()) return;
  core::stream_status& status = *service_->status;
  // Released, so that whoever reads this number with acquire also finds the blocks it stands for.
  status.last_seqno.store(machine.newest_applied()->get(), std::memory_order_release);
  put(status.last_applied_ns, std::int64_t{std::chrono::nanoseconds(now.time_since_epoch()).count()});
}

void stream_news::note_connection(const connection_seen& seen) {
  core::connection_state now = core::connection_state::connecting;
  has_stood_ = has_stood_ || seen.connected || seen.disconnects > 0;  // also with a socket before this one
  if (has_stood_) now = seen.connected ? core::connection_state::connected : core::connection_state::disconnected;
  const bool has_broken = std::exchange(disconnects_, seen.disconnects) < seen.disconnects;  // less than before: of another socket
  if (std::exchange(connection_, now) == now && !has_broken) return;
  put(service_->status->connection, now);
  if (!may_write()) return;
  log::info(log::module::stream, "connection",
            {{"instance", service_->registration.worker.instance},
             {"tenant", service_->registration.worker.tenant},
             {"dp_rank", service_->registration.worker.rank.get()},
             {"endpoint", service_->registration.endpoint},
             {"state", core::to_string(now)},
             {"breaks", seen.disconnects}});
}

void stream_news::cannot_open(const error_code& why) {
  connection_ = core::connection_state::failed;
  put(service_->status->connection, connection_);
  if (std::exchange(open_failure_, why) == why || !may_write()) return;
  log::warn(log::module::stream, "cannot open stream",
            {{"instance", service_->registration.worker.instance},
             {"tenant", service_->registration.worker.tenant},
             {"dp_rank", service_->registration.worker.rank.get()},
             {"endpoint", service_->registration.endpoint},
             {"reason", why.message()}});
}

void stream_news::has_failed(std::string_view why) noexcept {
  core::stream_status::add(service_->status->failures, 1);
  if (!may_write()) return;
  try {
    log::error(log::module::stream, "stream failed",
               {{"instance", service_->registration.worker.instance},
                {"tenant", service_->registration.worker.tenant},
                {"dp_rank", service_->registration.worker.rank.get()},
                {"endpoint", service_->registration.endpoint},
                {"reason", why}});
  } catch (...) {
    // There is no memory for a line; the next failure tells.
  }
}

void stream_news::cannot_ask(const error_code& why) {
  if (std::exchange(ask_failure_, why) == why || !may_write()) return;
  log::warn(log::module::stream, "replay request failed",
            {{"instance", service_->registration.worker.instance},
             {"tenant", service_->registration.worker.tenant},
             {"dp_rank", service_->registration.worker.rank.get()},
             {"endpoint", service_->registration.replay_endpoint},
             {"reason", why.message()}});
}

void stream_news::tell(const core::stream_fsm::fact& what) {
  if (!may_write()) return;
  using kind = core::stream_fsm::fact::kind;
  const core::worker_key& worker = service_->registration.worker;
  const log::field instance("instance", worker.instance);
  const log::field tenant("tenant", worker.tenant);
  const log::field rank("dp_rank", worker.rank.get());
  const log::field from("from_seqno", what.from.get());
  const log::field to("to_seqno", what.to ? std::to_string(what.to->get()) : std::string("end"));
  switch (what.what) {
    case kind::gap: return log::info(log::module::stream, "gap", {instance, tenant, rank, from, to});
    case kind::lost: return log::warn(log::module::stream, "batches lost", {instance, tenant, rank, from, to});
    case kind::replay_ended:
      return log::info(
          log::module::stream, "replay ended",
          {instance, tenant, rank, from, to, {"outcome", core::to_string(what.outcome)}, {"applied", what.applied}, {"lost", what.lost}});
    case kind::doubted:
      return log::warn(log::module::stream, "blocks dropped, what was missed may have removed them",
                       {instance, tenant, rank, {"seqno", what.from.get()}});
    case kind::unproven:
      return log::warn(log::module::stream, "publisher was away and may be another one, nothing can tell",
                       {instance, tenant, rank, {"last_seqno", what.from.get()}});
    case kind::restarted:
      return log::warn(log::module::stream, "publisher restarted",
                       {instance, tenant, rank, {"last_seqno", what.from.get()}, {"because", what.because}});
    case kind::failed:
      return log::warn(log::module::stream, "blocks dropped, they are read anew",
                       {instance, tenant, rank, {"last_seqno", what.from.get()}});
    case kind::foreign:
      return log::warn(
          log::module::stream,
          "replay endpoint answers for another publisher, nothing of it counts: see whose port it is now, or register the right one",
          {instance, tenant, rank, {"replay_endpoint", service_->registration.replay_endpoint}, {"seqno", what.from.get()}});
    case kind::silence_evicts:
      return log::warn(log::module::stream, "blocks dropped, the publisher is silent",
                       {instance, tenant, rank, {"seqno", what.from.get()}});
  }
}

}  // namespace kvc::net

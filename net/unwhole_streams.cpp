#include "net/unwhole_streams.hpp"

#include <algorithm>
#include <atomic>

namespace kvc::net {

unwhole_streams::unwhole_streams(const fleet_view& fleet) : count_(fleet.size()) {
  for (const auto& each : fleet) {
    const core::stream_state state = each->status->state.load(std::memory_order_relaxed);
    ++by_state_[static_cast<std::size_t>(state)];
    if (state == core::stream_state::whole) continue;
    ++unwhole_;
    // Never longer than what is shown: of a large fleet that begins, all are in trouble at once.
    const auto is_less_troubled = [state](const named& other) { return core::severity_of(other.state) < core::severity_of(state); };
    named_.insert(std::ranges::find_if(named_, is_less_troubled), named{each.get(), state});
    if (named_.size() > most_named) named_.pop_back();
  }
}

void unwhole_streams::write_counts(answer_writer& out) const {
  out.key("streams");
  out.object(1 + by_state_.size());
  out.member("count", count_);
  for (std::size_t i = 0; i < by_state_.size(); ++i) out.member(core::to_string(static_cast<core::stream_state>(i)), by_state_[i]);
  out.end_object();
}

void unwhole_streams::write_named(answer_writer& out) const {
  out.key("not_whole");
  out.list(named_.size());
  for (const named& each : named_) {
    const core::worker_key& worker = each.service->registration.worker;
    out.object(5);
    out.member("instance_id", worker.instance);
    out.member("tenant_id", worker.tenant);
    out.member("dp_rank", worker.rank.get());
    out.member("class", worker.kind == core::publisher_class::pool ? "pool" : "engine");
    out.member("state", core::to_string(each.state));
    out.end_object();
  }
  out.end_list();
}

}  // namespace kvc::net

#include "net/stream_series.hpp"

#include <algorithm>
#include <array>
#include <atomic>
#include <cstdint>
#include <map>
#include <optional>

#include "net/label_text.hpp"

namespace kvc::net {
namespace {

using core::stream_status;
using labels = std::vector<std::pair<std::string, std::string>>;

double now_of(const std::atomic<std::uint64_t>& value) {
  return static_cast<double>(value.load(std::memory_order_relaxed));
}

/// Who a stream is.
labels names_of(const core::worker_key& worker) {
  return {{"tenant", label_text(worker.tenant)},
          {"instance", label_text(worker.instance)},
          {"rank", std::to_string(worker.rank.get())},
          {"class", worker.kind == core::publisher_class::pool ? "pool" : "engine"}};
}

enum class joined_by : std::uint8_t { sum, greatest };

/// Makes families; streams beyond the bound meet in one row per further label.
class collector {
 public:
  collector(const fleet_view& fleet, std::vector<series_family>& into) : fleet_(fleet), into_(into) {
    const std::size_t shown = std::min(fleet.size(), max_shown_streams);
    names_.reserve(shown);
    for (std::size_t i = 0; i < shown; ++i) names_.push_back(names_of(fleet[i]->registration.worker));
  }

  /// `visit(service, put)` calls `put(further labels, value)` for each row of a stream.
  template <class Visit>
  void family(const char* name, const char* help, bool is_counter, joined_by how, Visit visit) {
    series_family made{name, help, is_counter, {}};
    std::map<labels, double> others;
    for (std::size_t i = 0; i < fleet_.size(); ++i) {
      const bool is_shown = i < names_.size();
      visit(*fleet_[i], [&](const labels& further, double value) {
        labels all = is_shown ? names_[i] : nobody();
        all.insert(all.end(), further.begin(), further.end());
        if (is_shown) {
          made.rows.push_back({std::move(all), value});
        } else if (const auto [row, is_new] = others.emplace(std::move(all), value); !is_new) {
          row->second = how == joined_by::sum ? row->second + value : std::max(row->second, value);
        }
      });
    }
    for (auto& [all, value] : others) made.rows.push_back({all, value});
    into_.push_back(std::move(made));
  }

  /// One number of the status.
  void number(const char* name, const char* help, bool is_counter, std::atomic<std::uint64_t> stream_status::*which) {
    family(name, help, is_counter, joined_by::sum,
           [which](const service_info& each, const auto& put) { put({}, now_of((*each.status).*which)); });
  }

 private:
  /// Empty words for those that have no series of their own.
  static labels nobody() { return {{"tenant", ""}, {"instance", ""}, {"rank", ""}, {"class", ""}}; }

  const fleet_view& fleet_;
  std::vector<series_family>& into_;
  std::vector<labels> names_;  ///< of the streams that are shown, made once for all families
};

void add_numbers(collector& into) {
  struct row {
    const char* name;
    const char* help;
    bool is_counter;
    std::atomic<std::uint64_t> stream_status::*which;
  };
  using status = stream_status;
  constexpr std::array rows{
      row{"kvc_stream_batches_total", "Batches applied", true, &status::batches},
      row{"kvc_stream_stale_batches_total", "Batches dropped as old", true, &status::stale_batches},
      row{"kvc_stream_other_topics_total", "Messages dropped because their topic only begins like the registered one", true,
          &status::other_topics},
      row{"kvc_stream_gaps_total", "Gaps found", true, &status::gaps},
      row{"kvc_stream_restarts_total", "Times the publisher began again", true, &status::restarts},
      row{"kvc_stream_failures_total", "Times something was thrown here, as for want of memory, and the stream began anew", true,
          &status::failures},
      row{"kvc_stream_lost_batches_total", "Batches lost for good", true, &status::lost},
      row{"kvc_stream_missing_batches", "Batches of this generation known lost", false, &status::missing},
      row{"kvc_stream_unproven_absences", "Absences of this generation that may hide a restart, since the publisher cannot prove itself",
          false, &status::unproven},
      row{"kvc_stream_doubted_blocks_total", "Blocks dropped because what was missed may have removed them", true, &status::doubted},
      row{"kvc_stream_evicted_blocks", "Blocks of this generation given up for the byte budget", false, &status::evicted},
      row{"kvc_stream_orphaned_blocks", "Blocks waiting for a parent", false, &status::orphans},
      row{"kvc_stream_dropped_orphans_total", "Blocks that waited and were given up because of their bound or the index budget", true,
          &status::dropped_orphans},
      row{"kvc_stream_pool_objects", "Objects of a pool that stand for blocks", false, &status::pool_objects},
      row{"kvc_stream_pool_waiting_blocks", "Blocks of a pool whose names no engine has explained", false, &status::pool_waiting},
      row{"kvc_stream_pool_doubtful_names", "Names of a pool that engines use for different blocks", false, &status::pool_doubtful},
      row{"kvc_stream_pool_incomplete_blocks", "Blocks of a pool of which a part is missing, or may be", false, &status::pool_incomplete},
      row{"kvc_stream_pool_joined_blocks_total", "Blocks of a pool whose names an engine has explained", true, &status::pool_joined},
      row{"kvc_stream_pool_dropped_blocks_total", "Blocks of a pool given up because of a bound", true, &status::pool_dropped},
      row{"kvc_stream_lag_batches", "Batches known to have been published and not applied yet", false, &status::behind},
  };
  for (const row& each : rows) into.number(each.name, each.help, each.is_counter, each.which);
}

void add_events(collector& into) {
  into.family("kvc_stream_events_total", "Events applied, by dialect and kind; those never seen are left out", true, joined_by::sum,
              [](const service_info& each, const auto& put) {
                for (std::size_t d = 0; d < core::event_dialect_count; ++d) {
                  for (std::size_t k = 0; k < core::event_kind_count; ++k) {
                    const std::uint64_t seen = each.status->decoded.events[d][k].get();
                    if (seen == 0) continue;
                    put({{"dialect", std::string(core::to_string(static_cast<core::event_dialect>(d)))},
                         {"kind", std::string(core::to_string(static_cast<core::event_kind>(k)))}},
                        static_cast<double>(seen));
                  }
                }
              });
  into.family("kvc_stream_rejected_total", "Messages, batches and events not understood, by reason; reasons never met are left out", true,
              joined_by::sum, [](const service_info& each, const auto& put) {
                if (const double bad = now_of(each.status->bad_messages); bad != 0) put({{"reason", "message"}}, bad);
                if (const double bad = now_of(each.status->bad_batches); bad != 0) put({{"reason", "batch"}}, bad);
                for (std::size_t r = 1; r < core::reject_reason_count; ++r) {
                  const std::uint64_t times = each.status->decoded.rejected[r].get();
                  if (times == 0) continue;
                  put({{"reason", std::string(core::to_string(static_cast<core::reject_reason>(r)))}}, static_cast<double>(times));
                }
              });
}

void add_replays(collector& into) {
  into.number("kvc_stream_replays_total", "Replays ended", true, &stream_status::replays);
  into.family("kvc_stream_replays_ended_total", "Replays ended, by outcome", true, joined_by::sum,
              [](const service_info& each, const auto& put) {
                for (std::size_t i = 0; i < core::replay_outcome_count; ++i) {
                  put({{"outcome", std::string(core::to_string(static_cast<core::replay_outcome>(i)))}},
                      now_of(each.status->replays_by_outcome[i]));
                }
              });
}

void add_trust(collector& into, std::chrono::steady_clock::time_point now) {
  into.family("kvc_stream_whole", "1 when the index reflects every batch up to the cursor; of streams that share a series, how many", false,
              joined_by::sum, [](const service_info& each, const auto& put) {
                put({}, each.status->state.load(std::memory_order_relaxed) == core::stream_state::whole ? 1 : 0);
              });
  into.family("kvc_stream_state", "1 for the state the stream is in", false, joined_by::sum, [](const service_info& each, const auto& put) {
    put({{"state", std::string(core::to_string(each.status->state.load(std::memory_order_relaxed)))}}, 1);
  });
  into.family("kvc_stream_connection", "1 for how the stream's connection to its publisher is", false, joined_by::sum,
              [](const service_info& each, const auto& put) {
                put({{"state", std::string(core::to_string(each.status->connection.load(std::memory_order_relaxed)))}}, 1);
              });
  into.family("kvc_stream_hash_recipe", "1 for what is known of the stream's hashes beside those of its partition's other members", false,
              joined_by::sum, [](const service_info& each, const auto& put) {
                put({{"verdict", std::string(core::to_string(each.recipe->found().verdict))}}, 1);
              });
  const auto now_ns = std::chrono::duration_cast<std::chrono::nanoseconds>(now.time_since_epoch()).count();
  into.family("kvc_stream_lag_seconds", "Age of the newest applied batch", false, joined_by::greatest,
              [now_ns](const service_info& each, const auto& put) {
                const std::int64_t last = each.status->last_applied_ns.load(std::memory_order_relaxed);
                if (last != 0) put({}, static_cast<double>(std::max<std::int64_t>(0, now_ns - last)) * 1e-9);
              });
  into.family("kvc_stream_delay_seconds", "How old the newest applied batch was by its publisher's clock when it was applied", false,
              joined_by::greatest, [](const service_info& each, const auto& put) {
                const std::int64_t delay = each.status->delay_ms.load(std::memory_order_relaxed);
                if (delay != stream_status::no_delay) put({}, static_cast<double>(delay) * 1e-3);
              });
}

void add_blocks(collector& into, const core::medium_table& media) {
  into.family("kvc_stream_blocks", "Blocks held, by medium", false, joined_by::sum, [&media](const service_info& each, const auto& put) {
    for (std::size_t m = 0; m < media.size() && m < core::max_media; ++m) {
      const double held = now_of(each.status->blocks[m]);
      if (m >= 3 && held == 0) continue;
      put({{"medium", std::string(media.name(static_cast<core::medium_id>(m)))}}, held);
    }
  });
}

}  // namespace

std::vector<series_family> stream_families(const fleet_view& fleet, const core::medium_table& media,
                                           std::chrono::steady_clock::time_point now) {
  std::vector<series_family> made;
  collector into(fleet, made);
  add_numbers(into);
  add_events(into);
  add_replays(into);
  add_trust(into, now);
  add_blocks(into, media);
  return made;
}

}  // namespace kvc::net

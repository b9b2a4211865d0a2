#include "net/metrics.hpp"

#include <array>
#include <limits>
#include <map>
#include <sstream>
#include <string>
#include <utility>
#include <vector>

#include <prometheus/metric_family.h>
#include <prometheus/text_serializer.h>

#include "core/arena.hpp"
#include "core/page_reserve.hpp"
#include "core/utf8.hpp"
#include "net/api_inspect.hpp"
#include "net/http_reply.hpp"
#include "net/label_text.hpp"
#include "net/log_losses.hpp"
#include "net/process_usage.hpp"
#include "net/stream_series.hpp"

namespace kvc::net {
namespace {

using core::lane_counter;
using core::lane_counters;
using core::latency_histogram;
using prometheus::ClientMetric;
using prometheus::MetricFamily;
using prometheus::MetricType;
using labels = std::vector<ClientMetric::Label>;

constexpr std::size_t max_shown_words = 64;  ///< series of unknown words; whatever the fleet invents beyond is shown together

/// The families of one scrape.
class exposition {
 public:
  explicit exposition(const api_context& context) : context_(context) {}

  void counter(const char* name, const char* help, const lane_counter lane_counters::*which) {
    MetricFamily& family = begin(name, help, MetricType::Counter);
    for (std::size_t i = 0; i < context_.lanes.size(); ++i) {
      ClientMetric& metric = add(family, {{"lane", std::to_string(i)}});
      metric.counter.value = static_cast<double>((context_.lanes.at(i).counters.*which).get());
    }
  }

  void gauge(const char* name, const char* help, double value, labels with = {}) {
    add(begin(name, help, MetricType::Gauge), std::move(with)).gauge.value = value;
  }

  void total(const char* name, const char* help, double value) { add(begin(name, help, MetricType::Counter), {}).counter.value = value; }

  MetricFamily& begin(const char* name, const char* help, MetricType type) {
    MetricFamily& family = families_.emplace_back();
    family.name = name;
    family.help = help;
    family.type = type;
    return family;
  }

  static ClientMetric& add(MetricFamily& family, labels with) {
    ClientMetric& metric = family.metric.emplace_back();
    metric.label = std::move(with);
    return metric;
  }

  /// One histogram over all lanes; `pick` finds it in a lane's counters.
  template <class Pick>
  void histogram(MetricFamily& family, labels with, Pick pick) {
    ClientMetric& metric = add(family, std::move(with));
    std::uint64_t count = 0;
    std::uint64_t sum_ns = 0;
    for (std::size_t bucket = 0; bucket < latency_histogram::bucket_count; ++bucket) {
      for (std::size_t i = 0; i < context_.lanes.size(); ++i) {
        count += pick(context_.lanes.at(i).counters).in_bucket(bucket);
      }
      const bool is_last = bucket + 1 == latency_histogram::bucket_count;
      const double end = is_last ? std::numeric_limits<double>::infinity() : latency_histogram::upper_bound_s(bucket);
      metric.histogram.bucket.push_back({count, end});
    }
    for (std::size_t i = 0; i < context_.lanes.size(); ++i) sum_ns += pick(context_.lanes.at(i).counters).sum_ns();
    metric.histogram.sample_count = count;
    metric.histogram.sample_sum = static_cast<double>(sum_ns) * 1e-9;
  }

  void process();
  void ready(std::chrono::steady_clock::time_point now);
  void routes();
  void lanes();
  void decoded();
  void unknown_words(const fleet_view& fleet);
  void streams(std::chrono::steady_clock::time_point now);
  void partitions();
  void memory();
  void budget();

  /// Words of streams may be any bytes; a scraper refuses the whole page for one that is no text.
  [[nodiscard]] std::string text() const {
    std::ostringstream out;
    prometheus::TextSerializer().Serialize(out, families_);
    std::string page = std::move(out).str();
    return core::is_utf8(page) ? page : core::repaired_utf8(page);
  }

 private:
  const api_context& context_;
  std::vector<MetricFamily> families_;
};

/// Under the names that every process of a fleet goes by. (Source: Prometheus, "Writing client libraries", process metrics.)
void exposition::process() {
  const process_usage now = process_usage_now();
  if (now.cpu_seconds) total("process_cpu_seconds_total", "Time on CPUs, of all threads", *now.cpu_seconds);
  if (now.resident_bytes) gauge("process_resident_memory_bytes", "Memory in use", static_cast<double>(*now.resident_bytes));
  if (now.virtual_bytes) gauge("process_virtual_memory_bytes", "Memory mapped", static_cast<double>(*now.virtual_bytes));
  if (now.open_descriptors) gauge("process_open_fds", "Open descriptors", static_cast<double>(*now.open_descriptors));
  if (now.most_descriptors) gauge("process_max_fds", "Descriptors that may be open", static_cast<double>(*now.most_descriptors));
  if (context_.started_at != std::chrono::system_clock::time_point{}) {
    gauge("process_start_time_seconds", "When the process started, since 1970",
          std::chrono::duration<double>(context_.started_at.time_since_epoch()).count());
  }
  MetricFamily& lanes = begin("kvc_lane_cpu_seconds_total",
                              "Time a lane's thread has been on a CPU; a full lane grows by a second each second", MetricType::Counter);
  for (std::size_t i = 0; i < context_.lanes.size(); ++i) {
    const auto used = context_.lanes.at(i).cpu_time();
    if (used) add(lanes, {{"lane", std::to_string(i)}}).counter.value = std::chrono::duration<double>(*used).count();
  }
}

void exposition::ready(std::chrono::steady_clock::time_point now) {
  const bool is_ready = reasons_not_ready(context_, now).all.empty();
  gauge("kvc_ready", "1 when GET /readyz is answered 200", is_ready ? 1 : 0);
}

void exposition::routes() {
  constexpr std::array<const char*, 6> classes{"0xx", "1xx", "2xx", "3xx", "4xx", "5xx"};
  MetricFamily& requests = begin("kvc_http_requests_total", "Requests answered, by route and class of status", MetricType::Counter);
  for (std::size_t r = 0; r < core::route_count; ++r) {
    for (std::size_t c = 2; c < classes.size(); ++c) {
      std::uint64_t sum = 0;
      for (std::size_t i = 0; i < context_.lanes.size(); ++i) sum += context_.lanes.at(i).counters.routes[r].by_status_class[c].get();
      ClientMetric& metric = add(requests, {{"route", core::route_name(static_cast<core::route>(r))}, {"status", classes[c]}});
      metric.counter.value = static_cast<double>(sum);
    }
  }
  MetricFamily& handling =
      begin("kvc_http_handling_seconds", "Time from a request read to its reply ready to be written, by route", MetricType::Histogram);
  for (std::size_t r = 0; r < core::route_count; ++r) {
    histogram(handling, {{"route", core::route_name(static_cast<core::route>(r))}},
              [r](const lane_counters& from) -> const latency_histogram& { return from.routes[r].handling; });
  }
}

void exposition::lanes() {
  counter("kvc_http_connections_accepted_total", "Connections accepted", &lane_counters::connections_accepted);
  counter("kvc_http_connections_refused_total", "Connections over the limit", &lane_counters::connections_refused);
  counter("kvc_http_connections_timed_out_total", "Connections ended by a deadline", &lane_counters::connections_timed_out);
  counter("kvc_http_bodies_refused_total", "Requests refused for their size or for the memory of all bodies",
          &lane_counters::bodies_refused);
  counter("kvc_http_received_bytes_total", "Bytes read from clients", &lane_counters::bytes_in);
  counter("kvc_http_sent_bytes_total", "Bytes written to clients", &lane_counters::bytes_out);
  counter("kvc_queried_blocks_total", "Complete blocks in queries", &lane_counters::queried_blocks);
  counter("kvc_matched_blocks_total", "Deepest match of each query, in blocks", &lane_counters::matched_blocks);
  counter("kvc_batches_total", "Event batches applied", &lane_counters::batches);
  counter("kvc_bad_frames_total", "Messages with the wrong shape", &lane_counters::bad_frames);
  counter("kvc_other_topics_total", "Messages for other subscribers", &lane_counters::other_topics);
  counter("kvc_bad_batches_total", "Payloads that could not be decoded", &lane_counters::bad_batches);
  counter("kvc_bad_events_total", "Events left out of a good batch", &lane_counters::bad_events);
  counter("kvc_stored_events_total", "Events that stored blocks", &lane_counters::stored_events);
  counter("kvc_removed_events_total", "Events that removed blocks", &lane_counters::removed_events);
  counter("kvc_cleared_events_total", "Events that cleared a worker", &lane_counters::cleared_events);
  counter("kvc_stored_blocks_total", "Blocks stored", &lane_counters::stored_blocks);
  counter("kvc_removed_blocks_total", "Blocks removed", &lane_counters::removed_blocks);
  counter("kvc_unknown_removals_total", "Removals of blocks nobody holds", &lane_counters::unknown_removals);
  counter("kvc_orphaned_blocks_total", "Blocks stored under a parent not seen yet", &lane_counters::orphaned_blocks);
  counter("kvc_joined_blocks_total", "Orphaned blocks whose parent came", &lane_counters::joined_blocks);
  counter("kvc_dropped_orphans_total", "Orphaned blocks given up because of their bound or the index budget",
          &lane_counters::dropped_orphans);
  counter("kvc_skipped_blocks_total", "Stored blocks that cannot be indexed", &lane_counters::skipped_blocks);
  counter("kvc_reblocked_pages_total", "Blocks of another size than registered, taken apart or joined", &lane_counters::reblocked_pages);
  counter("kvc_reblocked_blocks_total", "Blocks of the registered size made of them", &lane_counters::reblocked_blocks);
  counter("kvc_uncounted_blocks_total", "Blocks stored in groups that cannot answer for a prefix", &lane_counters::uncounted_blocks);
  counter("kvc_unplaced_events_total", "Events about objects whose blocks nothing names", &lane_counters::unplaced_events);
  decoded();
  counter("kvc_gaps_total", "Gaps found in streams", &lane_counters::gaps);
  counter("kvc_replays_total", "Replays ended", &lane_counters::replays);
  counter("kvc_replays_failed_total", "Replays given up", &lane_counters::replays_failed);
  counter("kvc_lost_batches_total", "Batches lost for good", &lane_counters::lost_batches);
  counter("kvc_publisher_restarts_total", "Publishers that began again", &lane_counters::restarts);
  MetricFamily& open = begin("kvc_http_connections", "Open connections", MetricType::Gauge);
  for (std::size_t i = 0; i < context_.lanes.size(); ++i) {
    add(open, {{"lane", std::to_string(i)}}).gauge.value = static_cast<double>(context_.lanes.at(i).counters.connections_open.get());
  }
  MetricFamily& applying = begin("kvc_apply_batch_seconds", "Time from a batch received to it applied", MetricType::Histogram);
  histogram(applying, {}, [](const lane_counters& from) -> const latency_histogram& { return from.apply_batch; });
  MetricFamily& delayed =
      begin("kvc_batch_delay_seconds", "From a batch's time by its publisher's clock to its blocks being found, of streams that are whole",
            MetricType::Histogram);
  histogram(delayed, {}, [](const lane_counters& from) -> const latency_histogram& { return from.batch_delay; });
}

void exposition::decoded() {
  const auto sum = [this](auto pick) {
    std::uint64_t all = 0;
    for (std::size_t i = 0; i < context_.lanes.size(); ++i) all += pick(context_.lanes.at(i).counters.decoded).get();
    return static_cast<double>(all);
  };
  MetricFamily& events =
      begin("kvc_events_total", "Events decoded, by dialect and kind; those never seen are left out", MetricType::Counter);
  for (std::size_t d = 0; d < core::event_dialect_count; ++d) {
    for (std::size_t k = 0; k < core::event_kind_count; ++k) {
      const double seen = sum([d, k](const core::event_counters& from) -> const lane_counter& { return from.events[d][k]; });
      if (seen == 0) continue;
      add(events, {{"dialect", std::string(core::to_string(static_cast<core::event_dialect>(d)))},
                   {"kind", std::string(core::to_string(static_cast<core::event_kind>(k)))}})
          .counter.value = seen;
    }
  }
  MetricFamily& rejected = begin("kvc_rejected_events_total", "Events left out of a good batch, by reason", MetricType::Counter);
  for (std::size_t r = 1; r < core::reject_reason_count; ++r) {
    add(rejected, {{"reason", std::string(core::to_string(static_cast<core::reject_reason>(r)))}}).counter.value =
        sum([r](const core::event_counters& from) -> const lane_counter& { return from.rejected[r]; });
  }
}

void exposition::unknown_words(const fleet_view& fleet) {
  // Over all streams: which publisher it was stands in /services and in the log.
  std::map<std::pair<std::string, std::string>, std::uint64_t> sums;
  for (const auto& each : fleet) {
    for (std::size_t k = 0; k < core::word_kind_count; ++k) {
      const core::name_counts& words = each->status->unknown_words[k];
      const std::string kind(core::to_string(static_cast<core::word_kind>(k)));
      for (std::size_t w = 0; w < words.size(); ++w) {
        const std::pair<std::string, std::string> word(kind, words.name(w));
        const bool has_room = sums.size() < max_shown_words || sums.contains(word);
        sums[has_room ? word : std::pair(kind, std::string())] += words.times(w);
      }
      if (words.others() != 0) sums[{kind, ""}] += words.others();
    }
  }
  MetricFamily& family = begin("kvc_unknown_words",
                               "Times a tag, field or medium nobody has told us about was met, by word, over the streams "
                               "registered now; an empty word stands for all beyond the bound",
                               MetricType::Gauge);
  for (const auto& [word, times] : sums)
    add(family, {{"kind", word.first}, {"word", word.second}}).gauge.value = static_cast<double>(times);
}

void exposition::streams(std::chrono::steady_clock::time_point now) {
  const auto fleet = context_.fleet.view().get();
  gauge("kvc_streams", "Registered publishers", static_cast<double>(fleet->size()));
  for (series_family& each : stream_families(*fleet, context_.media, now)) {
    MetricFamily& family = begin(each.name, each.help, each.is_counter ? MetricType::Counter : MetricType::Gauge);
    for (series& row : each.rows) {
      labels with;
      for (auto& [name, value] : row.labels) with.push_back({name, std::move(value)});
      ClientMetric& metric = add(family, std::move(with));
      (each.is_counter ? metric.counter.value : metric.gauge.value) = row.value;
    }
  }
  unknown_words(*fleet);
}

void exposition::partitions() {
  const auto view = context_.catalog.view().get();
  gauge("kvc_partitions", "Partitions with members", static_cast<double>(view->partitions.size()));
  double blocks = 0;
  double runs = 0;
  double entries = 0;
  double slots = 0;
  double refused_slots = 0;
  double bytes = 0;
  for (const auto& [key, each] : view->partitions) {
    const core::prefix_index& index = each->partition->index();
    blocks += static_cast<double>(index.blocks());
    runs += static_cast<double>(index.run_count());
    entries += static_cast<double>(each->partition->entries().sum());
    slots += static_cast<double>(index.slots().used());
    refused_slots += static_cast<double>(index.slots().refused());
    bytes += static_cast<double>(index.bytes());
  }
  gauge("kvc_index_blocks", "Distinct blocks kept in all partitions, those behind the last held block of a run included", blocks);
  gauge("kvc_index_runs", "Runs of consecutive blocks in all partitions", runs);
  gauge("kvc_index_entries", "Blocks held, counted once for every worker and medium", entries);
  gauge("kvc_index_slots", "Pairs of worker and medium that hold blocks in a partition", slots);
  total("kvc_index_slots_refused_total", "Pairs of worker and medium for which a partition that is still there had no room", refused_slots);
  gauge("kvc_index_bytes", "Memory of all indexes", bytes);
  budget();
}

void exposition::budget() {
  const core::index_budget& budget = context_.fleet.budget();
  gauge("kvc_index_budget_bytes", "Memory the index may use before blocks are evicted; 0: any amount", static_cast<double>(budget.bytes()));
  if (budget.bytes() == 0) return;
  gauge("kvc_index_budget_used_bytes", "What counted against the budget when it was last looked at", static_cast<double>(budget.used()));
  gauge("kvc_index_evicting", "1 while blocks are being evicted", budget.is_evicting() ? 1 : 0);
  MetricFamily& evicted = begin("kvc_index_evicted_blocks_total",
                                "Blocks given up for the byte budget, by tenant (\"\": those beyond the first 256)", MetricType::Counter);
  for (const auto& [tenant, blocks] : budget.so_far().by_tenant) {
    add(evicted, {{"tenant", label_text(tenant)}}).counter.value = static_cast<double>(blocks);
  }
}

void exposition::memory() {
  const core::arena_usage arena = core::arena_now();
  MetricFamily& used =
      begin("kvc_arena_bytes", "Memory of the index and the names of its blocks, by what it is used for", MetricType::Gauge);
  for (std::size_t i = 0; i < core::arena_kinds; ++i) {
    add(used, {{"kind", std::string(core::arena_kind_names[i])}}).gauge.value = static_cast<double>(arena.used[i]);
  }
  gauge("kvc_arena_mapped_bytes", "Memory taken from the system for the index", static_cast<double>(arena.mapped));
  gauge("kvc_index_reserve_bytes", "Memory taken and touched ahead that nothing has asked for yet",
        static_cast<double>(core::page_reserve_bytes()));
  gauge("kvc_arena_fragmentation", "Share of the mapped bytes that nobody uses, 0 to 1", arena.fragmentation());
  total("kvc_arena_reclaimed_bytes_total", "Memory of the index given back, to the system or the reserve",
        static_cast<double>(arena.reclaimed));
}

}  // namespace

http_reply metrics_reply(const api_context& context, std::chrono::steady_clock::time_point now) {
  exposition scrape(context);
  scrape.gauge("kvc_build_info", "Always 1; the version is in the label", 1, {{"version", context.version}});
  scrape.gauge("kvc_uptime_seconds", "Since the process started", std::chrono::duration<double>(now - context.started).count());
  scrape.process();
  scrape.ready(now);
  scrape.total("kvc_log_lines_dropped_total", "Lines lost while nobody read the log", static_cast<double>(log::lost_lines()));
  scrape.routes();
  scrape.lanes();
  scrape.partitions();
  scrape.memory();
  scrape.streams(now);
  http_reply reply = ok_reply(scrape.text(), wire_form::text);
  reply.content_type = "text/plain; version=0.0.4; charset=utf-8";
  return reply;
}

}  // namespace kvc::net

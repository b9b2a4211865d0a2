// The stores' part of GET /metrics.
#include <array>
#include <charconv>
#include <limits>
#include <string>
#include <string_view>
#include <system_error>

#include "net/store_service.hpp"

namespace kvc::net {
namespace {

class page {
 public:
  void family(std::string_view name, std::string_view type, std::string_view help) {
    name_ = name;
    text_.append("# HELP ").append(name).append(" ").append(help).append("\n");
    text_.append("# TYPE ").append(name).append(" ").append(type).append("\n");
  }
  void value(std::string_view number, std::string_view label = {}, std::string_view word = {}, std::string_view suffix = {}) {
    text_.append(name_).append(suffix);
    if (!label.empty()) text_.append("{").append(label).append("=\"").append(word).append("\"}");
    text_.append(" ").append(number).append("\n");
  }
  void value(std::uint64_t number, std::string_view label = {}, std::string_view word = {}) { value(std::to_string(number), label, word); }

  std::string take() { return std::move(text_); }

 private:
  std::string text_;
  std::string name_;
};

/// No more digits than it needs, and never two numbers alike: the first bounds differ in the seventh place behind the point.
std::string number_text(double number) {
  std::array<char, 32> digits{};
  const auto [end, failed] = std::to_chars(digits.data(), digits.data() + digits.size(), number);
  return failed == std::errc{} ? std::string(digits.data(), end) : "NaN";
}

void show_latency(page& out, const core::latency_histogram& latency) {
  out.family("kvc_prefetch_latency_seconds", "histogram", "Time from a wish to the object verified in memory");
  std::uint64_t count = 0;
  for (std::size_t i = 0; i < core::latency_histogram::bucket_count; ++i) {
    count += latency.in_bucket(i);
    const bool is_last = i + 1 == core::latency_histogram::bucket_count;
    out.value(std::to_string(count), "le", is_last ? "+Inf" : number_text(core::latency_histogram::upper_bound_s(i)), "_bucket");
  }
  out.value(number_text(static_cast<double>(latency.sum_ns()) * 1e-9), {}, {}, "_sum");
  out.value(std::to_string(count), {}, {}, "_count");
}

}  // namespace

std::string store_service::metrics() const {
  page out;
  const promotion_service::counters& promoted = promotions_.counts();
  out.family("kvc_prefetch_requests_total", "counter", "Objects whose promotion was wished for, by what became of it at first and at last");
  for (std::size_t i = 0; i < promotion_service::outcome_names.size(); ++i) {
    out.value(promoted.outcomes[i].load(std::memory_order_relaxed), "outcome", promotion_service::outcome_names[i]);
  }
  out.family("kvc_prefetch_suppressed_total", "counter", "Promotions that were not started, by cause");
  for (std::size_t i = 0; i < promotion_service::cause_names.size(); ++i) {
    out.value(promoted.suppressed[i].load(std::memory_order_relaxed), "cause", promotion_service::cause_names[i]);
  }
  out.family("kvc_prefetch_queries_left_out_total", "counter", "Queries behind which nothing was promoted, as too many came");
  out.value(queries_.left_out());
  out.family("kvc_prefetch_in_flight", "gauge", "Objects on their way to memory or waiting for it");
  out.value(promotions_.in_flight());
  out.family("kvc_prefetch_bytes_total", "counter", "Bytes of promoted objects, as far as stores tell");
  out.value(promoted.bytes.load(std::memory_order_relaxed));
  show_latency(out, promoted.latency);

  out.family("kvc_exist_total", "counter", "Keys probed, by result");
  for (std::size_t i = 0; i < core::exist_result_count; ++i) {
    std::uint64_t sum = 0;
    for (std::size_t lane = 0; lane < lanes_.size(); ++lane) sum += lanes_.at(lane).counters.probes[i].get();
    out.value(sum, "result", core::exist_result_names[i]);
  }

  const store_reconciler::counters& truth = truth_.counts();
  out.family("kvc_store_reconcile_total", "counter", "Differences between what was known of objects and what their stores say, by kind");
  for (std::size_t i = 0; i < core::difference_count; ++i) {
    out.value(truth.differences[i].load(std::memory_order_relaxed), "difference", core::difference_names[i]);
  }
  out.family("kvc_store_reconciled_keys_total", "counter", "Keys that stores have been asked for");
  out.value(truth.looked_at.load(std::memory_order_relaxed));
  out.family("kvc_store_reconcile_failures_total", "counter", "Looks at a store that were not answered");
  out.value(truth.failed.load(std::memory_order_relaxed));
  out.family("kvc_store_reconcile_untold_total", "counter",
             "Keys that stores were asked for and told nothing about, or cannot be asked for");
  out.value(truth.untold.load(std::memory_order_relaxed));
  out.family("kvc_store_reconcile_overtaken_total", "counter", "Answers of stores that an event was faster than");
  out.value(truth.overtaken.load(std::memory_order_relaxed));
  out.family("kvc_store_reconcile_left_out_total", "counter", "Keys that were to be asked for and for which there was no room");
  out.value(truth.left_out.load(std::memory_order_relaxed));

  const object_shelves::totals all = objects_.sum();
  out.family("kvc_store_objects", "gauge", "Objects of stores with a complete replica, by medium");
  for (std::size_t i = 0; i < core::replica_kinds; ++i) out.value(all.complete[i], "medium", core::replica_kind_names[i]);
  out.family("kvc_store_object_bytes", "gauge", "Memory that the tables of objects use");
  out.value(all.bytes);
  out.family("kvc_store_objects_refused_total", "counter", "Objects that were not taken: bad key, or no room");
  out.value(all.refused);
  std::uint64_t events = 0;
  std::uint64_t refused_events = 0;
  for (std::size_t lane = 0; lane < lanes_.size(); ++lane) {
    events += lanes_.at(lane).counters.object_events.get();
    refused_events += lanes_.at(lane).counters.refused_objects.get();
  }
  out.family("kvc_store_object_events_total", "counter", "Replicas of objects that events told of");
  out.value(events);
  out.family("kvc_store_refused_events_total", "counter",
             "Events whose object was not taken: bad key, or no room for it, its tenant or its backend");
  out.value(refused_events);
  return out.take();
}

}  // namespace kvc::net

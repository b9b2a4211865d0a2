#include "perf/sim_store_wire.hpp"

#include <algorithm>

#include "net/answer_writer.hpp"
#include "perf/sim_mix.hpp"

namespace kvc::sim {
namespace {

net::answer_writer writer_to(std::string& out) {
  return {out, net::wire_form::json};
}

void write_memory(net::answer_writer& out, const store_replica& replica, std::uint64_t bytes, std::string_view key) {
  out.object();
  out.member("size_", bytes);
  out.member("buffer_address_", mix(replica.segment) >> 16U);
  out.member("protocol_", "tcp");
  out.member("transport_endpoint_", store_location(replica, key));
  out.end_object();
}

void write_disk(net::answer_writer& out, const store_replica& replica, std::uint64_t bytes, std::string_view key) {
  out.object();
  if (replica.medium == store_medium::disk) {
    out.member("file_path", store_location(replica, key));
    out.member("object_size", bytes);
  } else {
    out.member("client_id", "client-" + std::to_string(replica.segment));
    out.member("object_size", bytes);
    out.member("transport_endpoint", store_location(replica, key));
  }
  out.end_object();
}

void write_replicas(net::answer_writer& out, std::string_view name, store_medium medium, const store_storage::object& what,
                    std::string_view key) {
  out.key(name);
  out.list();
  for (const store_replica& each : what.replicas) {
    if (!each.is_complete || each.medium != medium) continue;
    medium == store_medium::memory ? write_memory(out, each, what.bytes, key) : write_disk(out, each, what.bytes, key);
  }
  out.end_list();
}

void add_series(std::string& page, std::string_view name, std::string_view type, std::uint64_t value) {
  page.append("# TYPE ").append(name).append(" ").append(type).append("\n");
  page.append(name).append(" ").append(std::to_string(value)).append("\n");
}

}  // namespace

std::string_view raw_parameter(std::string_view raw_query, std::string_view name) noexcept {
  while (!raw_query.empty()) {
    const std::string_view pair = raw_query.substr(0, raw_query.find('&'));
    raw_query.remove_prefix(std::min(raw_query.size(), pair.size() + 1));
    if (pair.size() > name.size() && pair.starts_with(name) && pair[name.size()] == '=') return pair.substr(name.size() + 1);
  }
  return {};
}

std::vector<std::string> split_keys(std::string_view list) {
  std::vector<std::string> keys;
  while (!list.empty()) {
    const std::string_view key = list.substr(0, list.find(','));
    list.remove_prefix(std::min(list.size(), key.size() + 1));
    if (!key.empty()) keys.emplace_back(key);
  }
  return keys;
}

const char* store_absence(const store_storage::object* what) noexcept {
  if (what == nullptr) return "OBJECT_NOT_FOUND";
  return what->is_anywhere() ? nullptr : "REPLICA_IS_NOT_READY";
}

std::string store_batch_answer(const store_storage& from, std::span<const std::string> keys, bool leaves_out) {
  std::string text;
  net::answer_writer out = writer_to(text);
  out.object();
  out.member("success", true);
  out.key("data");
  out.object();
  for (std::size_t i = 0; i < keys.size(); i += leaves_out ? 2 : 1) {
    const store_storage::object* what = from.find(keys[i]);
    const char* absence = store_absence(what);
    out.key(keys[i]);
    out.object();
    out.member("ok", absence == nullptr);
    if (absence != nullptr) {
      out.member("error", absence);
    } else {
      write_replicas(out, "values", store_medium::memory, *what, keys[i]);
      write_replicas(out, "disk_values", store_medium::disk, *what, keys[i]);
      write_replicas(out, "local_disk_values", store_medium::local_disk, *what, keys[i]);
    }
    out.end_object();
  }
  out.end_object();
  out.end_object();
  return text;
}

std::string store_key_answer(const store_storage::object& what) {
  std::string text;
  for (const store_replica& each : what.replicas) {
    if (!each.is_complete || each.medium != store_medium::memory) continue;
    net::answer_writer out = writer_to(text);
    write_memory(out, each, what.bytes, {});
    text += '\n';
  }
  return text;
}

std::string store_metrics(const store_storage& of) {
  const store_storage::counters& counts = of.counts();
  std::string page;
  add_series(page, "master_key_count", "gauge", of.all().size());
  add_series(page, "master_allocated_bytes", "gauge", of.used());
  add_series(page, "master_total_capacity_bytes", "gauge", of.chosen().capacity);
  add_series(page, "master_put_end_total", "counter", counts.puts);
  add_series(page, "master_evicted_key_count", "counter", counts.evicted);
  add_series(page, "master_promotion_success_total", "counter", counts.promoted);
  add_series(page, "master_promotion_in_flight", "gauge", of.promotions());
  add_series(page, "master_promotion_rejected_by_queue_total", "counter", counts.rejected_by_queue);
  add_series(page, "master_promotion_rejected_by_watermark_total", "counter", counts.rejected_by_watermark);
  return page;
}

}  // namespace kvc::sim

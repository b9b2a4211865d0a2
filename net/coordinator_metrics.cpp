// Written by hand: the metrics library keeps a tree of families, which a page of plain sums has no use for.
#include "net/coordinator_metrics.hpp"

#include <array>
#include <charconv>
#include <cstdint>
#include <string>
#include <string_view>

#include "core/usage_listing.hpp"
#include "net/label_text.hpp"

namespace kvc::net {
namespace {

/// The text format. (Source: Prometheus, exposition formats, version 0.0.4.)
class exposition {
 public:
  explicit exposition(std::string& out) : out_(out) {}

  void counter(std::string_view name, std::string_view help, std::uint64_t value) {
    single(name, help, "counter", static_cast<double>(value));
  }
  void gauge(std::string_view name, std::string_view help, double value) { single(name, help, "gauge", value); }
  void family(std::string_view name, std::string_view help, std::string_view type) {
    out_.append("# HELP ").append(name).append(" ").append(help).append("\n# TYPE ").append(name).append(" ").append(type).append("\n");
  }
  /// `text`: of a stranger, and therefore a `label_text`.
  void row(std::string_view name, std::string_view label, std::string_view text, double value) {
    out_.append(name).append("{").append(label).append("=\"");
    for (const char each : text) {
      if (each == '\\' || each == '"') out_ += '\\';
      if (each == '\n') {
        out_ += "\\n";
      } else {
        out_ += each;
      }
    }
    out_ += "\"} ";
    number(value);
  }

  void append(std::string_view rows) { out_.append(rows); }

 private:
  void single(std::string_view name, std::string_view help, std::string_view type, double value) {
    family(name, help, type);
    out_.append(name).append(" ");
    number(value);
  }
  void number(double value) {
    std::array<char, 32> digits;
    const auto end = std::to_chars(digits.data(), digits.data() + digits.size(), value).ptr;
    out_.append(digits.data(), end).append("\n");
  }

  std::string& out_;
};

double of(std::uint64_t value) {
  return static_cast<double>(value);
}

/// Rows about strangers that are written in one turn of the lane: all of a long name is read to make a label of it.
constexpr std::size_t rows_per_turn = 25;
static_assert(most_metric_rows % rows_per_turn == 0);

asio::awaitable<void> write_servers(exposition& page, coordinator_context& context) {
  const coordinator_tables& tables = context.tables;
  const coordinator_counters& counted = tables.counters;
  page.gauge("kvc_coordinator_instances", "MP servers that are registered", of(tables.servers.all().size()));
  page.counter("kvc_coordinator_registrations_total", "Registrations of unknown servers", counted.registrations);
  page.counter("kvc_coordinator_re_registrations_total", "Registrations that replaced one", counted.re_registrations);
  page.counter("kvc_coordinator_deregistrations_total", "Servers that said they leave", counted.deregistrations);
  page.counter("kvc_coordinator_timed_out_total", "Servers dropped because they fell silent", counted.timed_out);
  page.counter("kvc_coordinator_heartbeats_total", "Heartbeats of registered servers", counted.heartbeats);
  page.counter("kvc_coordinator_unknown_heartbeats_total", "Heartbeats of servers that are not registered", counted.unknown_heartbeats);
  page.family("kvc_coordinator_heartbeat_age_seconds", "Time since a server was heard of", "gauge");
  const auto& servers = tables.servers.all();
  std::uint64_t last = 0;                                // nobody's number
  const std::uint64_t newest = tables.servers.newest();  // who leaves and comes back meanwhile would have two lines
  for (std::size_t rows = 0; rows < most_metric_rows; ++rows) {
    if (rows != 0 && rows % rows_per_turn == 0) co_await yield_home(context);
    const auto each = servers.upper_bound(last);
    if (each == servers.end() || each->first > newest) break;
    last = each->first;
    // The clock is read after the turn was given away: a server may have been heard of meanwhile.
    const std::chrono::duration<double> age = std::chrono::steady_clock::now() - each->second.heard_at;
    page.row("kvc_coordinator_heartbeat_age_seconds", "instance_id", label_text(each->second.server.instance_id), age.count());
  }
}

asio::awaitable<void> write_usage(exposition& page, coordinator_context& context) {
  const coordinator_tables& tables = context.tables;
  const core::usage_counters& counted = tables.usage.counters();
  page.gauge("kvc_coordinator_keys", "Objects that are tracked", of(tables.usage.size()));
  page.gauge("kvc_coordinator_usage_bytes", "Bytes of all tracked objects", of(tables.usage.total_bytes()));
  page.gauge("kvc_coordinator_salts", "Cache salts with tracked objects", of(tables.usage.keys().salts().size()));
  page.gauge("kvc_coordinator_tables_bytes", "Memory of the ledger", of(tables.usage.memory_bytes()));
  page.counter("kvc_coordinator_stores_total", "Stores told", counted.stores);
  page.counter("kvc_coordinator_lookups_total", "Look-ups of tracked objects told", counted.lookups);
  page.counter("kvc_coordinator_removals_total", "Deletions of tracked objects told", counted.removals);
  page.counter("kvc_coordinator_unknown_events_total", "Look-ups and deletions of objects that are not tracked", counted.unknown);
  page.counter("kvc_coordinator_refused_stores_total", "Stores beyond a bound, not tracked", counted.refused);

  std::string used;
  std::string limits;
  exposition used_rows(used);
  exposition limit_rows(limits);
  core::usage_place place;
  const auto see = [&](const core::usage_row& row) {
    const std::string salt = label_text(row.salt);
    used_rows.row("kvc_coordinator_salt_usage_bytes", "cache_salt", salt, of(row.used_bytes));
    if (row.quota_bytes) limit_rows.row("kvc_coordinator_salt_quota_bytes", "cache_salt", salt, *row.quota_bytes);
  };
  for (std::size_t rows = 0; rows < most_metric_rows; rows += rows_per_turn) {
    if (rows != 0) co_await yield_home(context);
    if (!core::some_usage_rows(tables.usage, tables.quotas, place, rows_per_turn, see)) break;
  }
  page.family("kvc_coordinator_salt_usage_bytes", "Bytes under a cache salt", "gauge");
  page.append(used);
  page.family("kvc_coordinator_salt_quota_bytes", "Limit of a cache salt", "gauge");
  page.append(limits);
}

void write_eviction(exposition& page, const coordinator_tables& tables) {
  const core::eviction_counters& counted = tables.evictions.counters();
  page.counter("kvc_coordinator_eviction_cycles_total", "Eviction cycles",
               counted.cycles + tables.counters.cycles_alone + tables.counters.cycles_held_back);
  page.counter("kvc_coordinator_eviction_cycles_skipped_total", "Times nothing was planned, as no server could be asked",
               tables.counters.cycles_alone + tables.counters.cycles_held_back);
  page.counter("kvc_coordinator_evictions_planned_total", "Keys chosen for deletion", counted.planned);
  page.counter("kvc_coordinator_evictions_sent_total", "Keys sent to a server for deletion", tables.counters.keys_sent);
  page.counter("kvc_coordinator_evictions_confirmed_total", "Keys in flight whose deletion was told", tables.usage.counters().confirmed);
  page.counter("kvc_coordinator_evictions_failed_total", "Keys released because their deletion failed", counted.failed);
  page.counter("kvc_coordinator_evictions_expired_total", "Keys released because nothing was heard of them", counted.expired);
  page.counter("kvc_coordinator_deletion_requests_total", "Deletion requests sent", tables.counters.deletions_sent);
  page.counter("kvc_coordinator_deletion_requests_failed_total", "Deletion requests that failed", tables.counters.deletions_failed);
  page.gauge("kvc_coordinator_keys_set_aside", "Keys whose deletion was asked for three times in vain; others are evicted first",
             of(tables.usage.keys_set_aside()));
  page.gauge("kvc_coordinator_keys_in_flight", "Keys sent and not heard of since", of(tables.usage.keys_in_flight()));
}

void write_resync(exposition& page, const coordinator_tables& tables) {
  const core::usage_counters& counted = tables.usage.counters();
  page.gauge("kvc_coordinator_resync_state", "Start-up listing: 0 waiting, 1 listing, 2 complete, 3 gave up",
             of(static_cast<std::uint64_t>(tables.resync)));
  page.gauge("kvc_coordinator_resync_pages", "Pages listed", of(tables.resync_pages));
  page.gauge("kvc_coordinator_resync_servers_failed", "Servers whose listing failed", of(tables.resync_servers_failed));
  page.counter("kvc_coordinator_resync_keys_total", "Keys that the listing has brought", counted.seeded);
  page.counter("kvc_coordinator_resync_deleted_total", "Listed objects whose deletion was told meanwhile", counted.seeds_deleted);
  page.counter("kvc_coordinator_resync_forgotten_removals_total", "Deletions during the listing that could not be remembered",
               counted.forgotten_removals);
  page.counter("kvc_coordinator_resync_bad_entries_total", "Listed entries that were no objects", tables.counters.resync_bad_entries);
}

/// Who it was whose numbers did not follow. In one turn: all ids together are bounded.
void write_senders(exposition& page, const core::seqno_watch& watched) {
  struct column {
    std::string_view name;
    std::string_view help;
    std::uint64_t core::seqno_watch::sender::*count;
  };
  constexpr std::array columns{
      column{"kvc_coordinator_sender_seq_missing_total", "Numbers a sender left out", &core::seqno_watch::sender::missing},
      column{"kvc_coordinator_sender_seq_repeats_total", "Batches of a sender with the number of the one before",
             &core::seqno_watch::sender::repeats},
      column{"kvc_coordinator_sender_seq_restarts_total", "Batches of a sender with a lower number", &core::seqno_watch::sender::restarts}};
  std::array<std::string, columns.size()> rows;
  watched.each_recent(most_metric_rows, [&](std::string_view id, const core::seqno_watch::sender& sender) {
    const std::string shown = label_text(id);
    for (std::size_t i = 0; i < columns.size(); ++i) {
      exposition(rows[i]).row(columns[i].name, "instance_id", shown, of(sender.*columns[i].count));
    }
  });
  for (std::size_t i = 0; i < columns.size(); ++i) {
    page.family(columns[i].name, columns[i].help, "counter");
    page.append(rows[i]);
  }
}

void write_batches(exposition& page, const coordinator_tables& tables) {
  const auto& watched = tables.seqnos.counts();
  page.counter("kvc_coordinator_batches_total", "Batches of events under /quota/events", watched.batches);
  page.counter("kvc_coordinator_seq_gaps_total", "Batches whose number left others out", watched.gaps);
  page.counter("kvc_coordinator_seq_missing_total", "Numbers left out", watched.missing);
  page.counter("kvc_coordinator_seq_repeats_total", "Batches with the number of the one before", watched.repeats);
  page.counter("kvc_coordinator_seq_restarts_total", "Batches with a lower number", watched.restarts);
  write_senders(page, tables.seqnos);
  const auto& fenced = tables.fence.counts();
  page.counter("kvc_coordinator_fenced_applied_total", "Batches with an incarnation that were applied", fenced.applied);
  page.counter("kvc_coordinator_fenced_duplicates_total", "Batches with an incarnation that had come before", fenced.duplicates);
  page.counter("kvc_coordinator_fenced_stale_total", "Batches of an ended incarnation", fenced.stale);
  page.counter("kvc_coordinator_fenced_skipped_total", "Numbers of an incarnation that had not come when a higher one did", fenced.skipped);
  page.counter("kvc_coordinator_fenced_late_total", "Skipped numbers that came late and were applied", fenced.late);
}

void write_blend(exposition& page, const coordinator_tables& tables) {
  const core::blend_counters& counted = tables.blend.counters();
  page.gauge("kvc_coordinator_blend_chunks", "Chunks in the directory", of(tables.blend.size()));
  page.gauge("kvc_coordinator_blend_bytes", "Memory of the directory", of(tables.blend.memory_bytes()));
  page.counter("kvc_coordinator_blend_inserted_total", "New chunks", counted.inserted);
  page.counter("kvc_coordinator_blend_skipped_ranges_total", "Ranges with another number of keys than chunks", counted.skipped_ranges);
  page.counter("kvc_coordinator_blend_refused_keys_total", "Object keys that were too long or had no room", counted.refused_keys);
  page.counter("kvc_coordinator_blend_removed_total", "Chunks taken back", counted.removed);
  page.counter("kvc_coordinator_blend_evicted_total", "Chunks dropped because of the bound", counted.evicted);
  page.counter("kvc_coordinator_blend_found_total", "Chunks found by queries", counted.found);
}

}  // namespace

asio::awaitable<std::string> coordinator_metrics(coordinator_context& context) {
  std::string text;
  exposition page(text);
  co_await write_servers(page, context);
  co_await write_usage(page, context);
  co_await yield_home(context);
  write_eviction(page, context.tables);
  write_resync(page, context.tables);
  write_batches(page, context.tables);
  write_blend(page, context.tables);
  page.counter("kvc_coordinator_prefetches_total", "Calls of /cache/prefetches relayed", context.tables.counters.prefetches);
  page.counter("kvc_coordinator_prefetches_failed_total", "Those without an answer", context.tables.counters.prefetches_failed);
  page.counter("kvc_coordinator_quota_file_failures_total", "Times the quota file could not be written", context.saved_quotas.failures());
  page.counter("kvc_coordinator_bodies_read_aside_total", "Bodies too long for a turn of a lane, read beside them", context.aside.pieces());
  page.gauge("kvc_coordinator_calls", "Calls to MP servers at this moment", of(context.calls.in_use() + context.deletions.in_use()));
  co_return text;
}

}  // namespace kvc::net

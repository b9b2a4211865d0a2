#include "perf/sim_store_run.hpp"

#include <chrono>
#include <csignal>
#include <cstdio>
#include <fstream>
#include <future>
#include <initializer_list>
#include <memory>
#include <utility>

#include <boost/asio/signal_set.hpp>

#include "net/answer_writer.hpp"
#include "perf/sim_picture.hpp"
#include "perf/sim_store_cluster.hpp"
#include "perf/sim_store_demo.hpp"

namespace kvc::sim {
namespace {

using figures = std::initializer_list<std::pair<std::string_view, std::uint64_t>>;

void add_line(std::string& text, std::string_view title, figures row) {
  text.append("  ").append(title).append(title.size() < 12 ? 12 - title.size() : 0, ' ');
  bool is_first = true;
  for (const auto& [name, value] : row) {
    text.append(is_first ? "" : ", ").append(grouped(value)).append(" ").append(name);
    is_first = false;
  }
  text += '\n';
}

void print_addresses(const store_cluster& store, const store_options& chosen) {
  for (std::uint32_t i = 0; i < chosen.masters; ++i) {
    const std::string replay = store.replay_endpoint(i);
    std::printf("master %u: admin %s, events %s%s%s\n", i, store.url(i).c_str(), store.endpoint(i).c_str(),
                replay.empty() ? "" : ", replay ", replay.c_str());
  }
  std::fflush(stdout);
}

/// Ends with INT or TERM, or when the seconds are over; 0: only then.
void wait_for_the_end(store_cluster& store, double seconds) {
  std::promise<void> asked;
  std::unique_ptr<boost::asio::signal_set> signals;
  store.at_home([&](store_world& world) {
    signals = std::make_unique<boost::asio::signal_set>(world.home.context, SIGINT, SIGTERM);
    signals->async_wait([&asked](const boost::system::error_code& failed, int) {
      if (!failed) asked.set_value();
    });
  });
  const auto ended = asked.get_future();
  seconds > 0 ? static_cast<void>(ended.wait_for(std::chrono::duration<double>(seconds))) : ended.wait();
  store.at_home([&](store_world&) { signals.reset(); });
}

/// A store that is only there.
int stand_by(const store_options& chosen) {
  store_cluster store(chosen);
  const std::string wrong = store.open();
  if (!wrong.empty()) {
    std::fprintf(stderr, "kv-conductor-sim: %s\n", wrong.c_str());
    return 1;
  }
  print_addresses(store, chosen);
  wait_for_the_end(store, chosen.seconds);
  return store.stop() ? 0 : 1;
}

/// With `seconds` 0 the store stays until somebody ends it.
int show_demo(const store_options& chosen) {
  store_demo demo(chosen);
  const std::string wrong = demo.run();
  if (!wrong.empty()) {
    std::fprintf(stderr, "kv-conductor-sim: %s\n", wrong.c_str());
  } else if (chosen.seconds == 0) {
    std::printf("The store stays. Two more objects are on its SSD; ask twice:\n  %s\n", demo.example().c_str());
    std::fflush(stdout);
    wait_for_the_end(demo.store(), 0);
  }
  demo.leave();
  return wrong.empty() ? 0 : 1;
}

}  // namespace

std::string store_summary(const store_options& chosen, const store_outcome& outcome) {
  const store_counts& counts = outcome.counts;
  const store_storage::counters& storage = outcome.storage;
  std::string text = "\nsummary (seed " + std::to_string(chosen.seed) + ")\n";
  add_line(text, "store", {{"objects", outcome.objects}, {"of them on SSD only", outcome.on_ssd_only}});
  add_line(text, "happened",
           {{"puts", storage.puts},
            {"without room", storage.failed_puts},
            {"evicted", storage.evicted},
            {"offloaded", storage.offloaded},
            {"promoted", storage.promoted},
            {"given up", storage.revoked}});
  add_line(text, "probed", {{"batches", counts.probes}, {"keys", counts.keys_probed}});
  add_line(text, "prefetched",
           {{"started", counts.outcomes[1]},
            {"joined", counts.outcomes[2]},
            {"suppressed", counts.outcomes[3]},
            {"failed", counts.outcomes[4]}});
  add_line(text, "master asked",
           {{"lists", counts.batch_queries},
            {"keys in them", counts.keys_queried},
            {"in the longest", counts.longest_query},
            {"look-ups", counts.look_ups},
            {"refused by followers", counts.refused_as_follower}});
  add_line(text, "refused", {{"by watermark", storage.rejected_by_watermark}, {"by queue", storage.rejected_by_queue}});
  for (std::size_t i = 0; i < store_fault_kinds; ++i) {
    if ((chosen.faults >> i & 1U) != 0) add_line(text, "fault", {{store_fault_words[i], counts.faults[i]}});
  }
  add_line(text, "compared", {{"keys", outcome.keys_compared}, {"of them never heard of", outcome.unheard}});
  add_line(text, "brought back", {{"objects", outcome.brought}});
  for (const std::string& each : outcome.complaints) text += "  DIFFERS     " + each + "\n";
  const std::uint64_t more = outcome.complaint_count - outcome.complaints.size();
  if (more > 0) text += "  DIFFERS     and " + grouped(more) + " times more\n";
  text += outcome.is_fine() ? "ok: the conductor's answers are what the store has\n" : "FAILED\n";
  return text;
}

std::string store_summary_json(const store_options& chosen, const store_outcome& outcome) {
  const store_counts& counts = outcome.counts;
  const store_storage::counters& storage = outcome.storage;
  std::string text;
  net::answer_writer out(text, net::wire_form::json);
  out.object();
  out.member("ok", outcome.is_fine());
  for (const auto& [name, value] : figures{{"seed", chosen.seed},
                                           {"objects", outcome.objects},
                                           {"on_ssd_only", outcome.on_ssd_only},
                                           {"puts", storage.puts},
                                           {"failed_puts", storage.failed_puts},
                                           {"evicted", storage.evicted},
                                           {"offloaded", storage.offloaded},
                                           {"promoted", storage.promoted},
                                           {"revoked", storage.revoked},
                                           {"rejected_by_watermark", storage.rejected_by_watermark},
                                           {"rejected_by_queue", storage.rejected_by_queue},
                                           {"probes", counts.probes},
                                           {"keys_probed", counts.keys_probed},
                                           {"batch_queries", counts.batch_queries},
                                           {"keys_queried", counts.keys_queried},
                                           {"longest_query", counts.longest_query},
                                           {"look_ups", counts.look_ups},
                                           {"refused_as_follower", counts.refused_as_follower},
                                           {"leader_changes", counts.leader_changes},
                                           {"replays", outcome.replays},
                                           {"keys_compared", outcome.keys_compared},
                                           {"unheard", outcome.unheard},
                                           {"brought", outcome.brought},
                                           {"differences", outcome.complaint_count}}) {
    out.member(name, value);
  }
  out.key("prefetch");
  out.object();
  for (std::size_t i = 0; i < store_outcome_words.size(); ++i) out.member(store_outcome_words[i], counts.outcomes[i]);
  out.end_object();
  out.key("faults");
  out.object();
  for (std::size_t i = 0; i < store_fault_kinds; ++i) out.member(store_fault_words[i], counts.faults[i]);
  out.end_object();
  out.end_object();
  return text + "\n";
}

int run_store(const store_options& chosen) {
  if (chosen.conductor_host.empty()) return stand_by(chosen);
  if (chosen.demo) return show_demo(chosen);
  store_play play(chosen);
  const store_outcome outcome = play.run(true);
  std::fputs(store_summary(chosen, outcome).c_str(), stdout);
  std::fflush(stdout);
  bool is_written = true;
  if (!chosen.json_file.empty()) {
    std::ofstream file(chosen.json_file, std::ios::binary);
    file << store_summary_json(chosen, outcome);
    is_written = static_cast<bool>(file.flush());
    if (!is_written) std::fprintf(stderr, "kv-conductor-sim: cannot write %s\n", chosen.json_file.c_str());
  }
  return outcome.is_fine() && is_written ? 0 : 1;
}

}  // namespace kvc::sim

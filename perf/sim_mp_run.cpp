#include "perf/sim_mp_run.hpp"

#include <cstdio>
#include <fstream>
#include <initializer_list>
#include <utility>

#include "net/answer_writer.hpp"
#include "perf/sim_picture.hpp"

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

}  // namespace

std::string mp_summary(const mp_options& chosen, const mp_outcome& outcome) {
  const mp_counts& counts = outcome.counts;
  std::string text = "\nsummary (seed " + std::to_string(chosen.seed) + ")\n";
  add_line(text, "membership",
           {{"registrations", counts.registrations},
            {"of them anew", counts.re_registrations},
            {"heartbeats", counts.heartbeats},
            {"unknown", counts.unknown_heartbeats},
            {"deregistrations", counts.deregistrations}});
  add_line(text, "told", {{"stores", counts.stores}, {"look-ups", counts.lookups}, {"removals", counts.removals}});
  add_line(text, "in", {{"batches", counts.batches}, {"recognised as repeats", counts.duplicates}, {"lost", counts.lost_batches}});
  add_line(text, "listed", {{"pages", counts.pages}, {"entries", counts.listed}});
  add_line(text, "evicted",
           {{"requests", counts.deletion_requests},
            {"keys asked for", counts.keys_asked},
            {"in the longest", counts.longest_request},
            {"objects deleted", counts.deleted}});
  add_line(text, "prefetches",
           {{"submitted", counts.prefetches}, {"completed", counts.prefetches_completed}, {"failed", counts.prefetches_failed}});
  for (std::size_t i = 0; i < mp_fault_kinds; ++i) {
    if ((chosen.faults >> i & 1U) != 0) add_line(text, "fault", {{mp_fault_words[i], counts.faults[i]}});
  }
  add_line(text, "believed", {{"keys", outcome.model_keys}, {"bytes", outcome.model_bytes}});
  add_line(text, "stored", {{"objects", outcome.stored_objects}, {"bytes", outcome.stored_bytes}});
  for (const std::string& each : outcome.complaints) text += "  DIFFERS     " + each + "\n";
  const std::uint64_t more = outcome.complaint_count - outcome.complaints.size();
  if (more > 0) text += "  DIFFERS     and " + grouped(more) + " times more\n";
  if (outcome.is_fine()) {
    text += chosen.drain && outcome.was_drained ? "ok: ledger and order of use are those of the model\n"
                                                : "ok: the ledger is that of the model\n";
  } else {
    text += "FAILED\n";
  }
  return text;
}

std::string mp_summary_json(const mp_options& chosen, const mp_outcome& outcome) {
  const mp_counts& counts = outcome.counts;
  std::string text;
  net::answer_writer out(text, net::wire_form::json);
  out.object();
  out.member("ok", outcome.is_fine());
  out.member("drained", outcome.was_drained);
  for (const auto& [name, value] : figures{{"seed", chosen.seed},
                                           {"registrations", counts.registrations},
                                           {"re_registrations", counts.re_registrations},
                                           {"deregistrations", counts.deregistrations},
                                           {"heartbeats", counts.heartbeats},
                                           {"unknown_heartbeats", counts.unknown_heartbeats},
                                           {"batches", counts.batches},
                                           {"duplicates", counts.duplicates},
                                           {"lost_batches", counts.lost_batches},
                                           {"stores", counts.stores},
                                           {"lookups", counts.lookups},
                                           {"removals", counts.removals},
                                           {"deletion_requests", counts.deletion_requests},
                                           {"keys_asked", counts.keys_asked},
                                           {"longest_request", counts.longest_request},
                                           {"deleted", counts.deleted},
                                           {"pages", counts.pages},
                                           {"listed", counts.listed},
                                           {"prefetches", counts.prefetches},
                                           {"prefetches_completed", counts.prefetches_completed},
                                           {"prefetches_failed", counts.prefetches_failed},
                                           {"stored_objects", outcome.stored_objects},
                                           {"stored_bytes", outcome.stored_bytes},
                                           {"model_keys", outcome.model_keys},
                                           {"model_bytes", outcome.model_bytes},
                                           {"differences", outcome.complaint_count}}) {
    out.member(name, value);
  }
  out.key("faults");
  out.object();
  for (std::size_t i = 0; i < mp_fault_kinds; ++i) out.member(mp_fault_words[i], counts.faults[i]);
  out.end_object();
  out.end_object();
  return text + "\n";
}

int run_mp_fleet(const mp_options& chosen) {
  mp_fleet fleet(chosen);
  const mp_outcome outcome = fleet.run(true);
  std::fputs(mp_summary(chosen, outcome).c_str(), stdout);
  std::fflush(stdout);
  bool is_written = true;
  if (!chosen.json_file.empty()) {
    std::ofstream file(chosen.json_file, std::ios::binary);
    file << mp_summary_json(chosen, outcome);
    is_written = static_cast<bool>(file.flush());
    if (!is_written) std::fprintf(stderr, "kv-conductor-sim: cannot write %s\n", chosen.json_file.c_str());
  }
  return outcome.is_fine() && is_written ? 0 : 1;
}

}  // namespace kvc::sim

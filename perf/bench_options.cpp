#include "perf/bench_options.hpp"

#include <array>
#include <cstddef>
#include <span>

#include "perf/bench_readers.hpp"

namespace kvc::perf {
namespace {

constexpr std::uint32_t most_reserve_mib = 1U << 20;

void read_index(word_reader& words, index_plan& plan) {
  std::string mode = "sequential";
  bool is_positional = false;
  bool has_stride = false;
  while (words.next()) {
    const bool known = words.text("--mode", mode) || words.choice("--design", is_positional, "runs", "positional") ||
                       words.whole("--reserve", plan.reserve_mib, 0, most_reserve_mib) || words.share("--quiet", plan.most_stolen) ||
                       read_manner(words, plan);
    if (known) continue;
    if (words.whole("--stride", plan.setup.stride, 1, bench_positional::max_positions)) {
      has_stride = true;
    } else {
      words.operand({&plan.file});
    }
  }
  plan.setup.design = is_positional ? bench_design::positional : bench_design::runs;
  plan.mode = find_bench_mode(mode);
  if (plan.mode == nullptr) {
    std::string names;
    for (const bench_mode& each : bench_modes()) names += (names.empty() ? "" : ", ") + std::string(each.name);
    return words.fail("there is no mode " + mode + "; --mode is one of " + names);
  }
  const bool wants_file = plan.mode->replay != nullptr;
  if (wants_file && plan.file.empty()) words.fail("mode " + mode + " replays a workload file; name one (FILE.kvwl)");
  if (!wants_file && !plan.file.empty()) words.fail("mode " + mode + " makes its own blocks and reads no file");
  if (is_positional && !plan.mode->drives_any_design) words.fail("mode " + mode + " measures --design runs only");
  if (has_stride && !is_positional) words.fail("--stride belongs to --design positional");
}

void read_table(word_reader& words, table_plan& plan) {
  while (words.next()) {
    const bool known = read_page(words, plan) || words.whole("--repeat", plan.repeat, 1, most_repeats) ||
                       words.whole("--reserve", plan.reserve_mib, 0, most_reserve_mib) || words.share("--quiet", plan.most_stolen) ||
                       words.toggle("--no-reference", plan.with_reference, false);
    if (!known) words.operand({&plan.folder});
  }
  if (plan.folder.empty()) words.fail("name the folder of the workload files");
}

void read_coordinator(word_reader& words, coordinator_plan& plan) {
  while (words.next()) {
    const bool known =
        words.text("--mode", plan.mode) || read_server(words, plan) || read_manner(words, plan) || words.toggle("--http", plan.over_http);
    if (!known) words.operand({});
  }
  if (!plan.over_http && !plan.program.empty()) words.fail("--server belongs to --http");
  const std::string_view mode = plan.mode;
  if (mode != "all" && mode != "registry" && mode != "usage" && mode != "eviction" && mode != "blend") {
    words.fail("--mode must be all, registry, usage, eviction or blend");
  }
}

void read_exist_plan(word_reader& words, exist_plan& plan) {
  while (words.next()) {
    const bool known = words.text("--mode", plan.mode) || read_server(words, plan) ||
                       words.whole("--objects", plan.objects, 1, 100'000'000) || words.whole("--stored", plan.stored, 1, 10'000'000) ||
                       words.whole("--probes", plan.probes, 10, 1'000'000'000) || read_manner(words, plan);
    if (!known) words.operand({});
  }
  const std::string_view mode = plan.mode;
  if (mode != "all" && mode != "memory" && mode != "rate" && mode != "prefetch") {
    words.fail("--mode must be all, memory, rate or prefetch");
  }
}

void read_ingest(word_reader& words, ingest_plan& plan) {
  std::string mode = "all";
  std::string dialect = "vllm_map";
  while (words.next()) {
    const bool known =
        words.text("--mode", mode) || words.text("--dialect", dialect) || words.text("--trace", plan.trace) || read_page(words, plan) ||
        words.whole("--streams", plan.streams, 1, 1'024) || words.whole("--idle-streams", plan.idle_streams, 1, 4'096) ||
        words.whole("--idle-seconds", plan.idle_seconds, 1, 3'600) || words.whole("--cache-blocks", plan.cache_blocks, 1, 16'777'216) ||
        words.whole("--blocks", plan.blocks, 1, 100'000'000) || words.whole("--replay-batches", plan.replay_batches, 1, 1'000'000) ||
        words.whole("--batch-weight", plan.batch_weight, 0, 1'000'000) || words.whole("--query-rate", plan.query_rate, 1, 100'000) ||
        words.whole("--high-water", plan.receive_high_water, 1, 10'000'000) ||
        words.choice("--transport", plan.is_transport_free, "lane", "free") ||
        words.whole("--reserve", plan.reserve_mib, 0, most_reserve_mib) || words.share("--quiet", plan.most_stolen) ||
        read_manner(words, plan);
    if (!known) words.operand({});
  }
  const auto modes = find_ingest_mode(mode);
  if (!modes) return words.fail("--mode must be all, idle, saturation, sweep, latency, replay or queries");
  plan.modes = *modes;
  plan.dialect = find_ingest_dialect(dialect);
  if (plan.dialect != nullptr || dialect == "all") return;
  std::string names;
  for (const ingest_dialect& each : ingest_dialects()) names += ", " + std::string(each.name);
  words.fail("there is no dialect " + dialect + "; --dialect is one of all" + names);
}

bool read_shape(word_reader& words, maker_plan& plan) {
  constexpr std::uint64_t most = 4'096;
  switch (plan.kind) {
    case maker_kind::conversations:
      return words.whole("--system-blocks", plan.conversations.system_blocks, 1, most) ||
             words.whole("--turn-blocks", plan.conversations.turn_blocks, 1, most) ||
             words.whole("--answer-blocks", plan.conversations.answer_blocks, 0, most) ||
             words.whole("--chats", plan.conversations.chats, 1, 16'777'216) || words.share("--new", plan.conversations.new_share);
    case maker_kind::agents:
      return words.whole("--system-blocks", plan.agents.system_blocks, 1, most) ||
             words.whole("--turn-blocks", plan.agents.turn_blocks, 1, most) ||
             words.whole("--branch-blocks", plan.agents.branch_blocks, 1, most) ||
             words.whole("--fan-out", plan.agents.fan_out, 1, 1'000'000) || words.whole("--fans", plan.agents.fans, 1, 64) ||
             words.whole("--tasks", plan.agents.tasks, 1, 1'000'000);
    case maker_kind::trace:
      return words.whole("--block-size", plan.trace.block_size, 1, 512) || words.whole("--copies", plan.trace.copies, 1, 1'000);
  }
  return false;
}

void read_make(word_reader& words, const std::string& kind, maker_plan& plan) {
  if (kind == "conversations") {
    plan.kind = maker_kind::conversations;
  } else if (kind == "agents") {
    plan.kind = maker_kind::agents;
  } else if (kind == "trace") {
    plan.kind = maker_kind::trace;
    plan.requests = 0;
  } else {
    return words.fail(kind.empty() ? "name what to make: conversations, agents or trace"
                                   : "cannot make " + kind + "; it is one of conversations, agents, trace");
  }
  const bool is_trace = plan.kind == maker_kind::trace;
  while (words.next()) {
    const bool known = read_shape(words, plan) || words.whole("--workers", plan.workers, 1, bench_workload::max_workers) ||
                       words.whole("--cache-blocks", plan.cache_blocks, 1, 16'777'216) ||
                       words.whole("--requests", plan.requests, is_trace ? 0 : 1, 1'000'000'000) ||
                       words.whole("--seed", plan.seed, 0, ~std::uint64_t{0}) ||
                       words.choice("--route", plan.is_affine, "random", "affine");
    if (known) continue;
    if (is_trace) {
      words.operand({&plan.trace.path, &plan.out});
    } else {
      words.operand({&plan.out});
    }
  }
  if (is_trace && plan.trace.path.empty()) words.fail("name the trace to read (FILE.jsonl) and the file to write");
  if (plan.out.empty()) words.fail("name the file to write (OUT.kvwl)");
  if (512 % plan.trace.block_size != 0) words.fail("--block-size must divide the trace's 512 tokens: 1, 2, 4, ... 512");
  constexpr std::uint64_t most_blocks = 268'435'456;
  if (std::uint64_t{plan.workers} * plan.cache_blocks > most_blocks) {
    words.fail("--workers times --cache-blocks must not exceed " + std::to_string(most_blocks) + "; the caches would not fit into memory");
  }
}

struct command_name {
  std::string_view name;
  bench_command command;
};

constexpr std::array commands{
    command_name{"index", bench_command::index},   command_name{"index-table", bench_command::index_table},
    command_name{"codec", bench_command::codec},   command_name{"json", bench_command::json},
    command_name{"ingest", bench_command::ingest}, command_name{"http", bench_command::http},
    command_name{"e2e", bench_command::e2e},       command_name{"coordinator", bench_command::coordinator},
    command_name{"exist", bench_command::exist},   command_name{"soak", bench_command::soak},
    command_name{"report", bench_command::report}, command_name{"make", bench_command::make},
};

std::string all_commands() {
  std::string names;
  for (const command_name& each : commands) {
    const bool is_last = &each == &commands.back();
    names += (names.empty() ? "" : is_last ? " or " : ", ") + std::string(each.name);
  }
  return names;
}

}  // namespace

bench_options parse_bench_options(const std::vector<std::string>& words) {
  bench_options parsed;
  const auto word = [&](std::size_t i) { return i < words.size() ? words[i] : std::string(); };
  bool wants_help = false;
  for (const std::string& each : words) wants_help |= each == "--help" || each == "-h";
  for (const command_name& each : commands) {
    if (word(0) == each.name) parsed.command = each.command;
  }
  if (parsed.command == bench_command::help && !wants_help) {
    parsed.error =
        words.empty() ? "say what to do: " + all_commands() : "there is no command " + word(0) + "; it is one of " + all_commands();
    return parsed;
  }
  if (wants_help) {
    parsed.help = bench_help(parsed.command);
    parsed.command = bench_command::help;
    return parsed;
  }
  const bool is_make = parsed.command == bench_command::make;
  const auto behind = std::span<const std::string>(words).subspan(is_make && words.size() > 1 ? 2 : 1);
  word_reader reader(behind, parsed.error);
  switch (parsed.command) {
    case bench_command::index: read_index(reader, parsed.index); break;
    case bench_command::index_table: read_table(reader, parsed.table); break;
    case bench_command::ingest: read_ingest(reader, parsed.ingest); break;
    case bench_command::codec: read_micro(reader, parsed.micro, true); break;
    case bench_command::json: read_micro(reader, parsed.micro, false); break;
    case bench_command::http: read_http(reader, parsed.http); break;
    case bench_command::e2e: read_e2e(reader, parsed.e2e); break;
    case bench_command::soak: read_soak(reader, parsed.soak); break;
    case bench_command::report: read_report(reader, parsed.report); break;
    case bench_command::coordinator: read_coordinator(reader, parsed.coordinator); break;
    case bench_command::exist: read_exist_plan(reader, parsed.exist); break;
    case bench_command::make: read_make(reader, word(1), parsed.make); break;
    case bench_command::help: break;
  }
  return parsed;
}

}  // namespace kvc::perf

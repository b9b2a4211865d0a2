#include <cstdio>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>
#include <unistd.h>
#include <vector>

#include <boost/test/unit_test.hpp>

#include "perf/bench_maker.hpp"
#include "perf/bench_modes.hpp"
#include "perf/bench_workload.hpp"
#include "perf/bench_writer.hpp"

using namespace kvc;

namespace {

/// A name in the temporary folder; what is there goes away at the end of the scope.
class scratch_file {
 public:
  explicit scratch_file(const std::string& name)
      : path_((std::filesystem::temp_directory_path() / ("kvc_bench_" + std::to_string(::getpid()) + '_' + name)).string()) {}
  ~scratch_file() { std::remove(path_.c_str()); }
  scratch_file(const scratch_file&) = delete;
  scratch_file& operator=(const scratch_file&) = delete;

  [[nodiscard]] const std::string& path() const { return path_; }
  [[nodiscard]] std::string bytes() const {
    std::ifstream file(path_, std::ios::binary);
    return {std::istreambuf_iterator<char>(file), {}};
  }
  void write(const std::string& bytes) const { std::ofstream(path_, std::ios::binary) << bytes; }

 private:
  std::string path_;
};

std::string fault_of(const scratch_file& file) {
  const auto opened = perf::bench_workload::open(file.path());
  return opened ? std::string() : opened.error();
}

bool says(const std::string& text, const std::string& part) {
  if (text.find(part) != std::string::npos) return true;
  BOOST_TEST_MESSAGE("said: " << text);
  return false;
}

const std::vector<core::local_hash> locals{core::local_hash{11}, core::local_hash{12}, core::local_hash{13}};
const std::vector<core::engine_hash> names{core::engine_hash{21}, core::engine_hash{22}, core::engine_hash{23}};

/// A query (29 bytes), two stores (66 and 34) and a removal (17) behind the 20 bytes of the header.
std::string small_file(const scratch_file& file) {
  perf::bench_writer out(file.path(), 4);
  out.query(locals);
  out.store(3, nullptr, names, locals);
  out.store(2, names.data(), std::span(names).last(1), std::span(locals).last(1));
  out.remove(3, std::span(names).first(1));
  BOOST_REQUIRE(out.finish());
  return file.bytes();
}

perf::maker_plan plan_of(perf::maker_kind kind, const std::string& out) {
  perf::maker_plan plan;
  plan.kind = kind;
  plan.out = out;
  plan.workers = 5;
  plan.requests = 400;
  plan.cache_blocks = 120;
  return plan;
}

}  // namespace

BOOST_AUTO_TEST_SUITE(bench_workload)

BOOST_AUTO_TEST_CASE(reads_back_what_was_written) {
  const scratch_file file("round");
  small_file(file);
  auto opened = perf::bench_workload::open(file.path());
  BOOST_REQUIRE(opened.has_value());
  BOOST_TEST(opened->workers() == 4U);
  BOOST_TEST(opened->operations() == 4U);
  perf::bench_workload::cursor at(*opened);
  perf::bench_op op;
  BOOST_REQUIRE(at.next(op));
  BOOST_TEST((op.kind == perf::bench_kind::query && op.locals == locals));
  BOOST_REQUIRE(at.next(op));
  BOOST_TEST((op.kind == perf::bench_kind::store && op.worker == 3 && !op.has_parent && op.names == names && op.locals == locals));
  BOOST_REQUIRE(at.next(op));
  BOOST_TEST((op.worker == 2 && op.has_parent && op.parent == names[0] && op.names.size() == 1 && op.names[0] == names[2]));
  BOOST_REQUIRE(at.next(op));
  BOOST_TEST((op.kind == perf::bench_kind::remove && op.worker == 3 && op.names.size() == 1 && op.names[0] == names[0]));
  BOOST_TEST(!at.next(op));
}

BOOST_AUTO_TEST_CASE(says_what_is_wrong_with_a_file_and_where) {
  const scratch_file file("bad");
  BOOST_TEST(says(fault_of(file), "No such file"));
  file.write("");
  BOOST_TEST(says(fault_of(file), "0 bytes"));
  file.write("{\"timestamp\": 1, \"input_length\": 2}");
  BOOST_TEST(says(fault_of(file), "kv-conductor-bench make"));
  std::remove(file.path().c_str());

  const std::string good = small_file(file);
  const auto changed = [&](std::size_t offset, char value) {
    std::string bytes = good;
    bytes[offset] = value;
    file.write(bytes);
    return fault_of(file);
  };
  BOOST_TEST(says(changed(4, 2), "version 2"));
  BOOST_TEST(says(changed(8, 0), "0 workers"));
  BOOST_TEST(says(changed(8, 3), "operation 2 of 4, at byte 49: its worker is 3"));
  BOOST_TEST(says(changed(12, 0), "stopped before it could write the number of operations"));
  BOOST_TEST(says(changed(12, 3), "17 bytes follow the last operation, from byte 149"));
  BOOST_TEST(says(changed(12, 5), "operation 5 of 5, at byte 166: the file ends here"));
  BOOST_TEST(says(changed(49, 9), "at byte 49: its kind is 9"));
  // Counts that would overrun any file.
  BOOST_TEST(says(changed(24, '\xFF'), "at byte 20: the file ends here"));
}

BOOST_AUTO_TEST_CASE(a_file_cut_anywhere_is_refused_with_the_offset) {
  const scratch_file file("cut");
  const std::string good = small_file(file);
  BOOST_REQUIRE(good.size() == 166U);
  for (std::size_t size = 20; size < good.size(); ++size) {
    file.write(good.substr(0, size));
    const std::size_t begin = size < 49 ? 20 : size < 115 ? 49 : size < 149 ? 115 : 149;
    BOOST_TEST(says(fault_of(file), "at byte " + std::to_string(begin) + ": the file ends here"));
  }
}

BOOST_AUTO_TEST_CASE(an_unfinished_file_leaves_nothing_behind) {
  const scratch_file file("part");
  { perf::bench_writer out(file.path(), 1); }
  BOOST_TEST(!std::filesystem::exists(file.path()));
  BOOST_TEST(!std::filesystem::exists(file.path() + ".part"));
  perf::bench_writer nowhere("/nonexistent/folder/x.kvwl", 1);
  nowhere.query(locals);
  BOOST_TEST(!nowhere.finish());
  BOOST_TEST(says(nowhere.error(), "/nonexistent/folder/x.kvwl"));
  // A slip of the hand must not turn a folder, a link or a device into a workload.
  std::filesystem::create_symlink("elsewhere", file.path());
  perf::bench_writer link(file.path(), 1);
  link.query(locals);
  BOOST_TEST(!link.finish());
  BOOST_TEST(says(link.error(), "not a plain file"));
  BOOST_TEST(std::filesystem::is_symlink(file.path()));
}

BOOST_AUTO_TEST_SUITE_END()

BOOST_AUTO_TEST_SUITE(bench_maker)

BOOST_AUTO_TEST_CASE(the_same_plan_makes_the_same_file_and_another_seed_another) {
  const scratch_file first("first");
  const scratch_file second("second");
  for (const auto kind : {perf::maker_kind::conversations, perf::maker_kind::agents}) {
    auto plan = plan_of(kind, first.path());
    BOOST_REQUIRE(perf::make_workload(plan).has_value());
    plan.out = second.path();
    BOOST_REQUIRE(perf::make_workload(plan).has_value());
    BOOST_TEST((first.bytes() == second.bytes()));
    plan.seed = 2;
    BOOST_REQUIRE(perf::make_workload(plan).has_value());
    BOOST_TEST((first.bytes() != second.bytes()));
  }
}

BOOST_AUTO_TEST_CASE(made_files_replay_with_the_hits_their_engines_had) {
  // Affine routing and no copies of a conversation elsewhere: whatever lies behind the system prompt is with one worker. Both designs must
  // give the same answers, and nobody finds less than the engine that served the request.
  const scratch_file file("made");
  for (const auto kind : {perf::maker_kind::conversations, perf::maker_kind::agents}) {
    auto plan = plan_of(kind, file.path());
    for (const bool is_affine : {false, true}) {
      plan.is_affine = is_affine;
      const auto made = perf::make_workload(plan);
      BOOST_REQUIRE(made.has_value());
      BOOST_TEST(made->counts.queries == 400U);
      BOOST_TEST(made->hit_blocks > 0U);
      BOOST_TEST(made->counts.removed_blocks > 0U);
      auto opened = perf::bench_workload::open(file.path());
      BOOST_REQUIRE(opened.has_value());
      perf::bench_report ours;
      perf::run_sequential(*opened, {.design = perf::bench_design::runs}, ours);
      perf::bench_report reference;
      perf::run_sequential(*opened, {.design = perf::bench_design::positional}, reference);
      BOOST_TEST(*ours.find("queries") == 400);
      BOOST_TEST(*ours.find("depth_sum") >= static_cast<double>(made->hit_blocks));
      for (const char* figure : {"pairs", "depth_sum", "entries", "stored_blocks", "removed_blocks"}) {
        BOOST_TEST(*ours.find(figure) == *reference.find(figure), figure);
      }
      BOOST_TEST(*ours.find("entries") == static_cast<double>(made->counts.stored_blocks - made->counts.removed_blocks));
      BOOST_TEST(*reference.find("dropped_blocks") == 0);
    }
  }
}

BOOST_AUTO_TEST_CASE(a_trace_becomes_blocks_of_the_size_asked_for) {
  const scratch_file trace("trace.jsonl");
  const scratch_file file("traced");
  trace.write(
      "{\"timestamp\": 0, \"input_length\": 1100, \"output_length\": 200, \"hash_ids\": [0, 1, 2]}\n"
      "{\"timestamp\": 1, \"input_length\": 1100, \"output_length\": 1, \"hash_ids\": [0, 1, 3]}\n"
      "{\"timestamp\": 2, \"input_length\": 10, \"output_length\": 1, \"hash_ids\": [0]}\n");
  auto plan = plan_of(perf::maker_kind::trace, file.path());
  plan.workers = 1;
  plan.requests = 0;
  plan.trace = {.path = trace.path(), .block_size = 64, .copies = 2};
  const auto made = perf::make_workload(plan);
  BOOST_REQUIRE(made.has_value());
  // Per copy: prompts of 17 whole blocks, the first answer completes 3 more; the second prompt shares two trace blocks of 8 with the first;
  // the third is shorter than a block.
  BOOST_TEST(made->counts.queries == 4U);
  BOOST_TEST(made->counts.queried_blocks == 4 * 17U);
  BOOST_TEST(made->hit_blocks == 2 * 16U);
  BOOST_TEST(made->counts.stored_blocks == 2 * (17 + 3 + 1U));
  BOOST_TEST(perf::bench_workload::open(file.path()).has_value());
}

BOOST_AUTO_TEST_CASE(a_bad_trace_is_told_and_leaves_no_file) {
  const scratch_file trace("trace.jsonl");
  const scratch_file file("traced");
  trace.write("{\"timestamp\": 0, \"input_length\": 64, \"output_length\": 1, \"hash_ids\": [0]}\nnonsense\n");
  auto plan = plan_of(perf::maker_kind::trace, file.path());
  plan.requests = 0;
  plan.trace.path = trace.path();
  const auto made = perf::make_workload(plan);
  BOOST_REQUIRE(!made.has_value());
  BOOST_TEST(says(made.error(), "line 2"));
  BOOST_TEST(!std::filesystem::exists(file.path()));
  plan.trace.path = "/nonexistent.jsonl";
  BOOST_TEST(says(perf::make_workload(plan).error(), "/nonexistent.jsonl"));
}

BOOST_AUTO_TEST_SUITE_END()

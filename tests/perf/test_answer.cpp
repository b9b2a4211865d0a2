#include <string>
#include <vector>

#include <boost/test/unit_test.hpp>

#include "net/msgpack_tape.hpp"
#include "perf/sim_answer.hpp"
#include "perf/sim_conductor.hpp"
#include "perf/sim_router.hpp"
#include "perf/sim_tally.hpp"

using namespace kvc;

namespace {

// Two engines of two ranks, and a stranger who must not disturb.
constexpr const char* answer_text = R"({"other":{"sim-0":{"longest_matched":9}},)"
                                    R"("default":{"sim-1":{"longest_matched":256,"GPU":256,"DP":{"0":128,"1":256},"CPU":0,"DISK":0},)"
                                    R"("vllm":{"longest_matched":64,"GPU":64,"DP":{"0":64},"CPU":0,"DISK":0},)"
                                    R"("sim-0":{"longest_matched":64,"GPU":64,"DP":{"0":64,"1":0},"CPU":0,"DISK":0}}})";

std::string answer_msgpack() {
  std::string body;
  net::msgpack_writer to(body);
  const auto row = [&](const char* name, std::uint64_t first, std::uint64_t second) {
    to.string(name);
    to.map(5);
    to.string("longest_matched");
    to.unsigned_integer(std::max(first, second));
    to.string("GPU");
    to.unsigned_integer(std::max(first, second));
    to.string("DP");
    to.map(2);
    to.string("0");
    to.unsigned_integer(first);
    to.string("1");
    to.unsigned_integer(second);
    to.string("CPU");
    to.unsigned_integer(0);
    to.string("DISK");
    to.unsigned_integer(0);
  };
  to.map(1);
  to.string("default");
  to.map(3);
  row("sim-1", 128, 256);
  row("vllm", 64, 0);
  row("sim-0", 64, 0);
  return body;
}

std::vector<sim::answer_row> rows_of(std::vector<std::uint64_t> tokens_by_rank, std::uint32_t ranks) {
  std::vector<sim::answer_row> rows(tokens_by_rank.size() / ranks);
  for (std::size_t i = 0; i < tokens_by_rank.size(); ++i) {
    auto& row = rows[i / ranks];
    row.present = true;
    row.ranks.push_back(tokens_by_rank[i]);
    row.ranks_told++;
    row.longest = row.gpu = std::max(row.longest, tokens_by_rank[i]);
  }
  return rows;
}

sim::turn prompt_of(std::size_t tokens, std::uint64_t at_ms = 0) {
  sim::turn request;
  request.tokens.resize(tokens);
  request.prompt_tokens = tokens;
  request.timestamp_ms = at_ms;
  return request;
}

}  // namespace

BOOST_AUTO_TEST_SUITE(sim_answer)

BOOST_AUTO_TEST_CASE(reads_both_forms_alike) {
  // The comparison must not depend on how the answer was written down.
  sim::answer_reader subject(2, 2, "default");
  for (const auto form : {sim::query_form::json, sim::query_form::msgpack}) {
    BOOST_REQUIRE_EQUAL(subject.read(form == sim::query_form::json ? answer_text : answer_msgpack(), form), "");

    const auto& rows = subject.rows();
    BOOST_TEST(rows[0].present);
    BOOST_TEST(rows[0].longest == 64U);
    BOOST_TEST(rows[0].ranks == (std::vector<std::uint64_t>{64, 0}), boost::test_tools::per_element());
    BOOST_TEST(rows[1].longest == 256U);
    BOOST_TEST(rows[1].gpu == 256U);
    BOOST_TEST(rows[1].elsewhere == 0U);
    BOOST_TEST(rows[1].ranks == (std::vector<std::uint64_t>{128, 256}), boost::test_tools::per_element());
    BOOST_TEST(rows[1].ranks_told == 2U);
  }
}

BOOST_AUTO_TEST_CASE(forgets_the_answer_before) {
  // Rows are reused: what an earlier answer said must not look like part of a later one.
  sim::answer_reader subject(2, 2, "default");
  BOOST_REQUIRE_EQUAL(subject.read(answer_text, sim::query_form::json), "");

  BOOST_REQUIRE_EQUAL(subject.read("{}", sim::query_form::json), "");

  BOOST_TEST(!subject.rows()[0].present);
  BOOST_TEST(subject.rows()[1].longest == 0U);
  BOOST_TEST(subject.rows()[1].ranks_told == 0U);
}

BOOST_AUTO_TEST_CASE(says_when_a_body_is_no_answer) {
  // A proxy's error page must not count as "nothing cached".
  sim::answer_reader subject(1, 1, "default");
  BOOST_TEST(subject.read("<html>", sim::query_form::json).starts_with("the answer is not JSON"));
  BOOST_TEST(subject.read("[]", sim::query_form::json) == "the answer is not an object");
  BOOST_TEST(subject.read("\xc1", sim::query_form::msgpack).starts_with("the answer is not MessagePack"));
  BOOST_TEST(subject.read("\x01", sim::query_form::msgpack) == "the answer is not a map");
}

BOOST_AUTO_TEST_CASE(reads_how_far_streams_are) {
  // "Nothing applied yet" and "number 0 applied" must not be confused: strict runs wait by this number.
  std::vector<sim::stream_row> rows;
  std::string wrong;
  BOOST_REQUIRE(sim::read_services(
      R"({"count":3,"services":[{"tenant_id":"default","instance_id":"sim-0","dp_rank":1,"last_seqno":null,"state":"joining","missing":0},
          {"tenant_id":"default","instance_id":"sim-0","dp_rank":0,"last_seqno":0,"missing":4},{"tenant_id":"other","last_seqno":7}]})",
      "default", rows, wrong));

  BOOST_REQUIRE_EQUAL(rows.size(), 2U);
  BOOST_TEST(rows[0].applied == 0U);
  BOOST_TEST(rows[0].rank == 1U);
  BOOST_TEST(rows[0].state == "joining");
  BOOST_TEST(rows[1].applied == 1U);
  BOOST_TEST(rows[1].missing == 4U);
  BOOST_TEST(!sim::read_services("{}", "default", rows, wrong));
  BOOST_TEST(wrong == "/services did not answer a list of services");
}

BOOST_AUTO_TEST_CASE(adds_up_the_blocks_of_all_partitions) {
  // The display shows one number for the whole conductor.
  BOOST_TEST(sim::read_blocks_held(R"({"partitions":[{"blocks":3},{"blocks":4}]})").value() == 7U);
  BOOST_TEST(!sim::read_blocks_held("nonsense").has_value());
}

BOOST_AUTO_TEST_CASE(queries_carry_the_same_tokens_in_both_forms) {
  // Little-endian words and a list of numbers, as the interface says.
  const std::vector<std::uint32_t> tokens{1, 256, 127'999};
  sim::options chosen;
  chosen.model = "a \"model\"";
  BOOST_TEST(sim::query_body(chosen, tokens) ==
             R"({"model":"a \"model\"","tenant_id":"default","block_size":64,"token_ids":[1,256,127999]})");

  chosen.wire = sim::query_form::msgpack;
  const std::string body = sim::query_body(chosen, tokens);
  const std::string bytes("\x01\0\0\0\0\x01\0\0\xff\xf3\x01\0", 12);
  BOOST_TEST(body.ends_with(bytes));
}

BOOST_AUTO_TEST_SUITE_END()

BOOST_AUTO_TEST_SUITE(sim_tally)

BOOST_AUTO_TEST_CASE(equal_numbers_are_an_exact_answer) {
  // Two engines of two ranks, 64 tokens per block.
  sim::tally totals;

  const auto found = sim::compare(rows_of({64, 0, 128, 256}, 2), {1, 0, 2, 4}, 64, 7, totals);

  BOOST_TEST(found == 0U);
  BOOST_TEST(totals.answers == 2U);
  BOOST_TEST(totals.exact_answers == 2U);
}

BOOST_AUTO_TEST_CASE(every_wrong_number_is_found) {
  // A strict run is worth what this function notices.
  const auto right = rows_of({64, 0, 128, 256}, 2);
  const std::vector<std::uint32_t> actual{1, 0, 2, 4};
  const auto count = [&](auto&& spoil) {
    auto rows = right;
    spoil(rows[1]);
    sim::tally totals;
    sim::compare(rows, actual, 64, 7, totals);
    BOOST_TEST(totals.exact_answers == 1U);
    return totals.differences;
  };

  BOOST_TEST(count([](auto& row) { row.longest = 192; }) == 1U);
  BOOST_TEST(count([](auto& row) { row.gpu = 0; }) == 1U);
  BOOST_TEST(count([](auto& row) { row.ranks[0] = 192; }) == 1U);
  BOOST_TEST(count([](auto& row) { row.elsewhere = 64; }) == 1U);
  BOOST_TEST(count([](auto& row) { row.present = false; }) == 1U);
  BOOST_TEST(count([](auto& row) { row.ranks_told = 1; }) == 1U);
}

BOOST_AUTO_TEST_CASE(a_difference_tells_where_it_is) {
  // This line is what somebody debugging starts from.
  sim::tally totals;

  sim::compare(rows_of({0, 64}, 1), {0, 3}, 64, 12, totals);

  BOOST_REQUIRE(!totals.first_differences.empty());
  BOOST_TEST(sim::to_string(totals.first_differences[0]) == "request 12, sim-1 DP[0]: predicted 64, actual 192");
  BOOST_TEST(totals.stale_blocks.largest() == 2U);
}

BOOST_AUTO_TEST_SUITE_END()

BOOST_AUTO_TEST_SUITE(sim_router)

BOOST_AUTO_TEST_CASE(picks_the_longest_match_when_nobody_is_busy) {
  // With no work waiting, least work and longest match are the same.
  sim::router subject(sim::routing_kind::conductor, 3, 2, 1, 1);
  const auto rows = rows_of({0, 64, 128, 0, 0, 64}, 2);

  BOOST_TEST(subject.choose(prompt_of(1000), &rows) == 2U);
}

BOOST_AUTO_TEST_CASE(breaks_ties_by_load_and_then_by_number) {
  // Without this every new conversation would start at the first engine.
  sim::router subject(sim::routing_kind::conductor, 3, 1, 0, 1);
  const auto rows = rows_of({0, 0, 0}, 1);

  BOOST_TEST(subject.choose(prompt_of(1000), &rows) == 0U);
  BOOST_TEST(subject.choose(prompt_of(10), &rows) == 1U);
  BOOST_TEST(subject.choose(prompt_of(10), &rows) == 2U);
  BOOST_TEST(subject.choose(prompt_of(10), &rows) == 1U);
}

BOOST_AUTO_TEST_CASE(leaves_a_busy_engine_alone_when_its_match_is_short) {
  // A shared first block must not draw every request to one engine.
  sim::router subject(sim::routing_kind::conductor, 2, 1, 1, 1);
  const auto rows = rows_of({512, 0}, 1);

  BOOST_TEST(subject.choose(prompt_of(10'000), &rows) == 0U);
  BOOST_TEST(subject.choose(prompt_of(10'000), &rows) == 1U);
}

BOOST_AUTO_TEST_CASE(work_is_done_as_the_trace_goes_on) {
  // Load that never shrank would turn routing into round robin.
  sim::router subject(sim::routing_kind::conductor, 2, 1, 1, 1);
  const auto rows = rows_of({512, 0}, 1);

  BOOST_TEST(subject.choose(prompt_of(10'000, 0), &rows) == 0U);
  BOOST_TEST(subject.waiting(0) == 9488.0);
  BOOST_TEST(subject.choose(prompt_of(10'000, 60'000), &rows) == 0U);
}

BOOST_AUTO_TEST_CASE(round_robin_and_random_ignore_the_answer) {
  // They are what asking is compared with.
  sim::router turns(sim::routing_kind::round_robin, 3, 1, 1, 1);
  const auto rows = rows_of({0, 0, 999}, 1);
  for (std::size_t i = 0; i < 6; ++i) BOOST_TEST(turns.choose(prompt_of(100), &rows) == i % 3);

  sim::router random(sim::routing_kind::random, 3, 1, 1, 1);
  std::vector<int> chosen(3);
  for (int i = 0; i < 3000; ++i) ++chosen[random.choose(prompt_of(100), nullptr)];
  for (const int each : chosen) BOOST_TEST(each > 850);
}

BOOST_AUTO_TEST_SUITE_END()

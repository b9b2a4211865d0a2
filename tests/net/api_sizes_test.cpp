// How large the index is, over HTTP, against workers whose blocks are stored as a lane would.
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include <boost/test/unit_test.hpp>

#include "core/lane_blocks.hpp"
#include "tests/support/net/api_fixture.hpp"

BOOST_AUTO_TEST_SUITE(api_sizes)

namespace {

using namespace kvc;
using test::raw_answer;

bool has(const raw_answer& answer, std::string_view text) {
  return answer.body.find(text) != std::string::npos;
}

/// Two ranks of one engine.
struct sizes_fixture : test::api_fixture {
  std::shared_ptr<core::partition> enroll() {
    join("a", 0);
    join("a", 1);
    return catalog.view().get()->partitions.begin()->second->partition;
  }

  std::shared_ptr<core::partition> home = enroll();
  core::lane_blocks first{{.worker = find_member("a", 0).id}};
  core::lane_blocks second{{.worker = find_member("a", 1).id}};

  void store(core::lane_blocks& worker, std::size_t blocks, core::medium_id medium) const {
    std::vector<core::engine_hash> names;
    std::vector<core::local_hash> locals;
    for (std::uint64_t i = 0; i < blocks; ++i) {
      names.emplace_back(100 + i);
      locals.emplace_back(200 + i);
    }
    core::store_command command;
    command.home = home;
    command.medium = medium;
    command.link = core::store_link::root;
    command.names = names;
    command.locals = locals;
    core::apply_tally tally;
    worker.store(command, tally);
  }
};

}  // namespace

BOOST_FIXTURE_TEST_CASE(global_view_tells_how_large_a_partition_is, sizes_fixture) {
  // What a block costs depends on how many hold it and on how blocks stand together.
  store(first, 5, core::medium_id::gpu);
  store(first, 3, core::medium_id::cpu);
  store(second, 7, core::medium_id::gpu);
  BOOST_TEST(has(get("/global_view"), R"("blocks":7,"runs":1,"entries":15,"slots":3,"refused_slots":0,"bytes":)"));

  const std::vector<core::engine_hash> names{core::engine_hash{100}, core::engine_hash{102}};
  core::apply_tally tally;
  first.remove(names, core::medium_id::cpu, tally);
  BOOST_TEST(has(get("/global_view"), R"("entries":13,"slots":3,)"));
  BOOST_TEST(first.clear_some(core::all_media, {}, 1'000, tally));
  BOOST_TEST(has(get("/global_view"), R"("entries":7,"slots":1,)"));
}

BOOST_FIXTURE_TEST_CASE(global_view_tells_what_memory_is_used_for, sizes_fixture) {
  // One arena serves all partitions.
  store(first, 5, core::medium_id::gpu);
  const raw_answer answer = get("/global_view");
  BOOST_TEST(has(answer, R"("arena":{"bytes":{"runs":)"));
  for (const std::string member :
       {"columns", "cells", "holes", "directory", "names", "holdings", "mapped_bytes", "fragmentation", "reclaimed_bytes"}) {
    BOOST_TEST(has(answer, "\"" + member + "\":"), member);
  }
  BOOST_TEST(!has(answer, R"("bytes":{"runs":0,)"));
  BOOST_TEST(!has(answer, R"("mapped_bytes":0,)"));
}

BOOST_FIXTURE_TEST_CASE(metrics_tell_the_same, sizes_fixture) {
  // For graphs and alarms.
  store(first, 5, core::medium_id::gpu);
  store(second, 2, core::medium_id::gpu);
  const raw_answer answer = get("/metrics");

  BOOST_TEST(has(answer, "\nkvc_index_blocks 5\n"));
  BOOST_TEST(has(answer, "\nkvc_index_runs 1\n"));
  BOOST_TEST(has(answer, "\nkvc_index_entries 7\n"));
  BOOST_TEST(has(answer, "\nkvc_index_slots 2\n"));
  BOOST_TEST(has(answer, "\nkvc_index_slots_refused_total 0\n"));
  for (const std::string kind : {"runs", "columns", "cells", "holes", "directory", "names", "holdings"}) {
    BOOST_TEST(has(answer, "\nkvc_arena_bytes{kind=\"" + kind + "\"} "), kind);
  }
  for (const std::string name : {"mapped_bytes", "fragmentation", "reclaimed_bytes_total"})
    BOOST_TEST(has(answer, "\nkvc_arena_" + name + " "), name);
}

BOOST_AUTO_TEST_SUITE_END()

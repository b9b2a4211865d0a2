#include "core/exist_decision.hpp"

#include <array>
#include <initializer_list>
#include <string_view>
#include <utility>

#include <boost/test/unit_test.hpp>

namespace kvc::test {
BOOST_AUTO_TEST_SUITE(exist_decisions)

namespace {

using core::exist_decision;
using core::prefetch_need;
using core::replica_set;
using enum core::replica_kind;
using enum core::replica_state;

replica_set set_of(std::initializer_list<std::pair<core::replica_kind, core::replica_state>> all) {
  replica_set made;
  for (const auto& [kind, state] : all) made.add(kind, state);
  return made;
}

}  // namespace

BOOST_AUTO_TEST_CASE(every_row_of_the_table) {
  struct row {
    std::string_view what;
    replica_set replicas;
    exist_decision expected;
  };
  const std::array rows{
      row{"nothing", set_of({}), {false, prefetch_need::none}},
      row{"memory being written, nothing complete", set_of({{memory, in_flight}}), {false, prefetch_need::none}},
      row{"disk being written", set_of({{local_disk, in_flight}}), {false, prefetch_need::none}},
      row{"in memory", set_of({{memory, complete}}), {true, prefetch_need::none}},
      row{"in memory and on disk", set_of({{memory, complete}, {local_disk, complete}}), {true, prefetch_need::none}},
      row{"in memory, a second copy being written",
          set_of({{memory, complete}, {memory, in_flight}, {local_disk, complete}}),
          {true, prefetch_need::none}},
      row{"on its way to memory", set_of({{memory, in_flight}, {local_disk, complete}}), {true, prefetch_need::join}},
      row{"on its way to memory from an old disk", set_of({{memory, in_flight}, {disk, complete}}), {true, prefetch_need::join}},
      row{"on local disk only", set_of({{local_disk, complete}}), {true, prefetch_need::start}},
      row{"on local disk, another being written", set_of({{local_disk, complete}, {local_disk, in_flight}}), {true, prefetch_need::start}},
      row{"on both kinds of disk", set_of({{local_disk, complete}, {disk, complete}}), {true, prefetch_need::start}},
      row{"on an old disk only", set_of({{disk, complete}}), {true, prefetch_need::none}},
      row{"on an old disk, local one being written", set_of({{disk, complete}, {local_disk, in_flight}}), {true, prefetch_need::none}},
  };
  for (const row& each : rows) BOOST_TEST((core::decide_exist(each.replicas, true) == each.expected), each.what);
}

BOOST_AUTO_TEST_CASE(a_plain_probe_never_moves_anything) {
  BOOST_TEST((core::decide_exist(set_of({{local_disk, complete}}), false) == exist_decision{true, prefetch_need::none}));
  BOOST_TEST((core::decide_exist(set_of({{memory, in_flight}, {disk, complete}}), false) == exist_decision{true, prefetch_need::none}));
  BOOST_TEST((core::decide_exist(set_of({{memory, in_flight}}), false) == exist_decision{false, prefetch_need::none}));
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace kvc::test

#include "net/spare_lists.hpp"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <vector>

#include <boost/test/unit_test.hpp>

BOOST_AUTO_TEST_SUITE(spare_lists_of_events)

namespace {

using namespace kvc;
using namespace kvc::net;

core::stored_event chain(std::size_t blocks, std::size_t tokens) {
  core::stored_event event;
  event.hashes.assign(blocks, core::engine_hash{1});
  event.tokens.assign(tokens, 2);
  return event;
}

}  // namespace

BOOST_AUTO_TEST_CASE(the_memory_of_a_list_comes_back_once) {
  spare_lists spare;
  std::vector<core::event> done;
  done.emplace_back(chain(30, 480));
  done.emplace_back(core::removed_event{{}, {core::engine_hash{7}}, false});
  done.emplace_back(core::cleared_event{});
  const auto* const tokens = std::get<core::stored_event>(done[0]).tokens.data();
  spare.take_back(done);
  BOOST_TEST(done.empty());
  std::vector<std::uint32_t> first;
  spare.lend(first, 480);
  BOOST_TEST((first.data() == tokens));
  BOOST_TEST(first.capacity() >= 480U);
  std::vector<std::uint32_t> second;
  spare.lend(second, 1);
  BOOST_TEST(second.capacity() == 0U);
  std::vector<core::engine_hash> names[3];
  for (auto& each : names) spare.lend(each, 1);
  BOOST_TEST(names[0].capacity() + names[1].capacity() == 31U);
  BOOST_TEST(names[2].capacity() == 0U);
}

BOOST_AUTO_TEST_CASE(neither_many_lists_are_kept_nor_long_ones) {
  // A batch may have 262,144 events, and an event a million tokens.
  spare_lists spare;
  std::vector<core::event> done;
  for (std::size_t i = 0; i < 1'000; ++i) done.emplace_back(chain(1, 16));
  spare.take_back(done);
  std::vector<std::vector<std::uint32_t>> lent(1'000);
  for (auto& each : lent) spare.lend(each, 16);
  BOOST_TEST(std::ranges::count_if(lent, [](const auto& each) { return each.capacity() != 0; }) == std::ptrdiff_t{spare_lists::most_lists});
  done.emplace_back(chain(1, spare_lists::most_bytes / sizeof(std::uint32_t) + 1));
  spare.take_back(done);
  std::vector<std::uint32_t> none;
  spare.lend(none, 1);
  BOOST_TEST(none.capacity() == 0U);
}

BOOST_AUTO_TEST_CASE(who_wants_much_gets_a_long_list_and_who_wants_little_a_short_one) {
  spare_lists spare;
  std::vector<core::event> done;
  for (const std::size_t tokens : {8'192U, 512U, 16U, 32U}) done.emplace_back(chain(1, tokens));
  spare.take_back(done);
  const auto lent = [&spare](std::size_t wanted) {
    std::vector<std::uint32_t> list;
    spare.lend(list, wanted);
    return list.capacity();
  };
  BOOST_TEST(lent(8'000) == 8'192U);
  BOOST_TEST(lent(8'000) == 0U);  // there is none left: a new one is no worse than one that is too short
  BOOST_TEST(lent(1) == 32U);     // the one used last
  BOOST_TEST(lent(1) == 16U);
  BOOST_TEST(lent(1) == 0U);
  BOOST_TEST(lent(100) == 512U);
}

BOOST_AUTO_TEST_CASE(long_lists_take_the_place_of_shorter_ones) {
  // Or the first few that came would be all that is ever kept.
  spare_lists spare;
  std::vector<core::event> done;
  for (std::size_t i = 0; i < spare_lists::most_lists; ++i) done.emplace_back(chain(1, 100));
  done.emplace_back(chain(1, 8'192));
  done.emplace_back(chain(1, 100));
  spare.take_back(done);
  std::vector<std::uint32_t> list;
  spare.lend(list, 8'192);
  BOOST_TEST(list.capacity() == 8'192U);
}

BOOST_AUTO_TEST_SUITE_END()

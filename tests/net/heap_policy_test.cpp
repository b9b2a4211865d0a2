#include "net/heap_policy.hpp"

#include <array>
#include <cstddef>
#include <malloc.h>
#include <memory>
#include <vector>

#include <boost/test/unit_test.hpp>

BOOST_AUTO_TEST_SUITE(heap_policy)

using namespace kvc;

// What is kept aside has to be joined some day, all of it at once, by whichever lane frees a large buffer next. The sanitizers' allocators
// keep nothing aside by this count: it tells something in builds without them.
BOOST_AUTO_TEST_CASE(small_pieces_are_not_kept_aside) {
  using piece = std::array<std::byte, 64>;
  net::set_heap_policy();
  const struct mallinfo2 before = ::mallinfo2();  // other lanes' arenas keep what they had aside until they are used again
  std::vector<std::unique_ptr<piece>> pieces(10'000);
  for (std::unique_ptr<piece>& each : pieces) each = std::make_unique<piece>();
  for (std::unique_ptr<piece>& each : pieces) each.reset();
  const struct mallinfo2 now = ::mallinfo2();
  BOOST_TEST(now.smblks <= before.smblks);
  BOOST_TEST(now.fsmblks <= before.fsmblks);
}

BOOST_AUTO_TEST_SUITE_END()

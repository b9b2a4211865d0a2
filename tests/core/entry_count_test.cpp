#include "core/entry_count.hpp"

#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

#include <boost/test/unit_test.hpp>

namespace kvc::test {
BOOST_AUTO_TEST_SUITE(entry_count)

BOOST_AUTO_TEST_CASE(parts_count_for_as_long_as_they_are_kept) {
  // A fleet joins, some leave, others come: whenever the parts that are gone are looked for, no other one goes with them.
  core::entry_count count;
  std::vector<std::shared_ptr<core::entry_count::part>> kept;
  std::uint64_t expected = 0;
  for (std::uint64_t i = 1; i <= 1'000; ++i) {
    kept.push_back(count.enroll());
    kept.back()->entries.add(i);
    expected += i;
    if (i % 3 != 0) {
      const std::size_t leaver = i * 7 % kept.size();
      expected -= kept[leaver]->entries.get();
      kept.erase(kept.begin() + static_cast<std::ptrdiff_t>(leaver));
    }
    BOOST_TEST_REQUIRE(count.sum() == expected, "after " << i);
  }
  kept.clear();
  BOOST_TEST(count.sum() == 0U);
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace kvc::test

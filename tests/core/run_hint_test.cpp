#include "core/run_hint.hpp"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <new>
#include <sys/mman.h>
#include <vector>

#include <boost/test/unit_test.hpp>

#include "core/quiescence.hpp"
#include "core/run_store.hpp"
#include "core/run_walk.hpp"

namespace kvc::test {
BOOST_AUTO_TEST_SUITE(run_hint)

namespace {

using core::heir_hint;
using core::local_hash;
using core::run_stretch;

heir_hint heir_of(const core::run& parent) {
  return heir_hint(parent.heir.load());
}

std::vector<local_hash> blocks_from(std::uint64_t first, std::size_t count) {
  std::vector<local_hash> made;
  for (std::size_t i = 0; i < count; ++i) made.emplace_back(first + i);
  return made;
}

}  // namespace

BOOST_AUTO_TEST_CASE(a_run_leads_to_the_child_that_came_last_and_to_the_column_it_has_now) {
  const core::quiescent_scope working;
  core::run_store store(1337);
  const run_stretch trunk = store.follow({}, blocks_from(1, 8));
  BOOST_TEST(heir_of(*trunk.in).is_nothing());
  const run_stretch first = store.follow({trunk.in, 3}, blocks_from(100, 20));
  BOOST_TEST(heir_of(*trunk.in).is_of(*trunk.in, *first.in));
  const run_stretch second = store.follow({trunk.in, 5}, blocks_from(200, 20));
  const run_stretch third = store.follow({trunk.in, 3}, blocks_from(300, 20));
  BOOST_TEST(heir_of(*trunk.in).is_of(*trunk.in, *third.in));
  BOOST_TEST(!heir_of(*trunk.in).is_of(*trunk.in, *second.in));

  // The column of the last one is replaced by a longer one; that of another does not matter.
  const core::run_column* const before = third.in->column.load();
  const run_stretch grown = store.follow({third.in, 19}, blocks_from(400, 500));
  const run_stretch other = store.follow({second.in, 19}, blocks_from(500, 500));
  BOOST_TEST((third.in->column.load() != before));
  BOOST_TEST(heir_of(*trunk.in).bits() == heir_hint::of(*trunk.in, *third.in).bits());

  // Who is gone is not led to any more.
  store.leave(grown.in);
  store.leave(third.in);
  BOOST_TEST(heir_of(*trunk.in).is_nothing());
  for (const run_stretch& each : {trunk, first, second, other}) store.leave(each.in);
}

BOOST_AUTO_TEST_CASE(a_run_with_many_children_is_not_written_for_each) {
  const core::quiescent_scope working;
  core::run_store store(1337);
  const run_stretch trunk = store.follow({}, blocks_from(1, 8));
  std::vector<run_stretch> children;
  for (std::uint32_t i = 0; i < 10; ++i) {
    children.push_back(store.follow({trunk.in, 2}, blocks_from(1'000 * (i + 1), 2)));
    const std::uint32_t told = std::min(i, heir_hint::most_children - 1);
    BOOST_TEST(heir_of(*trunk.in).is_of(*trunk.in, *children[told].in));
  }
  for (const run_stretch& each : children) store.leave(each.in);
  BOOST_TEST(heir_of(*trunk.in).is_nothing());
  store.leave(trunk.in);
}

BOOST_AUTO_TEST_CASE(a_child_that_is_too_far_is_not_told_of) {
  // On both sides of its parent, as far as a hint can say (128 GiB) and a line farther, in memory of which hardly any is touched.
  constexpr std::size_t far = std::size_t{1} << 37;
  constexpr std::size_t bytes = 2 * far + 2 * 4'096;
  void* const start = ::mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  BOOST_REQUIRE(start != MAP_FAILED);
  const auto run_at = [&](std::size_t offset) { return new (static_cast<std::byte*>(start) + offset) core::run(); };
  constexpr std::size_t middle = far + 4'096;
  const core::run* const parent = run_at(middle);
  const core::run* const first = run_at(middle - far);
  const core::run* const last = run_at(middle + far - 64);
  BOOST_TEST(heir_hint::of(*parent, *first).is_of(*parent, *first));
  BOOST_TEST(heir_hint::of(*parent, *last).is_of(*parent, *last));
  BOOST_TEST(!heir_hint::of(*parent, *last).is_of(*parent, *first));
  BOOST_TEST(heir_hint::of(*parent, *run_at(middle - far - 64)).is_nothing());
  BOOST_TEST(heir_hint::of(*parent, *run_at(middle + far)).is_nothing());
  // To ask for what is not there, or no more, does no harm.
  for (const core::run* const child : {first, last}) heir_hint::of(*parent, *child).approach(*parent);
  ::munmap(start, bytes);
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace kvc::test

#include "core/page_allocator.hpp"

#include <cstddef>
#include <cstdint>
#include <limits>
#include <new>
#include <numeric>
#include <vector>

#include <boost/test/unit_test.hpp>

BOOST_AUTO_TEST_SUITE(page_allocators)

namespace {

using namespace kvc::core;
using table = std::vector<std::uint64_t, page_allocator<std::uint64_t>>;

constexpr std::size_t paged_from = paged_from_bytes / sizeof(std::uint64_t);

}  // namespace

BOOST_AUTO_TEST_CASE(small_and_large_tables_hold_what_they_are_given) {
  for (const std::size_t size : {std::size_t{1}, paged_from - 1, paged_from, paged_from + 1, 1'000 * paged_from}) {
    table first(size);
    std::iota(first.begin(), first.end(), 0U);
    table second = first;
    second.push_back(size);
    BOOST_TEST(second.size() == size + 1);
    BOOST_TEST((table(first.begin(), first.end()) == first));
    BOOST_TEST(second.back() == size);
  }
}

BOOST_AUTO_TEST_CASE(a_large_table_has_pages_of_its_own) {
  const table large(paged_from);
  BOOST_TEST(reinterpret_cast<std::uintptr_t>(large.data()) % 4'096 == 0U);
}

BOOST_AUTO_TEST_CASE(what_cannot_be_had_is_an_exception) {
  kvc::core::page_allocator<std::uint64_t> all;
  BOOST_CHECK_THROW(static_cast<void>(all.allocate(std::numeric_limits<std::size_t>::max() / 16)), std::bad_alloc);
  BOOST_CHECK_THROW(static_cast<void>(all.allocate(std::numeric_limits<std::size_t>::max() / 4)), std::bad_array_new_length);
}

BOOST_AUTO_TEST_SUITE_END()

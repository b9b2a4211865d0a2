// The reserve of large pages: touched before anybody needs them, taken first, and put back clean.
#include "core/page_reserve.hpp"

#include <algorithm>
#include <cstddef>
#include <cstring>
#include <span>

#include <boost/test/unit_test.hpp>

#include "core/large_page.hpp"
#include "tests/support/no_page_reserve.hpp"

using namespace kvc;

namespace {

constexpr std::size_t page = core::large_page_bytes;

bool is_zero(const void* at) {
  return std::ranges::all_of(std::span(static_cast<const std::byte*>(at), page), [](std::byte each) { return each == std::byte{0}; });
}

}  // namespace

BOOST_FIXTURE_TEST_SUITE(page_reserve, test::no_page_reserve)

BOOST_AUTO_TEST_CASE(a_reserve_has_what_it_was_asked_to_have) {
  core::keep_page_reserve(3);
  int pages = 0;
  while (core::grow_page_reserve()) ++pages;
  BOOST_TEST(pages == 3);
  BOOST_TEST(core::page_reserve_bytes() == 3 * page);
}

BOOST_AUTO_TEST_CASE(pages_come_from_the_reserve_first_and_go_back_clean) {
  core::keep_page_reserve(1);
  BOOST_TEST_REQUIRE(core::grow_page_reserve());
  void* const reserved = core::map_large_pages(page);
  BOOST_TEST(core::page_reserve_bytes() == 0U);
  BOOST_TEST(is_zero(reserved));
  void* const further = core::map_large_pages(page);  // there is more where that came from
  BOOST_TEST_REQUIRE(further != nullptr);
  std::memset(reserved, 0xAB, page);

  core::unmap_large_pages(reserved, page);
  BOOST_TEST(core::page_reserve_bytes() == page);
  core::unmap_large_pages(further, page);  // no room for a second one
  BOOST_TEST(core::page_reserve_bytes() == page);

  void* const again = core::map_large_pages(page);
  BOOST_TEST(again == reserved);
  BOOST_TEST(is_zero(again));
  core::unmap_large_pages(again, page);
}

BOOST_AUTO_TEST_CASE(several_pages_at_once_are_not_taken_from_it) {
  // They have to lie side by side.
  core::keep_page_reserve(2);
  while (core::grow_page_reserve()) continue;
  void* const pair = core::map_large_pages(2 * page);
  BOOST_TEST(core::page_reserve_bytes() == 2 * page);
  core::unmap_large_pages(pair, 2 * page);
  BOOST_TEST(core::page_reserve_bytes() == 2 * page);
}

BOOST_AUTO_TEST_CASE(without_a_reserve_everything_goes_back) {
  BOOST_TEST(!core::grow_page_reserve());
  core::unmap_large_pages(core::map_large_pages(page), page);
  BOOST_TEST(core::page_reserve_bytes() == 0U);
}

BOOST_AUTO_TEST_SUITE_END()

// Blocks cut from large pages: apart from each other, close together, and given back.
#include "core/page_blocks.hpp"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <random>
#include <vector>

#include <boost/test/unit_test.hpp>

#include "core/large_page.hpp"

namespace kvc::test {

BOOST_AUTO_TEST_SUITE(page_blocks_suite)

using namespace kvc::core;

namespace {

struct block {
  std::byte* at;
  std::size_t bytes;
  std::byte mark;
};

/// Blocks taken and given back at random, each filled with a mark of its own.
class random_blocks {
 public:
  explicit random_blocks(std::uint64_t seed) : random_(seed) {}

  void take(std::size_t bytes) {
    const block made{static_cast<std::byte*>(subject.take(bytes)), bytes, static_cast<std::byte>(random_())};
    BOOST_REQUIRE(reinterpret_cast<std::uintptr_t>(made.at) % page_blocks::step == 0);
    std::memset(made.at, static_cast<int>(made.mark), bytes);
    held_ += bytes;
    all_.push_back(made);
  }
  void give_any() {
    std::swap(all_[random_() % all_.size()], all_.back());
    const block gone = all_.back();
    all_.pop_back();
    BOOST_REQUIRE(std::all_of(gone.at, gone.at + gone.bytes, [&](std::byte each) { return each == gone.mark; }));
    subject.give(gone.at, gone.bytes);
    held_ -= gone.bytes;
  }
  void give_all() {
    while (!all_.empty()) give_any();
  }
  [[nodiscard]] std::size_t held() const { return held_; }
  [[nodiscard]] std::size_t any(std::size_t below) { return random_() % below; }

  page_blocks subject;

 private:
  std::mt19937_64 random_;
  std::vector<block> all_;
  std::size_t held_ = 0;
};

}  // namespace

BOOST_AUTO_TEST_CASE(blocks_of_all_sizes_do_not_overlap_and_lie_close_together) {
  random_blocks blocks(17);
  std::size_t most = 0;
  for (int step = 0; step < 30'000; ++step) {
    if (blocks.held() < 8 * large_page_bytes || blocks.any(2) == 0) {
      blocks.take(1 + blocks.any(blocks.any(50) == 0 ? large_page_bytes : 24'000));
    } else {
      blocks.give_any();
    }
    most = std::max(most, blocks.held());
  }
  BOOST_TEST_INFO("held at most " << most);
  BOOST_TEST(blocks.subject.mapped() < most * 3 / 2);
}

BOOST_AUTO_TEST_CASE(pages_of_which_nothing_is_used_go_back_whole) {
  random_blocks blocks(19);
  for (int i = 0; i < 2'000; ++i) blocks.take(1 + blocks.any(60'000));
  const std::size_t mapped = blocks.subject.mapped();
  BOOST_TEST(mapped >= blocks.held());
  blocks.give_all();
  BOOST_TEST(blocks.subject.trim() == mapped);
  BOOST_TEST(blocks.subject.mapped() == 0U);
  BOOST_TEST(blocks.subject.trim() == 0U);
  blocks.take(large_page_bytes);
  BOOST_TEST(blocks.subject.mapped() == large_page_bytes);
}

BOOST_AUTO_TEST_CASE(blocks_of_one_power_of_two_are_aligned_to_it) {
  constexpr std::size_t bytes = std::size_t{64} << 10;
  random_blocks blocks(23);
  for (int i = 0; i < 1'000; ++i) {
    blocks.take(bytes);
    if (blocks.any(3) == 0) blocks.give_any();
  }
  std::vector<void*> more;
  for (int i = 0; i < 100; ++i) {
    more.push_back(blocks.subject.take(bytes));
    BOOST_TEST(reinterpret_cast<std::uintptr_t>(more.back()) % bytes == 0);
  }
  for (void* each : more) blocks.subject.give(each, bytes);
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace kvc::test

// Whether functions with wide vectors leave the upper halves of registers clean (core/wide_registers.hpp).
#include "core/wide_registers.hpp"

#include <cstddef>
#include <cstdint>
#include <functional>
#include <limits>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include <boost/test/unit_test.hpp>

#include "core/block_hasher.hpp"
#include "core/column_digest.hpp"
#include "core/hash_compare.hpp"
#include "core/polynomial_hash.hpp"
#include "net/event_pattern.hpp"
#include "net/number_list.hpp"
#include "net/token_list.hpp"

#if defined(__x86_64__)
#include <cpuid.h>
#endif

BOOST_AUTO_TEST_SUITE(wide_registers)

using namespace kvc;

#if defined(__x86_64__)

/// What is in use of the registers' upper halves: of the first sixteen beyond 128 bits, and beyond 256 (Intel's manual, volume 1, 13.6).
constexpr std::uint32_t upper_halves = 1U << 2U | 1U << 6U;

[[nodiscard]] std::uint32_t in_use() noexcept {
  std::uint32_t low = 0;
  std::uint32_t high = 0;
  asm volatile("xgetbv" : "=a"(low), "=d"(high) : "c"(1));
  return low & upper_halves;
}

void clean() noexcept {
  asm volatile("vzeroupper" ::: "memory");
}

void soil() noexcept {
  asm volatile("vpcmpeqd %%xmm15, %%xmm15, %%xmm15\n vinsertf128 $1, %%xmm15, %%ymm15, %%ymm15" ::: "xmm15", "memory");
}

/// Not every CPU tells: some count as in use what has once been used.
[[nodiscard]] bool tells() noexcept {
  constexpr unsigned extended_state = 0xd;
  constexpr unsigned tells_what_is_in_use = 1U << 2U;
  unsigned a = 0;
  unsigned b = 0;
  unsigned c = 0;
  unsigned d = 0;
  if (!__builtin_cpu_supports("avx") || __get_cpuid_count(extended_state, 1, &a, &b, &c, &d) == 0) return false;
  if ((a & tells_what_is_in_use) == 0) return false;
  clean();
  if (in_use() != 0) return false;
  soil();
  const bool is_seen = in_use() != 0;
  clean();
  return is_seen;
}

#else

[[nodiscard]] std::uint32_t in_use() noexcept {
  return 0;
}
void clean() noexcept {}
[[nodiscard]] bool tells() noexcept {
  return false;
}

#endif

void expect_clean_after(std::string_view what, const std::function<void()>& call) {
  clean();
  call();
  const std::uint32_t left = in_use();
  clean();
  BOOST_TEST(left == 0U, what);
}

[[nodiscard]] std::vector<unsigned char> written(const std::vector<std::uint32_t>& numbers) {
  std::vector<unsigned char> bytes;
  for (const std::uint32_t each : numbers) {
    if (each > std::numeric_limits<std::uint16_t>::max()) {
      bytes.insert(bytes.end(), {0xce, static_cast<unsigned char>(each >> 24U), static_cast<unsigned char>(each >> 16U)});
    } else {
      bytes.push_back(0xcd);
    }
    bytes.insert(bytes.end(), {static_cast<unsigned char>(each >> 8U), static_cast<unsigned char>(each)});
  }
  return bytes;
}

[[nodiscard]] std::vector<std::uint32_t> ids(std::size_t count) {
  std::vector<std::uint32_t> all(count);
  for (std::size_t i = 0; i < count; ++i) all[i] = 300 + static_cast<std::uint32_t>(i * 2'654'435'761U % 150'000);
  return all;
}

bool may_not_tell() {
  if (tells()) return false;
  BOOST_TEST_MESSAGE("this CPU does not tell what is in use");
  return true;
}

BOOST_AUTO_TEST_CASE(lists_of_token_ids_leave_them_clean) {
  if (may_not_tell()) return;
  for (const std::size_t count : {1, 11, 12, 16, 20, 31, 64, 100, 512, 4'099}) {
    const std::vector<unsigned char> bytes = written(ids(count));
    std::vector<std::uint32_t> out(count);
    const unsigned char* const end = bytes.data() + bytes.size();
    std::size_t number = 0;
    for (const net::u32_list_reader read : net::u32_list_readers()) {
      const std::string what = std::to_string(count) + " token ids by reader " + std::to_string(number++);
      expect_clean_after(what, [&] { BOOST_TEST(read(bytes.data(), end, out.data(), count) == end); });
      expect_clean_after(what + ", the last of which are missing", [&] { (void)read(bytes.data(), end - 2, out.data(), count); });
      auto wrong = bytes;
      wrong[bytes.size() / 2] = 0xc1;  // as a format nothing, as a byte of a number anything
      const unsigned char* const wrong_end = wrong.data() + wrong.size();
      expect_clean_after(what + ", one of which may be none", [&] { (void)read(wrong.data(), wrong_end, out.data(), count); });
    }
  }
}

BOOST_AUTO_TEST_CASE(events_alike_leave_them_clean) {
  if (may_not_tell()) return;
  for (const std::size_t length : {40, 64, 71, 128}) {
    const std::vector<unsigned char> events(5 * length);
    const net::event_pattern like{events.data(), length, 20};
    std::size_t number = 0;
    for (const net::alike_counter count : net::alike_counters()) {
      expect_clean_after(std::to_string(length) + " bytes by counter " + std::to_string(number++),
                         [&] { BOOST_TEST(count(like, events.data(), 5) == 5U); });
    }
  }
}

BOOST_AUTO_TEST_CASE(lists_of_decimal_numbers_leave_them_clean) {
  if (may_not_tell()) return;
  for (const std::size_t count : {1, 20, 64, 333}) {
    std::string text;
    std::string spaced;
    for (const std::uint32_t each : ids(count)) {
      text += std::to_string(each) + ",";
      spaced += std::to_string(each) + ", ";
    }
    const std::string behind = "1]" + std::string(80, ' ');  // a reader looks at whole vectors
    text += behind;
    spaced += behind;
    std::vector<std::uint64_t> room(count + 64);
    expect_clean_after(std::to_string(count) + " numbers", [&] {
      BOOST_TEST(net::read_short_numbers(text.data(), text.data() + text.size(), net::list_style::dense, room).count == count);
    });
    expect_clean_after(std::to_string(count) + " numbers with blanks", [&] {
      const auto read = net::read_short_numbers(spaced.data(), spaced.data() + spaced.size(), net::list_style::blank_behind_comma, room);
      BOOST_TEST(read.count == count);
    });
  }
}

BOOST_AUTO_TEST_CASE(digests_of_bytes_leave_them_clean) {
  if (may_not_tell()) return;
  const std::vector<std::byte> bytes(20'000);
  for (const std::size_t count : {16, 240, 241, 300, 1'024, 1'025, 4'600, 20'000}) {
    expect_clean_after("a digest of " + std::to_string(count) + " bytes", [&] { (void)core::digest(std::span(bytes).first(count)); });
  }
}

BOOST_AUTO_TEST_CASE(hashes_and_comparisons_leave_them_clean) {
  if (may_not_tell()) return;
  std::vector<std::uint64_t> hashes(3 * core::blocks_per_digest + 5);
  for (std::size_t i = 0; i < hashes.size(); ++i) hashes[i] = (i + 1) * core::polynomial_base;
  for (const std::size_t count : {3, 4, 17, 64, 200}) {
    auto other = hashes;
    other[count] ^= 1;
    expect_clean_after("a comparison of " + std::to_string(count),
                       [&] { BOOST_TEST(core::common_prefix(hashes.data(), other.data(), hashes.size()) == count); });
    expect_clean_after("a polynomial of " + std::to_string(count),
                       [&] { (void)core::polynomial_hash_of_chunk(std::span(hashes).first(count)); });
  }
  std::vector<std::uint64_t> digests;
  for (std::size_t i = 0; i < 3; ++i) {
    expect_clean_after("a digest", [&] { digests.push_back(core::column_digest(hashes.data() + i * core::blocks_per_digest)); });
  }
  expect_clean_after("digests compared", [&] { BOOST_TEST(core::common_digests(digests, hashes) == digests.size()); });
}

BOOST_AUTO_TEST_SUITE_END()

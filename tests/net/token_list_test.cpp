#include "net/token_list.hpp"

#include <cstddef>
#include <cstdint>
#include <memory>
#include <numeric>
#include <random>
#include <span>
#include <string>
#include <vector>

#include <boost/test/unit_test.hpp>

#include "net/msgpack_tape.hpp"

BOOST_AUTO_TEST_SUITE(token_lists)

namespace {

using namespace kvc::net;

/// Bytes on the heap to their last one, where a read past the end is noticed.
struct exact_bytes {
  explicit exact_bytes(const std::string& from) : size(from.size()), bytes(std::make_unique<unsigned char[]>(size)) {
    std::copy(from.begin(), from.end(), bytes.get());
  }
  [[nodiscard]] const unsigned char* begin() const { return bytes.get(); }
  [[nodiscard]] const unsigned char* end() const { return bytes.get() + size; }

  std::size_t size;
  std::unique_ptr<unsigned char[]> bytes;
};

/// A number of one of the widths that `widths` names by its bits: a byte, 1, 2, 4 bytes.
std::uint32_t some_number(std::mt19937_64& random, unsigned widths) {
  constexpr std::uint32_t first[] = {0, 0x80, 0x100, 0x1'0000};
  constexpr std::uint32_t last[] = {0x7f, 0xff, 0xffff, 0xffff'ffff};
  unsigned width = 0;
  do {
    width = static_cast<unsigned>(random() % 4);
  } while ((widths >> width & 1U) == 0);
  return first[width] + static_cast<std::uint32_t>(random() % (std::uint64_t{last[width]} - first[width] + 1));
}

std::string written(std::span<const std::uint32_t> numbers) {
  std::string bytes;
  msgpack_writer writer(bytes);
  for (const std::uint32_t each : numbers) writer.unsigned_integer(each);
  return bytes;
}

/// All readers of this CPU on the same bytes. Answers how many bytes they have taken, -1 when they refuse, and fails the test when they
/// differ.
std::ptrdiff_t read_all(const std::string& from, std::size_t count, std::vector<std::uint32_t>& numbers) {
  const exact_bytes bytes(from);
  numbers.assign(count, 0);
  const unsigned char* const slow = read_u32_list_scalar(bytes.begin(), bytes.end(), numbers.data(), count);
  for (const u32_list_reader each : u32_list_readers()) {
    std::vector<std::uint32_t> quickly(count);
    const unsigned char* const fast = each(bytes.begin(), bytes.end(), quickly.data(), count);
    BOOST_TEST_REQUIRE((fast == slow));
    if (slow != nullptr) BOOST_TEST_REQUIRE((quickly == numbers));
  }
  return slow == nullptr ? -1 : slow - bytes.begin();
}

}  // namespace

BOOST_AUTO_TEST_CASE(what_the_library_writes_is_read_back) {
  // Every mixture of widths and every length around those that are read in one go.
  const std::uint64_t seed = std::random_device()();
  BOOST_TEST_MESSAGE("seed " << seed);
  std::mt19937_64 random(seed);
  std::vector<std::uint32_t> read;
  std::vector<std::size_t> counts(210);
  std::iota(counts.begin(), counts.end(), std::size_t{0});
  for (const std::size_t more : {383, 384, 385, 390, 391, 1'000, 8'192}) counts.push_back(more);
  for (unsigned widths = 1; widths < 16; ++widths) {
    for (const std::size_t count : counts) {
      BOOST_TEST_CONTEXT("widths " << widths << ", " << count << " numbers") {
        std::vector<std::uint32_t> numbers(count);
        for (std::uint32_t& each : numbers) each = some_number(random, widths);
        const std::string bytes = written(numbers);
        BOOST_TEST_REQUIRE(read_all(bytes, count, read) == static_cast<std::ptrdiff_t>(bytes.size()));
        BOOST_TEST_REQUIRE((read == numbers));
        // The same with something behind it, which is none of the list's.
        BOOST_TEST_REQUIRE(read_all(bytes + std::string(100, '\xc0'), count, read) == static_cast<std::ptrdiff_t>(bytes.size()));
        BOOST_TEST_REQUIRE((read == numbers));
      }
    }
  }
}

BOOST_AUTO_TEST_CASE(bytes_of_numbers_that_look_like_formats_are_none) {
  // Lists of numbers of two and four bytes, nearly all of them or all, most of whose bytes could begin a number themselves.
  const std::uint64_t first_seed = std::random_device()();
  BOOST_TEST_MESSAGE("first seed " << first_seed);
  std::vector<std::uint32_t> read;
  for (std::uint64_t seed = first_seed; seed < first_seed + 3'000; ++seed) {
    BOOST_TEST_CONTEXT("seed " << seed) {
      std::mt19937_64 random(seed);
      const std::uint64_t alike = random() % 11;  // tenths of all bytes
      const auto byte = [&] { return static_cast<char>(random() % 10 < alike ? 0xcc + random() % 4 : random()); };
      const std::uint64_t between_others = random() % 3 == 0 ? 0 : 1 + random() % 300;
      const std::size_t count = random() % 2'000;
      std::string bytes;
      for (std::size_t i = 0; i < count; ++i) {
        if (between_others != 0 && random() % between_others == 0) {
          bytes += random() % 2 == 0 ? std::string(1, static_cast<char>(random() % 128)) : std::string("\xcc") + byte();
          continue;
        }
        const bool is_short = random() % 2 == 0;
        bytes += is_short ? '\xcd' : '\xce';
        for (int left = is_short ? 2 : 4; left > 0; --left) bytes += byte();
      }
      const std::size_t length = bytes.size();
      BOOST_TEST_REQUIRE(read_all(bytes, count, read) == static_cast<std::ptrdiff_t>(length));
      for (std::uint64_t behind = random() % 200; behind > 0; --behind) bytes += byte();
      BOOST_TEST_REQUIRE(read_all(bytes, count, read) == static_cast<std::ptrdiff_t>(length));
      if (length != 0) BOOST_TEST_REQUIRE(read_all(bytes.substr(0, random() % length), count, read) == -1);
    }
  }
}

BOOST_AUTO_TEST_CASE(a_list_that_ends_too_soon_is_none) {
  // Wherever the bytes end: nothing behind them may be looked at, and a part is not taken for the whole.
  const std::uint64_t seed = std::random_device()();
  BOOST_TEST_MESSAGE("seed " << seed);
  std::mt19937_64 random(seed);
  std::vector<std::uint32_t> numbers(150);
  for (std::uint32_t& each : numbers) each = some_number(random, 0b1111);
  const std::string bytes = written(numbers);
  std::vector<std::uint32_t> read;
  for (std::size_t length = 0; length < bytes.size(); ++length) {
    BOOST_TEST_REQUIRE(read_all(bytes.substr(0, length), numbers.size(), read) == -1);
  }
}

BOOST_AUTO_TEST_CASE(one_value_of_another_kind_spoils_a_list) {
  // Wherever it stands, and whatever it is: the general way decides what it means.
  for (unsigned format = 0x80; format < 0x100; ++format) {
    if (format >= 0xcc && format <= 0xce) continue;
    for (std::size_t where = 0; where < 100; ++where) {
      std::string bytes;
      for (std::size_t i = 0; i < 100; ++i) bytes += i == where ? std::string(1, static_cast<char>(format)) : std::string("\xcd\x80\xcd");
      bytes += std::string(80, '\1');
      std::vector<std::uint32_t> read;
      BOOST_TEST_REQUIRE(read_all(bytes, 100, read) == -1);
    }
  }
}

BOOST_AUTO_TEST_CASE(all_readers_agree_on_anything) {
  // Lists with bytes changed, and bytes that never were a list.
  const std::uint64_t first_seed = std::random_device()();
  BOOST_TEST_MESSAGE("first seed " << first_seed);
  std::vector<std::uint32_t> read;
  for (std::uint64_t seed = first_seed; seed < first_seed + 20'000; ++seed) {
    BOOST_TEST_CONTEXT("seed " << seed) {
      std::mt19937_64 random(seed);
      std::vector<std::uint32_t> numbers(random() % 450);
      for (std::uint32_t& each : numbers) each = some_number(random, 1 + static_cast<unsigned>(random() % 15));
      std::string bytes = written(numbers);
      for (std::uint64_t changes = random() % 4; changes > 0 && !bytes.empty(); --changes) {
        constexpr char likely[] = {'\xcc', '\xcd', '\xce', '\xcf', '\x7f', '\x80', '\xc0', '\x00'};
        bytes[random() % bytes.size()] = random() % 2 == 0 ? likely[random() % 8] : static_cast<char>(random());
      }
      (void)read_all(bytes, random() % 480, read);
    }
  }
}

BOOST_AUTO_TEST_SUITE_END()

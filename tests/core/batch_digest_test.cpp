// When two payloads count as the same batch.
#include "core/batch_digest.hpp"

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <set>
#include <vector>

#include <boost/test/unit_test.hpp>

#include "core/mixed_bits.hpp"

BOOST_AUTO_TEST_SUITE(batch_digests)

namespace {

using kvc::core::batch_digest;
using how = kvc::core::batch_sampling;
using bytes = std::vector<std::byte>;

bytes some(std::size_t count) {
  bytes made(count);
  for (std::size_t i = 0; i < count; ++i) made[i] = static_cast<std::byte>(i * 7 + (i >> 8));
  return made;
}

/// A time, then names of blocks of which each follows from its token and the one before it.
bytes prompt_of(std::uint64_t time, std::size_t blocks, std::size_t changed_at, std::uint64_t token) {
  bytes made(8 + 9 * blocks);
  std::memcpy(made.data(), &time, sizeof time);
  std::uint64_t name = 1;
  for (std::size_t i = 0; i < blocks; ++i) {
    name = (name ^ (i == changed_at ? token : i)) * kvc::core::golden;
    name ^= name >> 29;
    made[8 + 9 * i] = std::byte{0xcf};
    std::memcpy(made.data() + 9 + 9 * i, &name, sizeof name);
  }
  return made;
}

}  // namespace

BOOST_AUTO_TEST_CASE(every_byte_of_a_short_payload_counts) {
  for (const std::size_t count : {std::size_t{0}, std::size_t{1}, std::size_t{300}, how::longest_whole}) {
    bytes payload = some(count);
    const std::uint64_t before = batch_digest(payload);
    BOOST_TEST(batch_digest(some(count)) == before);
    for (std::byte& each : payload) {
      each ^= std::byte{1};
      BOOST_TEST(batch_digest(payload) != before);
      each ^= std::byte{1};
    }
  }
}

BOOST_AUTO_TEST_CASE(both_ends_of_a_long_payload_count_and_its_length) {
  std::set<std::uint64_t> seen;
  const std::size_t first = how::longest_whole + 1;
  for (std::size_t count = first; count < first + 2 * how::sample_step; ++count) {
    BOOST_TEST(seen.insert(batch_digest(bytes(count))).second, count << " zeros");
  }
  for (const std::size_t count : {first, std::size_t{100'000}, std::size_t{3'000'000}}) {
    bytes payload = some(count);
    const std::uint64_t before = batch_digest(payload);
    BOOST_TEST(batch_digest(some(count)) == before);
    for (std::size_t i = 0; i < how::end_bytes; ++i) {
      for (const std::size_t at : {i, count - 1 - i}) {
        payload[at] ^= std::byte{1};
        BOOST_TEST(batch_digest(payload) != before, "byte " << at << " of " << count);
        payload[at] ^= std::byte{1};
      }
    }
  }
}

BOOST_AUTO_TEST_CASE(another_incarnation_is_another_batch) {
  constexpr std::size_t blocks = 600;
  const std::uint64_t before = batch_digest(prompt_of(0, blocks, blocks, 0));
  BOOST_TEST(batch_digest(prompt_of(1, blocks, blocks, 0)) != before, "another time");
  // Without times: another token changes all names behind it, some of which are looked at unless it is one of the last.
  constexpr std::size_t unseen = how::sample_step / 9 + 1;
  for (std::size_t at = 0; at + unseen < blocks; ++at) {
    BOOST_TEST(batch_digest(prompt_of(0, blocks, at, 123'456)) != before, "block " << at);
  }
}

BOOST_AUTO_TEST_SUITE_END()

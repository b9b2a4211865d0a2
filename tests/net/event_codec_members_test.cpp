// Members of maps, of events and of batches: which are known, and what becomes of the others.
#include <cstdint>
#include <functional>
#include <string>

#include <boost/test/unit_test.hpp>

#include "net/field_rules.hpp"
#include "tests/net/decoding.hpp"

BOOST_AUTO_TEST_SUITE(event_members)

namespace {

using namespace kvc;
using namespace kvc::net;
using namespace kvc::net::test;

}  // namespace

BOOST_AUTO_TEST_CASE(members_of_the_newest_versions_are_known_and_others_are_counted_by_name) {
  // A version that adds a field must cost nothing but a look at the counter.
  decoding with;
  BOOST_TEST(!with.decode(batch_of(1, [](msgpack_writer& to) {
    to.map(7);
    to.string("type");
    to.string("BlockRemoved");
    to.string("block_hashes");
    to.array(1);
    to.unsigned_integer(1);
    for (const std::string_view name : {"session_id", "event_version", "remaining_copy_counts"}) {
      to.string(name);
      to.nil();
    }
    to.string("locality");
    to.string("LOCAL");
    to.string("from_the_future");
    to.map(0);
  })));
  BOOST_TEST(with.batch.events.size() == 1U);
  BOOST_TEST_REQUIRE(with.batch.counts.unknown.size() == 1U);
  BOOST_TEST(with.batch.counts.unknown[0].text == "from_the_future");
  BOOST_TEST((with.batch.counts.unknown[0].kind == core::word_kind::field));
}

BOOST_AUTO_TEST_CASE(unknown_members_of_a_batch_are_counted_by_name) {
  // As those of events are, and no more of them: the next version may say there what matters.
  decoding with;
  const auto decode_with = [&with](std::uint32_t unknown, const std::function<void(msgpack_writer&)>& write) {
    std::string payload;
    msgpack_writer to(payload);
    to.map(3 + unknown);
    to.string("ts");
    to.real(1763700000.5);
    write(to);
    to.string("events");
    to.array(1);
    to.array(2);
    to.string("BlockRemoved");
    to.array(1);
    to.unsigned_integer(5);
    to.string("data_parallel_rank");
    to.unsigned_integer(3);
    BOOST_TEST(with.only<core::removed_event>(payload).hashes.size() == 1U);
    BOOST_TEST((with.batch.rank == core::dp_rank{3}));
  };
  decode_with(0, [](msgpack_writer&) {});
  BOOST_TEST(with.batch.counts.unknown.empty());
  decode_with(4, [](msgpack_writer& to) {
    to.string("compression");
    to.map(1);
    to.string("events");  // another one's
    to.nil();
    to.unsigned_integer(7);  // a name that is no text is none
    to.nil();
    to.string("compression");
    to.nil();
    to.string("epoch");
    to.array(2);
    to.unsigned_integer(1);
    to.unsigned_integer(2);
  });
  BOOST_TEST_REQUIRE(with.batch.counts.unknown.size() == 2U);
  BOOST_TEST(with.batch.counts.unknown[0].text == "compression");
  BOOST_TEST(with.batch.counts.unknown[0].times == 2U);
  BOOST_TEST((with.batch.counts.unknown[0].kind == core::word_kind::field));
  BOOST_TEST(with.batch.counts.unknown[1].text == "epoch");
  constexpr std::uint32_t many = core::batch_counts::max_words + 20;
  decode_with(many, [](msgpack_writer& to) {
    for (std::uint32_t i = 0; i < many; ++i) {
      to.string(std::string(100, 'x').replace(0, 2, std::to_string(10 + i)));
      to.nil();
    }
  });
  const auto& words = with.batch.counts.unknown;
  BOOST_TEST(words.size() <= core::batch_counts::max_words + 1);
  std::uint32_t times = 0;
  for (const core::unknown_word& each : words) {
    times += each.times;
    BOOST_TEST(each.text.size() <= core::batch_counts::max_word_bytes);
  }
  BOOST_TEST(times == many);
}

BOOST_AUTO_TEST_CASE(unknown_members_of_an_event_without_a_batch_are_counted_once) {
  // Its map is no batch.
  decoding with;
  std::string payload;
  msgpack_writer to(payload);
  to.map(3);
  to.string("type");
  to.string("BlockRemoved");
  to.string("block_hashes");
  to.array(1);
  to.unsigned_integer(5);
  to.string("epoch");
  to.nil();
  with.only<core::removed_event>(payload);
  BOOST_TEST_REQUIRE(with.batch.counts.unknown.size() == 1U);
  BOOST_TEST(with.batch.counts.unknown[0].times == 1U);
}

BOOST_AUTO_TEST_CASE(an_adapter_that_a_key_names_is_as_long_as_in_a_request) {
  // It names a partition, which keeps it.
  const auto event_with = [](std::size_t length) {
    return [length](msgpack_writer& to) {
      to.map(5);
      to.string("type");
      to.string("BlockStored");
      to.string("block_hashes");
      to.array(1);
      to.unsigned_integer(1);
      to.string("token_ids");
      to.array(2);
      to.unsigned_integer(5);
      to.unsigned_integer(6);
      to.string("block_size");
      to.unsigned_integer(2);
      to.string("extra_keys");
      to.array(1);
      to.array(1);
      to.map(2);
      to.string("type");
      to.string("lora");
      to.string("name");
      to.string(std::string(length, 'x'));
    };
  };
  decoding with;
  BOOST_TEST(!with.decode(batch_of(1, event_with(max_identity_bytes + 1))));
  BOOST_TEST(with.batch.events.empty());
  BOOST_TEST(with.rejected(reject_reason::too_many_elements) == 1U);
  decoding again;
  const auto& stored = again.only<core::stored_event>(batch_of(1, event_with(max_identity_bytes)));
  BOOST_TEST(stored.scope.lora->size() == max_identity_bytes);
}

BOOST_AUTO_TEST_SUITE_END()

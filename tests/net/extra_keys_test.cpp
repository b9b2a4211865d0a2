#include "net/extra_keys.hpp"

#include <boost/test/unit_test.hpp>

#include "tests/net/event_samples.hpp"

BOOST_AUTO_TEST_SUITE(extra_keys)

namespace {

using namespace kvc::net;

std::vector<extra_key> read(std::string_view hex) {
  const std::string bytes = samples::from_hex(hex);
  msgpack_tape tape;
  BOOST_TEST_REQUIRE(!tape.parse(samples::as_payload(bytes)));
  std::vector<extra_key> keys;
  BOOST_TEST_REQUIRE(read_extra_keys(tape_value(tape.nodes().data(), 0), keys));
  return keys;
}

}  // namespace

BOOST_AUTO_TEST_CASE(keys_of_an_event_and_of_a_query_give_the_same_bytes) {
  // An engine may write an integer wider than a client; the hash must not notice.
  const auto from_engine = read("94a5696d616765cf0000000000000005c403616263dc0002a178d1fffe");
  const std::vector<extra_key> from_client{extra_key::of_text("image"), extra_key::of_unsigned(5), extra_key::of_bytes("abc"),
                                           extra_key::of_list({extra_key::of_text("x"), extra_key::of_integer(-2)})};
  BOOST_TEST(encode_extra_keys(from_engine, {}) == encode_extra_keys(from_client, {}));
  BOOST_TEST(encode_extra_keys(from_client, {}) == samples::from_hex("94a5696d61676505c40361626392a178fe"));
}

BOOST_AUTO_TEST_CASE(a_block_has_a_bounded_number_of_keys_however_they_are_nested) {
  // A key takes 80 bytes in memory and may come as one: a message of 4 MB took 460.
  const auto reads = [](std::uint32_t outer, std::uint32_t inner) {
    std::string bytes;
    msgpack_writer to(bytes);
    to.array(outer);
    for (std::uint32_t i = 0; i < outer; ++i) {
      if (inner == 0) {
        to.boolean(true);
        continue;
      }
      to.array(inner);
      for (std::uint32_t j = 0; j < inner; ++j) to.boolean(true);
    }
    msgpack_tape tape;
    BOOST_TEST_REQUIRE(!tape.parse(samples::as_payload(bytes)));
    std::vector<extra_key> keys;
    return read_extra_keys(tape_value(tape.nodes().data(), 0), keys);
  };
  BOOST_TEST(reads(max_extra_keys, 0));
  BOOST_TEST(!reads(max_extra_keys + 1, 0));
  BOOST_TEST(reads(64, 63));
  BOOST_TEST(!reads(64, 64));
}

BOOST_AUTO_TEST_CASE(nothing_left_is_no_keys) {
  // A block without keys must have exactly the standard's hash.
  BOOST_TEST(encode_extra_keys({}, {}).empty());
  BOOST_TEST(encode_extra_keys(read("c0"), {}).empty());
  BOOST_TEST(encode_extra_keys(read("90"), {}).empty());
  const std::vector<extra_key> both{extra_key::of_text("adapter"), extra_key::of_text("salt")};
  BOOST_TEST(encode_extra_keys(both, {.lora = "adapter", .salt = "salt"}).empty());
  BOOST_TEST(!encode_extra_keys(both, {.lora = "adapter", .salt = {}}).empty());
}

BOOST_AUTO_TEST_CASE(an_empty_filter_drops_nothing) {
  // The base model has an empty name; an empty key is not it.
  const std::vector<extra_key> keys{extra_key::of_text("")};
  BOOST_TEST(encode_extra_keys(keys, {}) == samples::from_hex("91a0"));
}

BOOST_AUTO_TEST_CASE(typed_keys_of_adapter_and_partition_salt_are_left_out) {
  // A coming version of vLLM says what each key is; a salt that is not the partition's must stay, or two salts would share blocks.
  const auto lora = read(
      "9182a474797065a46c6f7261a4"
      "6e616d65a161");  // {type: lora, name: a}
  const auto salt = read(
      "9182a474797065aa63616368655f73616c74a4"
      "6e616d65a173");  // {type: cache_salt, name: s}
  BOOST_TEST(encode_extra_keys(lora, {}).empty());
  BOOST_TEST(typed_lora(lora) == "a");
  BOOST_TEST(encode_extra_keys(salt, {.lora = {}, .salt = "s"}).empty());
  BOOST_TEST(!encode_extra_keys(salt, {.lora = {}, .salt = "other"}).empty());
}

BOOST_AUTO_TEST_CASE(maps_are_sorted) {
  // Key order in a map means nothing and must not reach the hash.
  BOOST_TEST(encode_extra_keys(read("9182a16101a16202"), {}) == encode_extra_keys(read("9182a16202a16101"), {}));
}

BOOST_AUTO_TEST_SUITE_END()

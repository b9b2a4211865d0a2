#include <cstdint>
#include <random>
#include <string>
#include <vector>

#include <boost/test/unit_test.hpp>

#include "net/base64.hpp"
#include "net/chunk_range.hpp"
#include "net/json_tree.hpp"
#include "net/plain_json.hpp"
#include "net/usage_scan.hpp"

BOOST_AUTO_TEST_SUITE(plain_bodies)

using namespace kvc;

namespace {

std::string event(const std::string& type, const std::string& key, const std::string& bytes) {
  return R"({"type":")" + type + R"(","key":)" + key + R"(,"bytes":)" + bytes + "}";
}

std::string batch(const std::string& events, const std::string& rest = R"(,"tier":"l2")") {
  return R"({"instance_id":"mp-1","seq":3,"events":[)" + events + "]" + rest + "}";
}

const std::string full_key = R"({"chunk_hash_hex":"00aBff","model_name":"m/x","kv_rank":-7,"object_group_id":2,"cache_salt":"s-1"})";
const std::string short_key = R"({"kv_rank": 1, "model_name": "", "chunk_hash_hex": "" })";

/// Both readers, and that they read alike what the quick one accepts. Returns whether it did.
bool is_read_alike(const std::string& body) {
  net::usage_batch quick;
  const bool is_quick = net::scan_usage_batch(body, quick);
  net::json_tree tree;
  net::usage_batch slow;
  net::field_faults faults;
  if (tree.parse(body)) {
    BOOST_TEST(!is_quick, "accepted what is no JSON: " << body);
    return is_quick;
  }
  net::read_usage_batch(tree.root(), slow, faults);
  if (!is_quick) return false;
  BOOST_TEST(faults.empty(), body);
  BOOST_TEST(quick.instance_id == slow.instance_id);
  BOOST_TEST((quick.number == slow.number));
  BOOST_TEST((quick.tier == slow.tier));
  BOOST_REQUIRE_EQUAL(quick.events.size(), slow.events.size());
  for (std::size_t i = 0; i < quick.events.size(); ++i) {
    BOOST_TEST((quick.events[i].what == slow.events[i].what));
    BOOST_TEST((quick.events[i].key == slow.events[i].key));
    BOOST_TEST(quick.events[i].bytes == slow.events[i].bytes);
  }
  return true;
}

}  // namespace

BOOST_AUTO_TEST_CASE(reads_what_clients_write) {
  // Compact and with Python's blanks, with and without what has a default: none of it may fall back to the slow way.
  BOOST_TEST(is_read_alike(batch(event("store", full_key, "2097152") + "," + event("lookup", short_key, "0"))));
  BOOST_TEST(is_read_alike(batch("")));
  BOOST_TEST(is_read_alike(batch(event("delete", full_key, "0"), "")));
  BOOST_TEST(is_read_alike(" { \"instance_id\" : \"\" , \"seq\" : 1 , \"events\" : [ ] }\n"));
}

BOOST_AUTO_TEST_CASE(leaves_everything_else_to_the_careful_reader) {
  const std::string good = event("store", full_key, "1");
  for (const std::string& body :
       {batch(event("put", full_key, "1")),
        batch(event("store", "null", "1")),
        batch(event("store", full_key, "-1")),
        batch(event("store", full_key, "1.0")),
        batch(event("store", full_key, "01")),
        batch(event("store", full_key, "\"1\"")),
        batch(event("store", full_key, "1e3")),
        batch(event("store", full_key, "9999999999999999999")),
        batch(good + ","),
        batch(good, "]"),
        batch(good, R"(,"tier":"l1")"),
        batch(good, R"(,"seq":4)"),
        batch(good, R"(,"more":1)"),
        batch(good) + "x",
        batch(event("store", R"({"chunk_hash_hex":"0","model_name":"m","kv_rank":1})", "1")),
        batch(event("store", R"({"chunk_hash_hex":"00","model_name":"m@","kv_rank":1})", "1")),
        batch(event("store", R"({"chunk_hash_hex":"00","model_name":"m","kv_rank":1,"cache_salt":"a/b"})", "1")),
        batch(event("store", R"({"chunk_hash_hex":"00","model_name":"\u00e9","kv_rank":1})", "1")),
        batch(event("store", "{\"chunk_hash_hex\":\"00\",\"model_name\":\"\xc3\xa9\",\"kv_rank\":1}", "1")),
        batch(event("store", "{\"chunk_hash_hex\":\"00\",\"model_name\":\"long enough\x01\",\"kv_rank\":1}", "1")),
        std::string(R"({"instance_id":"a","seq":0,"events":[]})"),
        std::string(R"({"instance_id":"a","events":[]})"),
        std::string("[]"),
        std::string()}) {
    BOOST_TEST(!is_read_alike(body), body);
  }
}

BOOST_AUTO_TEST_CASE(damaged_batches_are_never_read_otherwise_than_carefully) {
  // Property: whatever byte is changed, left out or doubled, the quick reader gives up or agrees.
  const std::uint64_t seed = 20'260'911;
  BOOST_TEST_MESSAGE("seed " << seed);
  std::mt19937_64 random(seed);
  const std::string good = batch(event("store", full_key, "2097152") + ", " + event("lookup", short_key, "0"));
  constexpr std::string_view letters =
      "\"\\{}[],: 019-.eE\x01\x80\xff"
      "ab@/";
  std::size_t accepted = 0;
  for (int i = 0; i < 20'000; ++i) {
    std::string body = good;
    for (std::uint64_t changes = 1 + random() % 2; changes > 0; --changes) {
      const std::size_t at = random() % body.size();
      switch (random() % 3) {
        case 0: body[at] = letters[random() % letters.size()]; break;
        case 1: body.erase(at, 1 + random() % 4); break;
        default: body.insert(at, 1, letters[random() % letters.size()]);
      }
    }
    accepted += is_read_alike(body) ? 1 : 0;
  }
  BOOST_TEST(accepted > 100U);
}

BOOST_AUTO_TEST_CASE(numbers_of_every_length_are_read_exactly) {
  std::string text = "[0,7,10,999,128255,4294967295,12345678,999999999999999]";
  std::vector<std::uint64_t> numbers;
  net::plain_json at(text);
  BOOST_TEST(at.whole_numbers(numbers));
  BOOST_TEST(at.is_at_end());
  BOOST_TEST((numbers == std::vector<std::uint64_t>{0, 7, 10, 999, 128'255, 4'294'967'295, 12'345'678, 999'999'999'999'999}));
  for (const std::string_view bad : {"[01,2345678]", "[1,]", "[,1]", "[-1,23456789]", "[1.5,2345678]", "[1 ,2345678]", "[1",
                                     "[1000000000000000]", "[1,2345a678,9]", "[\"1\",23456789]", "[1:23456789]"}) {
    std::vector<std::uint64_t> none;
    BOOST_TEST(!net::plain_json(bad).whole_numbers(none), bad);
  }
}

BOOST_AUTO_TEST_CASE(ranges_are_read_with_their_defaults) {
  std::vector<net::chunk_range> ranges;
  BOOST_TEST(net::scan_chunk_ranges(
      R"({"ranges":[{"model_scope":"m","tokens":[1,2,300],"object_keys":["ab","cd"],"old_st_base":8},{"old_st_base":0,"model_scope":""}]})",
      ranges));
  BOOST_REQUIRE_EQUAL(ranges.size(), 2U);
  BOOST_TEST((ranges[0].tokens == std::vector<std::uint64_t>{1, 2, 300}));
  BOOST_TEST(ranges[0].object_keys.back() == "cd");
  BOOST_TEST(ranges[0].old_st_base == 8U);
  BOOST_TEST(ranges[1].tokens.empty());
  for (const std::string_view body : {R"({"ranges":[{"model_scope":"m"}]})", R"({"ranges":[{"model_scope":"m","old_st_base":-1}]})",
                                      R"({"ranges":[{"model_scope":"m","old_st_base":1,"tokens":[1.0]}]})", R"({"range":[]})"}) {
    std::vector<net::chunk_range> none;
    BOOST_TEST(!net::scan_chunk_ranges(body, none), body);
  }
}

BOOST_AUTO_TEST_CASE(base64_of_every_length_comes_back) {
  // Decoded four letters at a time; the ends are where that goes wrong.
  BOOST_TEST(net::decode_base64("").value_or("x") == "");
  BOOST_TEST(net::decode_base64("YQ==").value_or("") == "a");
  BOOST_TEST(net::decode_base64("YWI=").value_or("") == "ab");
  BOOST_TEST(net::decode_base64("YWJj").value_or("") == "abc");
  BOOST_TEST(net::decode_base64("/+8AYQ==").value_or("") == std::string("\xff\xef\0a", 4));
  for (const std::string_view bad : {"Y", "YQ=", "Y===", "====", "YQ==YQ==", "YW J", "YWJ\xff", "-_8A"}) {
    BOOST_TEST(!net::decode_base64(bad).has_value(), bad);
  }
}

BOOST_AUTO_TEST_SUITE_END()

// The directory of chunks over sockets: rows of the specification.
#include <cstdint>
#include <cstring>
#include <string>
#include <string_view>
#include <vector>

#include <boost/json/array.hpp>
#include <boost/json/object.hpp>
#include <boost/test/unit_test.hpp>

#include "tests/support/net/coordinator_fixture.hpp"

BOOST_AUTO_TEST_SUITE(coordinator_blend)

namespace {

using namespace kvc::test;

/// Standard base64 of the numbers' little-endian bytes.
template <class Token>
std::string packed(const std::vector<Token>& tokens) {
  constexpr std::string_view letters = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
  std::string bytes(tokens.size() * sizeof(Token), '\0');
  if (!tokens.empty()) std::memcpy(bytes.data(), tokens.data(), bytes.size());
  std::string out;
  for (std::size_t i = 0; i < bytes.size(); i += 3) {
    std::uint32_t bits = 0;
    for (std::size_t k = 0; k < 3; ++k) bits = bits << 8 | (i + k < bytes.size() ? static_cast<unsigned char>(bytes[i + k]) : 0U);
    for (std::size_t k = 0; k < 4; ++k) out += i + k > bytes.size() ? '=' : letters[bits >> (18 - 6 * k) & 63];
  }
  return out;
}

std::string prompt_text(const std::vector<std::uint32_t>& tokens, std::string_view scope = "m") {
  return R"({"model_scope":")" + std::string(scope) + R"(","tokens_b64":")" + packed(tokens) + "\"}";
}

constexpr std::string_view two_chunks =
    R"({"ranges":[{"model_scope":"m","tokens":[1,2,3,4,5,6,7,8,9],"object_keys":["ab","cd"],"old_st_base":8}]})";

}  // namespace

BOOST_AUTO_TEST_CASE(published_chunks_are_found_at_any_offset) {
  coordinator_fixture service;
  BOOST_TEST(service.call("POST", "/blend/fingerprints", two_chunks).body == R"({"inserted":2})", "the tail is no chunk");

  BOOST_TEST(service.call("POST", "/blend/match", prompt_text({9, 5, 6, 7, 8, 1, 2, 3, 4})).body ==
             R"({"matches":[{"object_key":"cd","old_st":12,"cur_st":1},{"object_key":"ab","old_st":8,"cur_st":5}]})");
  BOOST_TEST(service.call("POST", "/blend/match", prompt_text({1, 2, 3, 4, 1, 2, 3, 4})).body ==
                 R"({"matches":[{"object_key":"ab","old_st":8,"cur_st":0}]})",
             "a key is told once, where it comes first");
  BOOST_TEST(service.call("POST", "/blend/match", prompt_text({1, 2, 3})).body == R"({"matches":[]})");
  BOOST_TEST(service.call("POST", "/blend/match", prompt_text({1, 2, 3, 4}, "other model")).body == R"({"matches":[]})");
}

BOOST_AUTO_TEST_CASE(the_first_writer_of_a_chunk_wins) {
  coordinator_fixture service;
  service.call("POST", "/blend/fingerprints", two_chunks);
  BOOST_TEST(service
                 .call("POST", "/blend/fingerprints",
                       R"({"ranges":[{"model_scope":"m","tokens":[1,2,3,4],"object_keys":["ef"],"old_st_base":0}]})")
                 .body == R"({"inserted":0})");
  BOOST_TEST(json_of(service.call("POST", "/blend/match", prompt_text({1, 2, 3, 4}))).at("matches").at(0).at("object_key").as_string() ==
             "ab");
}

BOOST_AUTO_TEST_CASE(a_range_with_another_number_of_keys_is_skipped) {
  coordinator_fixture service;
  BOOST_TEST(
      service
          .call("POST", "/blend/fingerprints",
                R"({"ranges":[{"model_scope":"m","tokens":[1,2,3,4],"object_keys":["a","b"],"old_st_base":0},)"
                R"({"model_scope":"m","old_st_base":0},{"model_scope":"m","tokens":[5,6,7,8],"object_keys":["c"],"old_st_base":0}]})")
          .body == R"({"inserted":1})");
  BOOST_TEST(service.metric("kvc_coordinator_blend_skipped_ranges_total") == 1);
  BOOST_TEST(service.call("POST", "/blend/fingerprints", "{}").body == R"({"inserted":0})");
}

BOOST_AUTO_TEST_CASE(chunks_are_taken_back_by_object_key) {
  coordinator_fixture service;
  service.call("POST", "/blend/fingerprints", two_chunks);
  BOOST_TEST(service.call("DELETE", "/blend/fingerprints", R"({"object_keys":["ab","nobody"]})").body == R"({"removed":1})");
  BOOST_TEST(service.call("DELETE", "/blend/fingerprints", R"({"object_keys":["ab"]})").body == R"({"removed":0})");
  BOOST_TEST(service.call("DELETE", "/blend/fingerprints", "{}").body == R"({"removed":0})");
  BOOST_TEST(service.call("POST", "/blend/match", prompt_text({1, 2, 3, 4})).body == R"({"matches":[]})");
}

BOOST_AUTO_TEST_CASE(wide_tokens_are_taken_too) {
  // Stand-ins for images have 64 bits.
  coordinator_fixture service;
  service.call("POST", "/blend/fingerprints",
               R"({"ranges":[{"model_scope":"m","tokens":[1,18446744073709551615,3,4],"object_keys":["ab"],"old_st_base":0}]})");
  const std::vector<std::uint64_t> tokens{7, 1, ~std::uint64_t{0}, 3, 4};
  BOOST_TEST(service.call("POST", "/blend/match", R"({"model_scope":"m","tokens_u64_b64":")" + packed(tokens) + "\"}").body ==
             R"({"matches":[{"object_key":"ab","old_st":0,"cur_st":1}]})");
  const raw_answer both = service.call("POST", "/blend/match", R"({"model_scope":"m","tokens_b64":"","tokens_u64_b64":""})");
  BOOST_TEST(both.status == 422);
  BOOST_TEST(service.call("POST", "/blend/match", R"({"model_scope":"m"})").body == R"({"matches":[]})",
             "no tokens at all is an empty prompt");
}

BOOST_AUTO_TEST_CASE(what_is_no_prompt_is_told) {
  coordinator_fixture service;
  for (const char* text : {"CQA", "AQAAAA", "AQ=AAAA=", "AQAAAA==AQAAAA==", "AQAA AA=", "*QAAAA==", "AQA="}) {
    const raw_answer refused = service.call("POST", "/blend/match", R"({"model_scope":"m","tokens_b64":")" + std::string(text) + "\"}");
    BOOST_TEST(refused.status == 422, text);
    BOOST_TEST((json_of(refused).at("detail").at(0).at("loc") == boost::json::array{"body", "tokens_b64"}), text);
  }
  for (const char* body : {R"({"tokens_b64":""})", R"({"model_scope":1})", R"({"model_scope":"m","tokens_b64":null})", "[]", ""}) {
    BOOST_TEST(service.call("POST", "/blend/match", body).status == 422, body);
  }
  for (const char* body : {R"({"ranges":[{"tokens":[1]}]})", R"({"ranges":[{"model_scope":"m","old_st_base":-1}]})", R"({"ranges":{}})",
                           R"({"ranges":[{"model_scope":"m","tokens":["x"],"old_st_base":0}]})",
                           R"({"ranges":[{"model_scope":"m","object_keys":[1],"old_st_base":0}]})"}) {
    BOOST_TEST(service.call("POST", "/blend/fingerprints", body).status == 422, body);
  }
  BOOST_TEST(service.call("DELETE", "/blend/fingerprints", R"({"object_keys":"ab"})").status == 422);
  BOOST_TEST(service.metric("kvc_coordinator_blend_chunks") == 0);
}

BOOST_AUTO_TEST_CASE(a_stride_looks_at_fewer_offsets) {
  coordinator_options options;
  options.coordinator.blend_probe_stride = 2;
  coordinator_fixture service(options);
  service.call("POST", "/blend/fingerprints", two_chunks);
  BOOST_TEST(service.call("POST", "/blend/match", prompt_text({0, 1, 2, 3, 4})).body == R"({"matches":[]})");
  BOOST_TEST(json_of(service.call("POST", "/blend/match", prompt_text({0, 0, 1, 2, 3, 4}))).at("matches").at(0).at("cur_st").as_int64() ==
             2);
}

BOOST_AUTO_TEST_CASE(the_directory_has_a_bound_and_says_what_it_dropped) {
  coordinator_fixture service;
  std::string tokens;
  std::string keys;
  for (int i = 0; i < 1'100; ++i) {
    tokens += (i == 0 ? "" : ",") + std::to_string(i) + ",0,0,0";
    keys += (i == 0 ? "\"" : ",\"") + std::to_string(i) + "\"";
  }
  service.call("POST", "/blend/fingerprints",
               R"({"ranges":[{"model_scope":"m","tokens":[)" + tokens + R"(],"object_keys":[)" + keys + R"(],"old_st_base":0}]})");
  BOOST_TEST(service.metric("kvc_coordinator_blend_chunks") == 1'024);
  BOOST_TEST(service.metric("kvc_coordinator_blend_evicted_total") == 76);
}

BOOST_AUTO_TEST_CASE(a_long_prompt_is_held_against_the_directory_in_slices) {
  coordinator_fixture service;
  service.call("POST", "/blend/fingerprints", two_chunks);
  std::vector<std::uint32_t> tokens(100'000, 11);
  for (std::uint32_t i = 0; i < 4; ++i) tokens[99'996 + i] = 5 + i;
  BOOST_TEST(service.call("POST", "/blend/match", prompt_text(tokens)).body ==
             R"({"matches":[{"object_key":"cd","old_st":12,"cur_st":99996}]})");
}

BOOST_AUTO_TEST_SUITE_END()

// Keys of stores' objects, in every form the writers use, and in forms nobody should.
#include "core/pool_key.hpp"

#include <random>
#include <string>
#include <string_view>

#include <boost/test/unit_test.hpp>

namespace kvc::core {

static std::ostream& operator<<(std::ostream& out, key_form form) {
  return out << static_cast<int>(form);
}

BOOST_AUTO_TEST_SUITE(pool_keys)

namespace {

using half = block_part::half;

constexpr std::string_view digest = "749fdc796f99efd836e0126282116392f5a5e4ea5c7ed009f2f58c385525a1f5";
constexpr std::uint64_t last_bytes = 0xf2f58c385525a1f5;   // vLLM's number for it
constexpr std::uint64_t first_bytes = 0x749fdc796f99efd8;  // SGLang's

struct row {
  std::string key;
  key_form form;
  std::uint64_t name = 0;
  std::string_view prefix = "";
  std::string_view model = "";
  block_part part = {};
  std::uint32_t ranks = 0;
  std::uint32_t group = 0;
};

block_part part_of(std::uint32_t tensor, std::uint32_t pipeline = 0, std::uint32_t prefill = 0, std::uint32_t decode = 0) {
  return {.tensor = tensor, .pipeline = pipeline, .prefill_context = prefill, .decode_context = decode};
}
block_part layer_of(std::uint32_t layer, std::uint32_t tensor = 0) {
  return {.tensor = tensor, .layer = layer + 1};
}
block_part half_of(half which, std::uint32_t tensor = 0, std::uint32_t pipeline = 0) {
  return {.tensor = tensor, .pipeline = pipeline, .of = which};
}

std::string with(std::string_view before, std::string_view after = "") {
  return std::string(before) + std::string(digest) + std::string(after);
}

BOOST_AUTO_TEST_CASE(every_form_is_taken_apart) {
  // What names the block, and which part of it: the rest depends on this.
  const std::vector<row> rows{
      {with("m@tp_rank:0@pcp0@dcp0@pp_rank:0@"), key_form::vllm, last_bytes, "", "m", part_of(0)},
      {with("m@tp_rank:3@pcp1@dcp2@pp_rank:4@"), key_form::vllm, last_bytes, "", "m", part_of(3, 4, 1, 2)},
      {with("Qwen/Qwen3-8B@tp_rank:1@pcp0@dcp0@pp_rank:0@group:2@"), key_form::vllm, last_bytes, "", "Qwen/Qwen3-8B", part_of(1), 0, 2},
      {with("team-a@m@tp_rank:1@pcp0@dcp0@pp_rank:0@"), key_form::vllm, last_bytes, "team-a", "m", part_of(1)},
      {with("a@b@m@tp_rank:1@pcp0@dcp0@pp_rank:0@"), key_form::vllm, last_bytes, "a@b", "m", part_of(1)},
      {with("m@pcp0@dcp0@"), key_form::vllm, last_bytes, "", "m", part_of(0)},
      {"m@tp_rank:0@abcdef", key_form::vllm, 0xabcdef, "", "m", part_of(0)},
      {with("m@pcp0@dcp1@head_or_tp_rank:2@"), key_form::ascend, last_bytes, "", "m", part_of(2, 0, 0, 1)},
      {with("m@pcp0@dcp0@head_or_tp_rank:0@pp_rank:1@"), key_form::ascend, last_bytes, "", "m", part_of(0, 1)},
      {with("m@pcp0@dcp0@head_or_tp_rank:2@", "@17"), key_form::ascend, last_bytes, "", "m", layer_of(17, 2)},
      {with("", "_0_k"), key_form::sglang, first_bytes, "", "", half_of(half::keys)},
      {with("", "_3_v"), key_form::sglang, first_bytes, "", "", half_of(half::values, 3)},
      {with("", "_3_1_v"), key_form::sglang, first_bytes, "", "", half_of(half::values, 3, 1)},
      {with("", "__k"), key_form::sglang, first_bytes, "", "", half_of(half::keys)},
      {with("", "_k"), key_form::sglang, first_bytes, "", "", half_of(half::keys)},
      {with("tag_x_", "_1_k"), key_form::sglang, first_bytes, "tag_x", "", half_of(half::keys, 1)},
      {with("", "_Qwen-Qwen3_8B_1_2"), key_form::file, first_bytes, "", "Qwen-Qwen3_8B", part_of(1), 2},
      {with("", "_deepseek"), key_form::file, first_bytes, "", "deepseek", part_of(0), 1},
      {with("vllm@meta/llama@2@1@"), key_form::lmcache, last_bytes, "vllm", "meta/llama", part_of(1), 2},
      {"vllm@m@1@0@-1a", key_form::lmcache, 0 - std::uint64_t{0x1a}, "vllm", "m", part_of(0), 1},
      {with("m@8@7@", "@bfloat16"), key_form::lmcache, last_bytes, "", "m", part_of(7), 8},
      {with("vllm@m@2@0@", "@half@5"), key_form::lmcache, last_bytes, "vllm", "m", layer_of(5, 0), 2},
      {"12345", key_form::number, 12345},
      {"18446744073709551615", key_form::number, ~std::uint64_t{0}},
      {" -1", key_form::number, ~std::uint64_t{0}},
      {"+7", key_form::number, 7},
      {"0x41234125", key_form::number, 0x41234125},
      {std::string(digest), key_form::digest, last_bytes},
  };
  for (const row& each : rows) {
    BOOST_TEST_CONTEXT(each.key) {
      const pool_key key = parse_pool_key(each.key);
      digest_names digests;
      BOOST_TEST(key.form == each.form);
      BOOST_TEST(name_of(key, digests).get() == each.name);
      BOOST_TEST(key.prefix == each.prefix);
      BOOST_TEST(key.model == each.model);
      BOOST_TEST((key.part == each.part));
      BOOST_TEST(key.ranks == each.ranks);
      BOOST_TEST(key.group == each.group);
    }
  }
}

BOOST_AUTO_TEST_CASE(parts_that_differ_have_different_codes) {
  // A part must not be taken for another one.
  const std::vector<block_part> parts{part_of(0),      part_of(1),  part_of(0, 1),       part_of(0, 0, 1),      part_of(0, 0, 0, 1),
                                      layer_of(0),     layer_of(1), half_of(half::keys), half_of(half::values), part_of(4095),
                                      part_of(0, 4095)};
  for (const block_part& left : parts) {
    for (const block_part& right : parts) BOOST_TEST((left.code() == right.code()) == (left == right));
  }
}

BOOST_AUTO_TEST_CASE(what_fits_no_form_is_opaque) {
  // A half understood key would name the wrong block.
  for (const std::string& key : {std::string(),
                                 std::string("key_12345"),
                                 std::string("@"),
                                 std::string("@@@@"),
                                 std::string("_"),
                                 std::string("_k"),
                                 std::string("m@tp_rank:0"),
                                 std::string("m@tp_rank:@abc"),
                                 std::string("m@tp_rank:-1@abc"),
                                 std::string("m@tp_rank:4096@abc"),
                                 std::string("m@tp_rank:99999999999999999999@abc"),
                                 std::string("m@tp_rank:0@tp_rank:1@abc"),
                                 std::string("m@tp_rank:0@head_or_tp_rank:0@abc"),
                                 std::string("m@tp_rank:0@xyz"),
                                 std::string("m@tp_rank:0@abc@x"),
                                 std::string("m@tp_rank:0@abc@1@2"),
                                 std::string("m@tp_rank:0@"),
                                 std::string("m@2@2@abc"),
                                 std::string("m@0@0@abc"),
                                 std::string("m@1@0@"),
                                 std::string("18446744073709551616"),
                                 std::string("0x"),
                                 std::string("0x11112222333344445"),
                                 with("m@tp_rank:0@", std::string(100, 'a')),
                                 with("", "_1_2_3_k"),
                                 with("", "_x_k"),
                                 with("", "_m_2_2"),
                                 with("", "_"),
                                 std::string(5'000, '@'),
                                 std::string(5'000, '_'),
                                 std::string(5'000, 'a'),
                                 std::string("\0@\0@\0", 5),
                                 std::string("\xff\xfe@tp_rank:0@\xff")}) {
    BOOST_TEST_CONTEXT(key.substr(0, 80)) BOOST_TEST(parse_pool_key(key).form == key_form::opaque);
  }
}

BOOST_AUTO_TEST_CASE(views_lie_in_the_key_whatever_it_is) {
  // Keys are anybody's bytes.
  const unsigned seed = std::random_device{}();
  BOOST_TEST_MESSAGE("seed " << seed);
  std::mt19937 random(seed);
  const std::vector<std::string> bits{"@",
                                      "_",
                                      "tp_rank:",
                                      "pcp",
                                      "dcp0",
                                      "head_or_tp_rank:1",
                                      "pp_rank:",
                                      "group:",
                                      "0",
                                      "1",
                                      "17",
                                      "k",
                                      "v",
                                      "m",
                                      "-",
                                      std::string(digest),
                                      "abc",
                                      "0x",
                                      " ",
                                      "\xff",
                                      std::string(1, '\0')};
  for (int i = 0; i < 20'000; ++i) {
    std::string key;
    for (auto n = random() % 14; n > 0; --n) key += bits[random() % bits.size()];
    const pool_key made = parse_pool_key(key);
    for (const std::string_view view : {made.prefix, made.suffix, made.model, made.digits}) {
      BOOST_TEST_REQUIRE((view.empty() || (view.data() >= key.data() && view.data() + view.size() <= key.data() + key.size())),
                         "seed " << seed);
    }
    if (made.form == key_form::opaque) continue;
    digest_names digests;
    (void)name_of(made, digests);
    BOOST_TEST_REQUIRE((made.ranks == 0 || made.part.tensor < made.ranks), "seed " << seed);
  }
}

BOOST_AUTO_TEST_CASE(connectors_shorten_the_names_of_models) {
  // The pool's objects are of the registered model if the key says so in any of their ways.
  BOOST_TEST(is_same_model("Qwen3-8B", "Qwen/Qwen3-8B"));
  BOOST_TEST(is_same_model("Qwen-Qwen3-8B", "Qwen/Qwen3-8B"));
  BOOST_TEST(is_same_model("Qwen/Qwen3-8B", "/models/Qwen/Qwen3-8B/"));
  BOOST_TEST(is_same_model("m", "m"));
  BOOST_TEST(!is_same_model("Qwen3-4B", "Qwen/Qwen3-8B"));
  BOOST_TEST(!is_same_model("8B", "Qwen/Qwen3-8B"));
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace
}  // namespace kvc::core

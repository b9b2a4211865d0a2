#include "net/request_document.hpp"

#include <numeric>

#include <boost/test/unit_test.hpp>

#include "net/msgpack_tape.hpp"
#include "tests/net/query_bodies.hpp"

BOOST_AUTO_TEST_SUITE(request_document_)

namespace {

using namespace kvc;
using namespace kvc::net;
using namespace kvc::test::bodies;

}  // namespace

BOOST_AUTO_TEST_CASE(reads_the_query_of_the_seed) {
  // The contract's own example must be understood member by member.
  const auto got = read(R"({"model":"deepseek","lora_name":"sql-adapter","token_ids":[101,15,100,55,89],"tenant_id":"default",
    "instance_id":"vllm-prefill-node1","block_size":64,"cache_salt":"w8a8"})");

  BOOST_TEST(got->refused() == "");
  BOOST_TEST(got->query.partition.model == "deepseek");
  BOOST_TEST(got->query.partition.lora == "sql-adapter");
  BOOST_TEST(got->query.partition.tenant == "default");
  BOOST_TEST(got->query.partition.salt == "w8a8");
  BOOST_TEST(got->query.partition.block_size == 64U);
  BOOST_TEST(got->query.instance == "vllm-prefill-node1");
  BOOST_TEST(tokens_of(*got) == (std::vector<std::uint32_t>{101, 15, 100, 55, 89}), per_element);
}

BOOST_AUTO_TEST_CASE(reads_the_hash_query_of_the_seed_under_all_its_names) {
  // Earlier drafts called the list block_hash; clients of those are still out there.
  for (const std::string name : {"seq_hashes", "block_hash", "block_hashes"}) {
    const auto got = read(query_with("\"" + name + R"(":[1234567890,9876543210])"), wire_form::json, query_kind::hashes);
    BOOST_TEST(got->refused() == "");
    BOOST_TEST(hashes_of(*got) == (std::vector<std::uint64_t>{1234567890, 9876543210}), per_element);
  }
}

BOOST_AUTO_TEST_CASE(keeps_every_bit_of_a_hash) {
  // Doubles lose bits above 2^53; a wrong bit is a silent miss.
  const auto got = read(query_with(R"("seq_hashes":[9007199254740993,18446744073709551615,-1,-9223372036854775808,
    "18446744073709551615","0xFFFFFFFFFFFFFFFE","-2","0x1f",0])"));

  const std::vector<std::uint64_t> expected{9007199254740993U, ~0ULL, ~0ULL, 1ULL << 63U, ~0ULL, ~0ULL - 1, ~0ULL - 1, 31, 0};
  BOOST_TEST(got->refused() == "");
  BOOST_TEST(hashes_of(*got) == expected, per_element);
}

BOOST_AUTO_TEST_CASE(knows_the_aliases_of_names_and_the_last_value_of_a_name_wins) {
  // Clients of the field disagree on names, and proxies sometimes say things twice.
  for (const std::string name : {"model", "modelname", "model_name"}) {
    const auto got = read(R"({"block_size":4,"token_ids":[],")" + name + R"(":"x"})");
    BOOST_TEST(got->refused() == "");
    BOOST_TEST(got->query.partition.model == "x");
  }
  for (const std::string name : {"cache_salt", "additionalsalt", "additional_salt"}) {
    BOOST_TEST(read(query_with(R"("token_ids":[],")" + name + R"(":"s")"))->query.partition.salt == "s");
  }
  const auto twice = read(query_with(R"("token_ids":[1,"bad"],"model":"first","token_ids":[7],"model":"last")"));
  BOOST_TEST(twice->refused() == "");
  BOOST_TEST(twice->query.partition.model == "last");
  BOOST_TEST(tokens_of(*twice) == std::vector<std::uint32_t>{7}, per_element);
}

BOOST_AUTO_TEST_CASE(fills_in_what_is_missing_null_or_empty) {
  // All three mean the same for identity dimensions.
  for (const std::string members : {"", R"("tenant_id":null,"lora_name":null,"cache_salt":null,"instance_id":null,)",
                                    R"("tenant_id":"","lora_name":"","cache_salt":"","instance_id":"",)"}) {
    const auto got = read(query_with(members + R"("token_ids":[])"));
    BOOST_TEST(got->refused() == "");
    BOOST_TEST(got->query.partition.tenant == "default");
    BOOST_TEST(got->query.partition.lora == "");
    BOOST_TEST(got->query.partition.salt == "");
    BOOST_TEST(got->query.instance == "");
  }
  BOOST_TEST(read(query_with(R"("token_ids":[],"lora_id":7)"))->query.partition.lora == "7");
  for (const char* none : {"0", "-1"}) {  // what is filled in where there is no adapter, as in events
    BOOST_TEST(read(query_with(R"("token_ids":[],"lora_id":)" + std::string(none)))->query.partition.lora.empty());
  }
  BOOST_TEST(read(query_with(R"("token_ids":[],"lora_id":"seven","lora_name":"")"))->query.partition.lora == "seven");
}

BOOST_AUTO_TEST_CASE(ignores_unknown_members_whatever_they_hold) {
  // New clients add members; old servers must not care, nor pay for a tree of them.
  const auto good = read(query_with(R"("future":{"model":"no","token_ids":[9],"deep":[[[[{"a":[1,{"b":null}]}]]]]},"more":[1,"x\ny",{}],
    "queries":[{}],"token_ids":[1,2],"a very long name that nobody has ever heard of and nobody ever will":{"x":1})"));
  BOOST_TEST(good->refused() == "");
  BOOST_TEST(good->query.partition.model == "m");
  BOOST_TEST(tokens_of(*good) == (std::vector<std::uint32_t>{1, 2}), per_element);
}

BOOST_AUTO_TEST_CASE(decodes_tokens_from_base64) {
  // The compact way for JSON clients; little-endian u32 as everywhere.
  const std::vector<std::uint32_t> expected{1, 2, 0xFFFFFFFF};
  BOOST_TEST(tokens_of(*read(query_with(R"("token_ids_b64":"AQAAAAIAAAD/////")"))) == expected, per_element);
  BOOST_TEST(tokens_of(*read(query_with(R"("token_ids_b64":"AQAAAAIAAAD_____")"))) == expected, per_element);
  BOOST_TEST(tokens_of(*read(query_with(R"("token_ids_b64":"AQAAAA==")"))) == std::vector<std::uint32_t>{1}, per_element);
  BOOST_TEST(tokens_of(*read(query_with(R"("token_ids_b64":"AQAAAA")"))) == std::vector<std::uint32_t>{1}, per_element);
  for (const std::string bad : {"AQAAA", "AQAA", "AQ!AAA==", "AQ==AAAA", "AQAAAA=", "A"}) {
    const auto got = read(query_with(R"("token_ids_b64":")" + bad + "\""));
    BOOST_TEST(got->reason() == "invalid_value", bad);
    BOOST_TEST(got->wrong->field == "token_ids_b64");
  }
}

BOOST_AUTO_TEST_CASE(names_the_member_and_the_element_at_fault) {
  // A client that is told where the fault lies can mend it.
  struct example {
    std::string members, reason, field, index;
  };
  const std::vector<example> examples{
      {R"("token_ids":[1,-1])", "out_of_range", "token_ids", "1"},
      {R"("token_ids":[4294967296])", "out_of_range", "token_ids", "0"},
      {R"("token_ids":[1,2,"3"])", "invalid_type", "token_ids", "2"},
      {R"("token_ids":[1.5])", "invalid_type", "token_ids", "0"},
      {R"("token_ids":[1e30])", "out_of_range", "token_ids", "0"},
      {R"("token_ids":[[1]])", "invalid_type", "token_ids", "0"},
      {R"("token_ids":[1,{}])", "invalid_type", "token_ids", "1"},
      {R"("token_ids":[null])", "invalid_type", "token_ids", "0"},
      {R"("token_ids":"1,2")", "invalid_type", "token_ids", ""},
      {R"("token_ids":{})", "invalid_type", "token_ids", ""},
      {R"("token_ids":null)", "missing", "token_ids", ""},
      {R"("detail":true)", "missing", "token_ids", ""},
      {R"("block_hash":["x"])", "invalid_value", "block_hash", "0"},
      {R"("seq_hashes":["0x1","99999999999999999999"])", "invalid_value", "seq_hashes", "1"},
      {R"("seq_hashes":[1.0])", "invalid_type", "seq_hashes", "0"},
      {R"("seq_hashes":[99999999999999999999])", "out_of_range", "seq_hashes", "0"},
      {R"("seq_hashes":[-9223372036854775809])", "out_of_range", "seq_hashes", "0"},  // one beyond, and as a double none beyond
      {R"("token_ids":[],"block_size":-9223372036854775809)", "out_of_range", "block_size", ""},
      {R"("token_ids":[],"model":5)", "invalid_type", "model", ""},
      {R"("token_ids":[],"model":"")", "invalid_value", "model", ""},
      {R"("token_ids":[],"block_size":0)", "out_of_range", "block_size", ""},
      {R"("token_ids":[],"block_size":4294967296)", "out_of_range", "block_size", ""},
      {R"("token_ids":[],"block_size":18446744073709551616)", "out_of_range", "block_size", ""},
      {R"("token_ids":[],"block_size":-99999999999999999999)", "out_of_range", "block_size", ""},
      {R"("token_ids":[],"min_match":18446744073709551616)", "out_of_range", "min_match", ""},
      {R"("token_ids":[],"min_match":1.5)", "invalid_type", "min_match", ""},
      {R"("token_ids":[],"block_size":-4)", "out_of_range", "block_size", ""},
      {R"("token_ids":[],"block_size":"4")", "invalid_type", "block_size", ""},
      {R"("token_ids":[],"block_size":4.0)", "invalid_type", "block_size", ""},
      {R"("token_ids":[],"lora_name":"a","lora_id":1)", "invalid_value", "lora_id", ""},
      {R"("token_ids":[],"lora_id":[])", "invalid_type", "lora_id", ""},
      {R"("token_ids":[],"instance_ids":["a",1])", "invalid_type", "instance_ids", "1"},
      {R"("token_ids":[],"media":"gpu")", "invalid_type", "media", ""},
      {R"("token_ids":[],"min_match":-1)", "out_of_range", "min_match", ""},
      {R"("token_ids":[],"top_k":0)", "out_of_range", "top_k", ""},
      {R"("token_ids":[],"detail":1)", "invalid_type", "detail", ""},
      {R"("token_ids":[],"extra_keys":{})", "invalid_type", "extra_keys", ""},
      {R"("token_ids":[],"hash_kind":"engine")", "invalid_value", "hash_kind", ""},
      {R"("seq_hashes":[],"hash_kind":"other")", "invalid_value", "hash_kind", ""},
  };
  for (const example& each : examples) {
    const auto got = read(query_with(each.members));
    BOOST_TEST(got->reason() == each.reason, each.members << " gave " << got->refused());
    BOOST_REQUIRE(got->wrong.has_value());
    BOOST_TEST(got->wrong->field == each.field, each.members);
    BOOST_TEST((got->wrong->index ? std::to_string(*got->wrong->index) : "") == each.index, each.members);
  }
}

BOOST_AUTO_TEST_CASE(refuses_what_is_no_object_in_json) {
  // Each of these reached somebody's server once.
  for (const std::string body : {"", "   ", "{", "nul", R"({"a":1}})", R"({"a":1} x)", R"({"a":01})", "{'a':1}", R"({"a":1,})", "\xff"}) {
    BOOST_TEST(read(body)->reason() == "invalid_json", body);
  }
  for (const std::string body : {"[]", "null", "1", "\"x\"", "[{\"model\":1}]"}) BOOST_TEST(read(body)->reason() == "invalid_type", body);
  BOOST_TEST(read(std::string(10'000, '['))->reason() == "invalid_json");
}

BOOST_AUTO_TEST_CASE(bounds_the_trees_of_known_members) {
  // Only the long lists may be long; everything else has a bound that is told by name.
  const auto deep = read(query_with(R"("token_ids":[],"extra_keys":[[[[[[[[[[1]]]]]]]]]])"));
  BOOST_TEST(deep->reason() == "invalid_type");  // what is nested deeper than a member takes is nothing it takes
  BOOST_TEST(deep->wrong->field == "extra_keys");
  std::string many = R"("token_ids":[],"media":[)";
  for (std::size_t i = 0; i <= request_document::max_tree_nodes; ++i) many += "1,";
  many += "1]";
  BOOST_TEST(read(query_with(many))->wrong->field == "media");
  const auto long_name = read(query_with(R"("token_ids":[],"tenant_id":")" + std::string(5'000, 'x') + "\""));
  BOOST_TEST(long_name->reason() == "out_of_range");
  BOOST_TEST(long_name->wrong->field == "tenant_id");
}

BOOST_AUTO_TEST_CASE(gives_one_item_per_query_of_a_batch) {
  // One bad query must not spoil its neighbours.
  request_document document;
  const std::string body = R"({"x":[1],"queries":[{"model":"a","block_size":1,"token_ids":[1]},3,[],{"model":"b","block_size":2,
    "seq_hashes":[5,6],"nested":{"model":"no"}},{"token_ids":["x"]}]})";
  BOOST_TEST(!document.read(body, wire_form::json, shape::batch).has_value());

  const auto items = document.items();
  BOOST_TEST(items.size() == 5U);
  query_request first;
  BOOST_TEST(!read_query(document, items[0], query_kind::either, first).has_value());
  BOOST_TEST(first.partition.model == "a");
  BOOST_TEST(first.tokens.size() == 1U);
  query_request none;
  BOOST_TEST(read_query(document, items[1], query_kind::either, none).has_value());
  BOOST_TEST(read_query(document, items[2], query_kind::either, none).has_value());
  query_request fourth;
  BOOST_TEST(!read_query(document, items[3], query_kind::either, fourth).has_value());
  BOOST_TEST(fourth.by_hash);
  BOOST_TEST(fourth.hashes.size() == 2U);
  BOOST_TEST(read_query(document, items[4], query_kind::either, none)->field == "model");

  for (const std::string bad : {"{}", R"({"queries":null})"}) {
    BOOST_TEST((document.read(bad, wire_form::json, shape::batch)->kind == refusal_kind::missing));
  }
  for (const std::string bad : {R"({"queries":{}})", R"({"queries":1})", "[]"}) {
    BOOST_TEST((document.read(bad, wire_form::json, shape::batch)->kind == refusal_kind::invalid_type));
  }
  std::string many = R"({"queries":[)";
  for (std::size_t i = 0; i <= request_document::max_queries; ++i) many += "{},";
  many += "{}]}";
  const checked refused = document.read(many, wire_form::json, shape::batch);
  BOOST_TEST((refused->kind == refusal_kind::out_of_range));
  BOOST_TEST(refused->sentence == "queries holds more than 4096 elements");
  std::string packed;
  msgpack_writer out(packed);
  out.map(1);
  out.string("queries");
  out.array(request_document::max_queries + 1);
  for (std::size_t i = 0; i <= request_document::max_queries; ++i) out.map(0);
  BOOST_TEST(document.read(packed, wire_form::msgpack, shape::batch)->sentence == refused->sentence);
}

BOOST_AUTO_TEST_CASE(what_is_too_much_is_told_with_the_limit) {
  request_document document;
  const auto told = [&](const std::string& extra_keys) {
    const checked refused = document.read(R"({"extra_keys":)" + extra_keys + "}", wire_form::json, shape::single);
    return refused ? refused->sentence : std::string();
  };
  std::string many = "[";
  for (std::size_t i = 0; i < request_document::max_tree_nodes; ++i) many += "1,";
  BOOST_TEST(told(many + "1]") == "extra_keys makes more than 1048576 values");
  const std::string text(request_document::max_text_bytes + 1, 'x');
  BOOST_TEST(told("[\"" + text + "\"]") == "extra_keys makes more than 16777216 bytes of text");
}

BOOST_AUTO_TEST_CASE(reads_messagepack_alike) {
  // The two forms must mean the same, member by member, with a bin as the compact token list.
  std::string body;
  msgpack_writer out(body);
  out.map(6);
  out.string("model_name");
  out.string("m");
  out.unsigned_integer(7);  // a key that is no name
  out.array(1);
  out.string("token_ids");
  out.string("token_ids");
  const std::string tokens("\x01\0\0\0\xff\xff\xff\xff", 8);
  out.binary(std::as_bytes(std::span(tokens)));
  out.string("block_size");
  out.unsigned_integer(16);
  out.string("instance_ids");
  out.array(2);
  out.string("a");
  out.string("b");
  out.string("tenant_id");
  out.nil();
  const auto got = read(body, wire_form::msgpack);

  BOOST_TEST(got->refused() == "");
  BOOST_TEST(got->query.partition.block_size == 16U);
  BOOST_TEST(tokens_of(*got) == (std::vector<std::uint32_t>{1, 0xFFFFFFFF}), per_element);
  BOOST_TEST(*got->query.instances == (std::vector<std::string>{"a", "b"}), per_element);

  body.clear();
  out.map(3);
  out.string("model");
  out.string("m");
  out.string("block_size");
  out.unsigned_integer(1);
  out.string("seq_hashes");
  out.array(4);
  out.unsigned_integer(~0ULL);
  out.integer(-1);
  out.string("0xff");
  out.unsigned_integer(9007199254740993U);
  const auto by_hash = read(body, wire_form::msgpack);
  BOOST_TEST(by_hash->refused() == "");
  BOOST_TEST(hashes_of(*by_hash) == (std::vector<std::uint64_t>{~0ULL, ~0ULL, 255, 9007199254740993U}), per_element);

  body.pop_back();
  BOOST_TEST(read(body, wire_form::msgpack)->reason() == "invalid_msgpack");
  BOOST_TEST(read("\xc0", wire_form::msgpack)->reason() == "invalid_type");
  BOOST_TEST(read("", wire_form::msgpack)->reason() == "invalid_msgpack");
}

BOOST_AUTO_TEST_CASE(names_the_fault_in_messagepack_alike) {
  // Same rules, same reasons, same places.
  const auto with_tokens = [](auto write) {
    std::string body;
    msgpack_writer out(body);
    out.map(3);
    out.string("model");
    out.string("m");
    out.string("block_size");
    out.unsigned_integer(1);
    out.string("token_ids");
    write(out);
    return read(body, wire_form::msgpack);
  };
  const auto negative = with_tokens([](msgpack_writer& out) { out.array(2), out.integer(1), out.integer(-1); });
  BOOST_TEST(negative->reason() == "out_of_range");
  BOOST_TEST(negative->wrong->index.value() == 1U);
  const auto real = with_tokens([](msgpack_writer& out) { out.array(1), out.real(1.0); });
  BOOST_TEST(real->reason() == "invalid_type");
  const auto odd = with_tokens([](msgpack_writer& out) { out.binary(std::as_bytes(std::span("abc", 3))); });
  BOOST_TEST(odd->reason() == "invalid_value");
  const auto nested = with_tokens([](msgpack_writer& out) { out.array(1), out.array(1), out.nil(); });
  BOOST_TEST(nested->reason() == "invalid_type");
  const auto text = with_tokens([](msgpack_writer& out) { out.string("1"); });
  BOOST_TEST(text->reason() == "invalid_type");
  BOOST_TEST(!text->wrong->index.has_value());
}

BOOST_AUTO_TEST_CASE(forgets_the_request_before) {
  // The document is reused by its lane; what one client sent must not reach the next.
  request_document document;
  BOOST_TEST(!document.read(query_with(R"("token_ids":[1,2,3],"tenant_id":"t","detail":true)"), wire_form::json, shape::single));
  BOOST_TEST(!document.read(R"({"model":"n"})", wire_form::json, shape::single));

  query_request query;
  const checked wrong = read_query(document, document.items().front(), query_kind::tokens, query);
  BOOST_REQUIRE(wrong.has_value());
  BOOST_TEST(wrong->field == "block_size");
  BOOST_TEST(query.partition.tenant == "default");
  BOOST_TEST(document.items().size() == 1U);
}

/// What a query understood or refused, in words, to compare two readings.
std::string understood(const read_out& from) {
  if (from.wrong) return from.refused();
  std::string text = from.query.partition.model + "|" + from.query.partition.tenant + "|" + std::to_string(from.query.partition.block_size);
  text += "|" + from.query.instance + "|" + (from.query.top_k ? std::to_string(*from.query.top_k) : "-") +
          (from.query.detail ? "|detail" : "|");
  for (const std::uint32_t each : from.query.tokens) text += ' ' + std::to_string(each);
  for (const core::seq_hash each : from.query.hashes) text += " #" + std::to_string(each.get());
  return text;
}

BOOST_AUTO_TEST_CASE(plain_and_other_bodies_mean_the_same) {
  // Plain bodies take a short way through the reader; nobody may be able to tell. An escaped letter makes any body take the long one.
  const std::string plain =
      R"("tenant_id":"t-1","top_k":3,"detail":true,"unknown":"x","token_ids":[0, 7,4294967295,12345678,99999999,100000000])";
  const std::string hashes = R"("seq_hashes":[0,18446744073709551615,9007199254740993, 12345678,123456789012345678])";
  for (const std::string& members :
       {plain, hashes, plain + "," + hashes, std::string(R"("token_ids":[])"), std::string(R"("token_ids":[1,-1])"),
        std::string(R"("token_ids":[4294967296])"), std::string(R"("seq_hashes":[18446744073709551616])"),
        std::string(R"("token_ids":[1,2],"token_ids":[3])"), std::string(R"("token_ids":[01])"), std::string(R"("token_ids":[1 , 2 ,3])"),
        std::string(R"("token_ids":[1,]})"), R"("token_ids":[)" + std::string(64, ',') + "4]", std::string(R"("top_k":-1)")}) {
    BOOST_TEST_CONTEXT(members) {
      const auto quick = read(query_with(members));
      const auto slow = read(R"({"\u006dodel":"m","block_size":4,)" + members + "}");
      // Faults of the text are told with the byte they are at.
      const bool is_no_json = quick->reason() == "invalid_json";
      BOOST_TEST((is_no_json ? quick->reason() : understood(*quick)) == (is_no_json ? slow->reason() : understood(*slow)));
    }
  }
}

BOOST_AUTO_TEST_CASE(packed_tokens_are_read_whole_and_an_odd_end_is_told) {
  // Whole tokens are copied at once; what is left over must still be noticed.
  for (const std::size_t bytes : {0U, 4U, 8U, 9U, 4'096U, 4'099U}) {
    std::string packed;
    for (std::size_t i = 0; i < bytes; ++i) packed.push_back(static_cast<char>(i * 7));
    std::string body;
    msgpack_writer to(body);
    to.map(3);
    to.string("model"), to.string("m"), to.string("block_size"), to.unsigned_integer(4), to.string("token_ids");
    to.binary(std::as_bytes(std::span(packed)));
    const auto got = read(body, wire_form::msgpack);
    BOOST_TEST_CONTEXT(bytes) {
      BOOST_TEST(got->wrong.has_value() == (bytes % 4 != 0));
      if (got->wrong) continue;
      BOOST_TEST_REQUIRE(got->query.tokens.size() == bytes / 4);
      for (std::size_t i = 0; i < bytes / 4; ++i) {
        std::uint32_t wanted = 0;
        for (std::size_t j = 4; j-- > 0;) wanted = wanted << 8 | static_cast<std::uint8_t>(packed[i * 4 + j]);
        BOOST_TEST(got->query.tokens[i] == wanted);
      }
    }
  }
}

BOOST_AUTO_TEST_SUITE_END()

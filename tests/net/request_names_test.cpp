// Members of bodies under their names: what stands for nothing, what contradicts itself, and what no engine would say.
#include <numeric>

#include <boost/test/unit_test.hpp>

#include "net/msgpack_tape.hpp"
#include "tests/net/query_bodies.hpp"

BOOST_AUTO_TEST_SUITE(request_names)

namespace {

using namespace kvc;
using namespace kvc::net;
using namespace kvc::test::bodies;

}  // namespace

BOOST_AUTO_TEST_CASE(refuses_extra_keys_that_no_engine_reports) {
  // They would enter the hashes and match nothing, which looks like an empty cache.
  for (const std::string keys : {"[5]", "[true]", R"(["x"])", R"([{"a":1}])", "[[1.5]]", "[[null]]", "[[true]]", R"([[{"a":1}]])",
                                 "[[[null]]]", "[[[[1]]]]", R"([[["x",1.5]]])"}) {
    const auto got = read(query_with(R"("token_ids":[],"extra_keys":[null,)" + keys.substr(1)));
    BOOST_TEST(got->reason() == "invalid_type", keys);
    BOOST_REQUIRE(got->wrong.has_value());
    BOOST_TEST(got->wrong->field == "extra_keys");
    BOOST_TEST(got->wrong->index.value() == 1U);
    BOOST_TEST(got->wrong->sentence.find("null or a list of strings, integers, bytes or pairs") != std::string::npos);
  }
  const auto good =
      read(query_with(R"("token_ids":[],"extra_keys":[null,[],["a",-5,["image",7]],[{"type":"mm","identifier":"i","offset":null}]])"));
  BOOST_TEST(good->refused() == "");
  BOOST_TEST(good->query.extra_keys.size() == 4U);
}

BOOST_AUTO_TEST_CASE(null_is_as_good_as_absent) {
  // Clients fill in all members they know, under every name they know; the empty ones must not take back what was sent.
  for (const std::string_view members :
       {R"("token_ids":[0,1,2,3],"token_ids_b64":null)", R"("token_ids_b64":null,"token_ids":[0,1,2,3])",
        R"("token_ids":[0,1,2,3],"token_ids":null)", R"("token_ids":[0,1,2,3],"modelname":null,"model_name":null,"model":null)",
        R"("modelname":null,"token_ids":[0,1,2,3],"seq_hashes":null)"}) {
    const auto got = read(query_with(members));
    BOOST_TEST(got->refused() == "", members);
    BOOST_TEST(got->query.partition.model == "m");
    BOOST_TEST(tokens_of(*got) == (std::vector<std::uint32_t>{0, 1, 2, 3}), per_element);
  }
  BOOST_TEST(read(R"({"model":null,"block_size":4,"token_ids":[]})")->reason() == "missing");
  BOOST_TEST(read(R"({"model":"m","block_size":null,"token_ids":[]})")->reason() == "missing");
  const auto by_hash = read(query_with(R"("seq_hashes":[7],"block_hash":null,"cache_salt":"s","additional_salt":null)"));
  BOOST_TEST(hashes_of(*by_hash) == (std::vector<std::uint64_t>{7}), per_element);
  BOOST_TEST(by_hash->query.partition.salt == "s");

  request_document document;
  const std::string batch =
      R"({"queries":[{"model":"a","block_size":1,"token_ids":[1],"token_ids_b64":null,"model_name":null}],"queries":null})";
  BOOST_TEST(!document.read(batch, wire_form::json, shape::batch).has_value());
  query_request first;
  BOOST_TEST_REQUIRE(document.items().size() == 1U);
  BOOST_TEST(!read_query(document, document.items()[0], query_kind::either, first).has_value());
  BOOST_TEST(first.tokens.size() == 1U);
}

BOOST_AUTO_TEST_CASE(refuses_two_names_for_one_member) {
  // Which of them is meant nobody can know, and the order of members says nothing.
  struct example {
    std::string_view members;
    std::string_view first;
    std::string_view second;
  };
  for (const example& each : {example{R"("token_ids":[],"model_name":"other")", "model", "model_name"},
                              example{R"("token_ids":[1],"token_ids_b64":"")", "token_ids", "token_ids_b64"},
                              example{R"("token_ids_b64":"AQAAAA==","token_ids":[1,0])", "token_ids_b64", "token_ids"},
                              example{R"("block_hash":[1],"seq_hashes":[2])", "block_hash", "seq_hashes"},
                              example{R"("block_hash":[1,2],"seq_hashes":[1])", "block_hash", "seq_hashes"},
                              example{R"("block_hash":"none","seq_hashes":[1])", "block_hash", "seq_hashes"},
                              example{R"("token_ids":[],"cache_salt":"a","additionalsalt":"b")", "cache_salt", "additionalsalt"}}) {
    const auto got = read(query_with(each.members));
    BOOST_TEST(got->reason() == "invalid_value", each.members);
    BOOST_REQUIRE(got->wrong.has_value());
    BOOST_TEST(got->wrong->field == each.second);
    BOOST_TEST(got->wrong->sentence.starts_with(std::string(each.first) + " and " + std::string(each.second) + " are"),
               got->wrong->sentence);
  }
}

BOOST_AUTO_TEST_CASE(names_that_agree_hide_no_others) {
  // However many names there are, and in whatever order they come: what is answered is what all of them mean.
  struct example {
    std::string_view members;
    std::string_view first;
    std::string_view second;
  };
  for (const example& each :
       {example{R"("modelname":"m","token_ids":[],"cache_salt":"a","additional_salt":"b")", "cache_salt", "additional_salt"},
        example{R"("token_ids":[],"cache_salt":"a","additional_salt":"b","modelname":"m")", "cache_salt", "additional_salt"},
        example{R"("modelname":"m","model_name":"other","token_ids":[])", "model", "model_name"},
        example{R"("modelname":"other","model_name":"m","token_ids":[])", "modelname", "model_name"},
        example{R"("token_ids":[],"cache_salt":"a","additional_salt":"b","additionalsalt":"a")", "additional_salt", "additionalsalt"},
        example{R"("token_ids":[],"cache_salt":"a","additional_salt":"a","additionalsalt":"b")", "cache_salt", "additionalsalt"},
        example{R"("modelname":"m","token_ids":[1],"token_ids_b64":"AgAAAA==")", "token_ids", "token_ids_b64"},
        example{R"("modelname":"m","block_hash":[1],"seq_hashes":[2])", "block_hash", "seq_hashes"},
        example{R"("block_hash":[1],"seq_hashes":[2],"block_hashes":[1])", "seq_hashes", "block_hashes"},
        example{R"("block_hash":[1],"seq_hashes":[1],"block_hashes":[2])", "block_hash", "block_hashes"}}) {
    const auto got = read(query_with(each.members));
    BOOST_TEST(got->reason() == "invalid_value", each.members);
    if (!got->wrong) continue;
    BOOST_TEST(got->wrong->field == each.second, each.members);
    BOOST_TEST(got->wrong->sentence.starts_with(std::string(each.first) + " and " + std::string(each.second) + " are"),
               got->wrong->sentence);
  }
}

BOOST_AUTO_TEST_CASE(takes_two_names_for_one_member_that_say_the_same) {
  // Clients that know several servers send each of them the name it knows. What a name said before it came again does not count.
  for (const std::string_view members :
       {R"("token_ids":[],"cache_salt":"a","additionalsalt":"a")", R"("token_ids":[],"cache_salt":"a","additionalsalt":null)",
        R"("modelname":"m","model_name":"m","token_ids":[],"cache_salt":"a","additionalsalt":"a","additional_salt":"a")",
        R"("token_ids":[],"cache_salt":"b","additionalsalt":"a","cache_salt":"a")",
        R"("token_ids":[],"cache_salt":"a","additionalsalt":"b","cache_salt":"a","additionalsalt":"a")"}) {
    BOOST_TEST(read(query_with(members))->refused() == "", members);
  }
}

BOOST_AUTO_TEST_CASE(takes_lists_under_several_names_that_hold_the_same) {
  const auto tokens = read(query_with(R"("token_ids":[1,2],"token_ids_b64":"AQAAAAIAAAA=")"));
  BOOST_TEST(tokens->refused() == "");
  BOOST_TEST(tokens_of(*tokens) == (std::vector<std::uint32_t>{1, 2}), per_element);
  const auto hashes = read(query_with(R"("seq_hashes":[7,-1],"block_hash":["7","0xffffffffffffffff"],"block_hashes":[7,-1])"));
  BOOST_TEST(hashes->refused() == "");
  BOOST_TEST(hashes_of(*hashes) == (std::vector<std::uint64_t>{7, ~std::uint64_t{0}}), per_element);
  BOOST_TEST(read(query_with(R"("token_ids":[],"token_ids_b64":"")"))->refused() == "");
}

BOOST_AUTO_TEST_CASE(takes_members_and_their_names_in_messagepack_alike) {
  // Null erases nothing, two names that differ are one too many.
  for (const bool is_null : {true, false}) {
    std::string body;
    msgpack_writer out(body);
    out.map(6);
    out.string("model");
    out.string("m");
    out.string("modelname");
    is_null ? out.nil() : out.string("other");
    out.string("block_size");
    out.unsigned_integer(1);
    out.string("token_ids");
    out.array(1);
    out.unsigned_integer(5);
    for (const char* name : {"token_ids_b64", "seq_hashes"}) {
      out.string(name);
      out.nil();
    }
    const auto got = read(body, wire_form::msgpack);
    BOOST_TEST(got->reason() == (is_null ? "" : "invalid_value"));
    if (is_null) BOOST_TEST(tokens_of(*got) == (std::vector<std::uint32_t>{5}), per_element);
  }
}

BOOST_AUTO_TEST_CASE(names_that_agree_hide_no_others_in_messagepack) {
  for (const bool differs : {true, false}) {
    std::string body;
    msgpack_writer out(body);
    out.map(7);
    for (const char* name : {"model", "modelname", "cache_salt"}) {
      out.string(name);
      out.string("m");
    }
    out.string("additional_salt");
    out.string(differs ? "other" : "m");
    out.string("block_size");
    out.unsigned_integer(1);
    for (const char* name : {"seq_hashes", "block_hashes"}) {
      out.string(name);
      out.array(1);
      out.unsigned_integer(5);
    }
    const auto got = read(body, wire_form::msgpack);
    BOOST_TEST(got->reason() == (differs ? "invalid_value" : ""));
    if (!differs) BOOST_TEST(hashes_of(*got) == (std::vector<std::uint64_t>{5}), per_element);
  }
}

BOOST_AUTO_TEST_CASE(refuses_strings_that_are_no_text) {
  // A name of other bytes would make every answer and page that shows it unreadable; JSON has always refused them.
  for (const auto& [name, value] : {std::pair("instance_id", "\xff\xfe"), std::pair("unknown", "\xff"), std::pair("\xed\xa0\x80", "x")}) {
    std::string body;
    msgpack_writer out(body);
    out.map(4);
    out.string("model");
    out.string("m\xC3\xA9");
    out.string("block_size");
    out.unsigned_integer(1);
    out.string("seq_hashes");
    out.array(0);
    out.string(name);
    out.string(value);
    BOOST_TEST(read(body, wire_form::msgpack)->reason() == "invalid_msgpack");
    request_document document;
    BOOST_TEST(!document.read(body, wire_form::msgpack, shape::single_of_bytes).has_value());  // who asks for bytes looks for himself
  }
}

BOOST_AUTO_TEST_SUITE_END()

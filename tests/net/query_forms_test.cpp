// One query in many forms: short and odd JSON, MessagePack in every width, alone and in a batch. All mean what was meant, and whatever is
// wrong is told of the same member.
#include <cstdint>
#include <optional>
#include <random>
#include <string>

#include <boost/test/unit_test.hpp>

#include "net/api_types.hpp"
#include "net/request_document.hpp"
#include "tests/net/prompt_queries.hpp"
#include "tests/net/query_forms_writer.hpp"
#include "tests/support/net/api_fixture.hpp"
#include "tests/support/setting.hpp"

BOOST_AUTO_TEST_SUITE(query_forms)

namespace {

using namespace kvc;
using namespace kvc::net;
using namespace kvc::test::forms;
using shape = request_document::shape;

/// What is read from a body, with the query in it at place `at` of a batch, or alone.
std::string understood(const std::string& body, wire_form form, query_kind kind, std::optional<std::size_t> at = std::nullopt) {
  request_document document;
  checked wrong = document.read(body, form, at ? shape::batch : shape::single);
  query_request query;
  if (!wrong) wrong = read_query(document, document.items()[at.value_or(0)], kind, query);
  return wrong ? told(*wrong) : told(query);
}

value query_of(const query_writer& from) {
  value made = map({});
  for (const kvc::test::forms::member& each : from.members) made.members.emplace_back(each.name, each.what);
  return made;
}

}  // namespace

BOOST_AUTO_TEST_CASE(every_form_of_a_query_means_the_same) {
  // Property, from the contract alone: names and their aliases, null, what comes twice, unknown members, order; one fault at a time.
  const std::uint64_t seed = kvc::test::setting("KVC_FORMS_SEED", 20'261'129);
  const std::uint64_t rounds = kvc::test::setting("KVC_FORMS_ROUNDS", 500);
  BOOST_TEST_MESSAGE("seed " << seed << ", rounds " << rounds);
  std::mt19937_64 random(seed);
  std::size_t refused = 0;
  for (std::uint64_t round = 0; round < rounds; ++round) {
    query_writer query(random);
    query.write();
    refused += query.wrong ? 1 : 0;
    std::string expected = query.wrong ? told(refusal{query.wrong->kind, "", query.wrong->field, query.wrong->index}) : told(query.meant);
    const value whole_query = query_of(query);
    const value batch = map({{"queries", list({flag(true), whole_query, map({})})}});
    const query_kind alone = query.is_by_hash ? query_kind::hashes : query_kind::tokens;
    json_form plain(random, false);
    json_form odd(random, true);
    packed_form packed(random);
    if (query.has_keys && !query.wrong) {
      const std::string meant = understood(plain.of(whole_query), wire_form::json, alone);
      BOOST_TEST(meant.starts_with(expected));
      expected = meant;
    }
    BOOST_TEST_CONTEXT("round " << round << ": " << plain.of(whole_query).substr(0, 2'000)) {
      BOOST_TEST(understood(plain.of(whole_query), wire_form::json, alone) == expected);
      BOOST_TEST(understood(odd.of(whole_query), wire_form::json, alone) == expected);
      BOOST_TEST(understood(packed.of(whole_query), wire_form::msgpack, alone) == expected);
      BOOST_TEST(understood(plain.of(batch), wire_form::json, query_kind::either, 1) == expected);
      BOOST_TEST(understood(odd.of(batch), wire_form::json, query_kind::either, 1) == expected);
      BOOST_TEST(understood(packed.of(batch), wire_form::msgpack, query_kind::either, 1) == expected);
    }
  }
  BOOST_TEST((rounds < 100 || (refused > rounds / 10 && refused < rounds)));
}

BOOST_AUTO_TEST_CASE(every_form_of_a_query_is_answered_alike) {
  // To the byte, by every route and whichever form the answer has.
  kvc::test::api_fixture service;
  for (const std::string name : {"a", "b", "aa"}) BOOST_TEST(service.join(name).status == 200);
  const auto prompt = kvc::test::ten_blocks();
  service.hold(service.find_member("a"), prompt, 0, 7);
  service.hold(service.find_member("b"), prompt, 0, 9, core::medium_id::cpu);
  service.hold(service.find_member("b"), prompt, 0, 3);
  std::vector<core::local_hash> locals;
  std::vector<core::seq_hash> hashes;
  core::hash_blocks(prompt, 4, core::default_hash_seed, locals);
  core::roll_from_root(locals, core::default_hash_seed, hashes);

  const std::uint64_t seed = kvc::test::setting("KVC_FORMS_SEED", 20'261'129);
  BOOST_TEST_MESSAGE("seed " << seed);
  std::mt19937_64 random(seed);
  kvc::test::raw_client client(service.port());
  for (int round = 0; round < 60; ++round) {
    query_writer query(random);
    query.write();
    value asked = query_of(query);
    // Of the partition and the prompt that are there, unless they are what is wrong.
    const auto put = [&](const std::vector<std::string>& names, const value& what) {
      if (query.wrong && std::ranges::count(names, query.wrong->field) != 0) return;
      std::erase_if(asked.members, [&](const auto& each) { return std::ranges::count(names, each.first) != 0; });
      asked.members.emplace_back(names.front(), what);
    };
    if (round % 8 != 0) {
      put({"model", "modelname", "model_name"}, text("m"));
      put({"block_size"}, whole(4));
      for (const char* none : {"tenant_id", "lora_name", "lora_id", "cache_salt", "additionalsalt", "additional_salt"})
        put({none}, value{});
    }
    if (round % 2 != 0) put({"prefetch"}, value{});
    value list_of = list({});
    if (query.is_by_hash) {
      for (const core::seq_hash each : hashes) list_of.items.push_back(whole(each.get()));
      put({"seq_hashes", "block_hash", "block_hashes"}, list_of);
    } else {
      for (const std::uint32_t each : prompt) list_of.items.push_back(whole(each));
      put({"token_ids"}, list_of);
    }
    const std::string route = query.is_by_hash ? "/query_by_hash" : "/query";
    json_form plain(random, false);
    json_form odd(random, true);
    packed_form packed(random);
    const kvc::test::header_list is_packed{{"Content-Type", "application/msgpack"}, {"Accept", "application/json"}};
    const kvc::test::header_list wants_packed{{"Accept", "application/msgpack"}};
    BOOST_TEST_CONTEXT("round " << round << ": " << plain.of(asked).substr(0, 2'000)) {
      const auto first = client.ask("POST", route, plain.of(asked));
      BOOST_TEST(first.status == (query.wrong ? 400 : 200), first.body);
      if (query.wrong) BOOST_TEST(first.body.find("\"field\":\"" + query.wrong->field + "\"") != std::string::npos, first.body);
      BOOST_TEST(client.ask("POST", route, odd.of(asked)).body == first.body);
      BOOST_TEST(client.ask("POST", route, packed.of(asked), is_packed).body == first.body);
      const value batch = map({{"queries", list({asked, asked})}});
      const std::string both = R"({"results":[)" + first.body + "," + first.body + "]}";
      BOOST_TEST(client.ask("POST", "/query_batch", plain.of(batch)).body == both);
      BOOST_TEST(client.ask("POST", "/query_batch", odd.of(batch)).body == both);
      BOOST_TEST(client.ask("POST", "/query_batch", packed.of(batch), is_packed).body == both);
      const std::string in_pack = client.ask("POST", route, plain.of(asked), wants_packed).body;
      BOOST_TEST(client.ask("POST", route, packed.of(asked), {is_packed.front()}).body == in_pack);
      const std::string both_in_pack = "\x81\xA7results\x92" + in_pack + in_pack;
      BOOST_TEST(client.ask("POST", "/query_batch", odd.of(batch), wants_packed).body == both_in_pack);
    }
  }
}

BOOST_AUTO_TEST_SUITE_END()

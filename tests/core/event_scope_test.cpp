// What an event may mean beyond what it names: removals across partitions, and the form that tells what names are.
#include <boost/test/unit_test.hpp>

#include "tests/support/applier_stream.hpp"

BOOST_AUTO_TEST_SUITE(event_scopes)

namespace {

using namespace kvc::core;
using namespace kvc::test::applier;

BOOST_AUTO_TEST_CASE(a_removal_takes_nothing_from_another_tenant_model_or_size) {
  // Equal prompts have equal names by the standard, whoever's they are. A removal of what is not held is none of another one's.
  const event_scope own = envelope("default", "m", {}, {});
  const event_scope other = envelope("default", "other", {}, {});
  event_scope of_four = own;
  of_four.block_size = 4;
  stored_event made;
  made.standard_hashes = true;
  made.hashes = {engine_hash{first_in_sequence(hash_block(words{1, 2}, seed)).get()}};
  for (const event_scope& elsewhere : {envelope("t2", {}, {}, {}), other, of_four}) {
    stream at(registered(publisher_type::standard));
    made.scope = own;
    at.apply(made);
    at.apply(removed_event{.scope = elsewhere, .hashes = made.hashes});
    BOOST_TEST(at.depth({1, 2}) == 1U);
    BOOST_TEST(at.tally.unknown_removals == 1U);
    made.scope = other;
    at.apply(made);
    for (int again = 0; again < 2; ++again) at.apply(removed_event{.scope = other, .hashes = made.hashes});
    BOOST_TEST(at.depth({1, 2}) == 1U);
    at.apply(removed_event{.scope = own, .hashes = made.hashes});
    BOOST_TEST(at.depth({1, 2}) == 0U);
  }
}

BOOST_AUTO_TEST_CASE(of_a_stream_to_be_looked_at_the_form_of_an_event_says_what_its_names_mean) {
  const words tokens{1, 2, 3, 4};
  for (const publisher_type type : {publisher_type::standard, publisher_type::automatic}) {
    stream at(registered(type));
    event_scope form;
    form.names_span_groups = true;
    stored_event made;
    made.standard_hashes = true;
    made.scope = form;
    made.hashes = {engine_hash{first_in_sequence(hash_block(words{1, 2}, seed)).get()}};
    for (const medium_id medium : {medium_id::gpu, medium_id::cpu}) {
      made.scope.medium = medium;
      at.apply(made);
    }
    at.clear(form);  // names no medium: all of them
    BOOST_TEST(at.depth({1, 2}) == 0U);
    made.scope.block_size = 4;
    made.hashes = {engine_hash{first_in_sequence(hash_block(tokens, seed)).get()}};
    at.apply(made);
    partition_key of_four = registered(type).partition;
    of_four.block_size = 4;
    BOOST_TEST(at.depth(tokens, all_media, of_four) == 1U);
  }
}

}  // namespace

BOOST_AUTO_TEST_SUITE_END()

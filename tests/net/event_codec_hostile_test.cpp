#include <boost/test/unit_test.hpp>

#include "net/field_rules.hpp"
#include "tests/net/decoding.hpp"

BOOST_AUTO_TEST_SUITE(hostile_events)

namespace {

using namespace kvc;
using namespace kvc::net;
using namespace kvc::net::test;
using writing = std::function<void(msgpack_writer&)>;

/// A stored array `[tag, hashes, parent, tokens, block_size, nil, medium]` with parts to go wrong.
struct stored_parts {
  writing hashes = [](msgpack_writer& to) { list(to, {1, 2}); };
  writing parent = [](msgpack_writer& to) { to.nil(); };
  writing tokens = [](msgpack_writer& to) { list(to, {5, 6, 7, 8}); };
  writing block_size = [](msgpack_writer& to) { to.unsigned_integer(2); };
  writing medium = [](msgpack_writer& to) { to.nil(); };

  static void list(msgpack_writer& to, std::initializer_list<std::int64_t> values) {
    to.array(static_cast<std::uint32_t>(values.size()));
    for (const std::int64_t value : values) to.integer(value);
  }

  void write(msgpack_writer& to) const {
    to.array(7);
    to.string("BlockStored");
    hashes(to);
    parent(to);
    tokens(to);
    block_size(to);
    to.nil();
    medium(to);
  }
};

void write_good(msgpack_writer& to) {
  to.array(2);
  to.string("BlockRemoved");
  to.array(1);
  to.unsigned_integer(9);
}

/// Puts a bad event between two good ones and expects the good ones kept and the bad one counted under `why`.
void check_left_out(reject_reason why, const writing& bad) {
  decoding with;
  const std::string payload = batch_of(3, [&bad](msgpack_writer& to) {
    write_good(to);
    bad(to);
    write_good(to);
  });
  BOOST_TEST_CONTEXT(to_string(why)) {
    BOOST_TEST(!with.decode(payload));
    BOOST_TEST(with.batch.events.size() + with.batch.joined_events == 2U);
    BOOST_TEST(with.batch.rejected_events == 1U);
    BOOST_TEST(with.rejected(why) == 1U);
  }
}

void check_left_out(reject_reason why, const stored_parts& bad) {
  check_left_out(why, [&bad](msgpack_writer& to) { bad.write(to); });
}

}  // namespace

BOOST_AUTO_TEST_CASE(a_bad_event_costs_its_neighbours_nothing) {
  // Publishers have bugs; losing a whole batch for one of them would be a gap.
  check_left_out(reject_reason::not_an_event, [](msgpack_writer& to) { to.unsigned_integer(1); });
  check_left_out(reject_reason::not_an_event, [](msgpack_writer& to) { to.array(0); });
  check_left_out(reject_reason::not_an_event, [](msgpack_writer& to) { to.map(0); });
  check_left_out(reject_reason::unknown_tag, [](msgpack_writer& to) {
    to.array(1);
    to.string("BlockMoved");
  });
  check_left_out(reject_reason::missing_field, [](msgpack_writer& to) {
    to.array(1);
    to.string("BlockStored");
  });
  stored_parts parts;
  parts.hashes = [](msgpack_writer& to) { to.string("no list"); };
  check_left_out(reject_reason::wrong_type, parts);
  parts.hashes = [](msgpack_writer& to) {
    to.array(1);
    to.real(1.5);
  };
  check_left_out(reject_reason::wrong_type, parts);
  parts = {};
  parts.parent = [](msgpack_writer& to) { to.boolean(true); };
  check_left_out(reject_reason::wrong_type, parts);
  parts = {};
  parts.block_size = [](msgpack_writer& to) { to.integer(-1); };
  check_left_out(reject_reason::wrong_type, parts);
  parts = {};
  parts.medium = [](msgpack_writer& to) { to.unsigned_integer(3); };
  check_left_out(reject_reason::wrong_type, parts);
  parts = {};
  parts.tokens = [](msgpack_writer& to) {
    to.array(4);
    for (int i = 0; i < 3; ++i) to.unsigned_integer(5);
    for (int i = 0; i < 100'000; ++i) to.array(1);
    to.nil();
  };
  check_left_out(reject_reason::bad_token, parts);
}

BOOST_AUTO_TEST_CASE(tokens_out_of_range_are_refused) {
  // A token is an unsigned 32-bit number; folding a larger one would make two prompts look alike.
  stored_parts parts;
  for (const std::int64_t token : {std::int64_t{-1}, std::int64_t{1} << 32}) {
    parts.tokens = [token](msgpack_writer& to) { stored_parts::list(to, {5, 6, 7, token}); };
    check_left_out(reject_reason::bad_token, parts);
  }
  parts.tokens = [](msgpack_writer& to) {
    to.array(1);
    to.array(0);
  };
  check_left_out(reject_reason::bad_token, parts);
}

BOOST_AUTO_TEST_CASE(a_chain_that_loops_is_refused) {
  // Applied, it would make a block its own ancestor.
  stored_parts parts;
  parts.hashes = [](msgpack_writer& to) { stored_parts::list(to, {1, 2, 1}); };
  check_left_out(reject_reason::repeated_hash, parts);
  parts.hashes = [](msgpack_writer& to) {  // enough blocks to take the other way of looking
    to.array(40);
    for (std::uint64_t i = 0; i < 40; ++i) to.unsigned_integer(i % 39);
  };
  check_left_out(reject_reason::repeated_hash, parts);
  parts = {};
  parts.parent = [](msgpack_writer& to) { to.unsigned_integer(2); };
  check_left_out(reject_reason::own_parent, parts);
}

BOOST_AUTO_TEST_CASE(a_placeholder_may_name_a_block_twice) {
  // Overlapping chunks of an offload tier do; it is a list of copies, not a chain.
  stored_parts parts;
  parts.hashes = [](msgpack_writer& to) { stored_parts::list(to, {1, 2, 1}); };
  parts.tokens = [](msgpack_writer& to) { to.array(0); };
  decoding with;
  const auto& stored = with.only<core::stored_event>(batch_of(1, [&parts](msgpack_writer& to) { parts.write(to); }));
  BOOST_TEST(stored.hashes.size() == 3U);
}

BOOST_AUTO_TEST_CASE(pairs_nil_and_empty_tokens_are_understood) {
  // Bigram pages send pairs; connectors send nothing.
  stored_parts parts;
  decoding with;
  const auto decode = [&]() -> const core::stored_event& {
    return with.only<core::stored_event>(batch_of(1, [&parts](msgpack_writer& to) { parts.write(to); }));
  };
  parts.tokens = [](msgpack_writer& to) {
    to.array(2);
    stored_parts::list(to, {5, 6});
    stored_parts::list(to, {6, 7});
  };
  BOOST_TEST(decode().tokens == (std::vector<std::uint32_t>{5, 6}), boost::test_tools::per_element());
  parts.tokens = [](msgpack_writer& to) { to.nil(); };
  BOOST_TEST(!decode().has_tokens);
  parts.hashes = [](msgpack_writer& to) { to.array(0); };
  BOOST_TEST(decode().hashes.empty());
}

BOOST_AUTO_TEST_CASE(names_are_integers_of_either_sign_or_digests_of_any_length) {
  // One event may mix them; a digest shorter than eight bytes is a small number.
  stored_parts parts;
  parts.hashes = [](msgpack_writer& to) {
    const std::array<std::byte, 3> small{std::byte{1}, std::byte{2}, std::byte{3}};
    std::array<std::byte, 16> digest{};
    digest[7] = std::byte{0xff};
    digest[15] = std::byte{7};
    to.array(4);
    to.binary(small);
    to.binary(digest);
    to.integer(-1);
    to.unsigned_integer(8);
  };
  decoding with;
  const auto& stored = with.only<core::stored_event>(batch_of(1, [&parts](msgpack_writer& to) { parts.write(to); }));
  BOOST_TEST(bare(stored.hashes) == (std::vector<std::uint64_t>{0x010203, 7, ~std::uint64_t{0}, 8}), boost::test_tools::per_element());
}

BOOST_AUTO_TEST_CASE(lists_over_the_limits_are_refused) {
  // The limits hold whatever the payload could still carry.
  stored_parts parts;
  parts.hashes = [](msgpack_writer& to) {
    to.array(max_event_hashes + 1);
    for (std::uint64_t i = 0; i <= max_event_hashes; ++i) to.unsigned_integer(i);
  };
  check_left_out(reject_reason::too_many_elements, parts);
  parts = {};
  parts.tokens = [](msgpack_writer& to) {
    to.array(max_event_tokens + 1);
    for (std::size_t i = 0; i <= max_event_tokens; ++i) to.unsigned_integer(1);
  };
  check_left_out(reject_reason::too_many_elements, parts);
  decoding with;
  const std::string crowded = batch_of(max_batch_events + 1, [](msgpack_writer& to) {
    for (std::size_t i = 0; i <= max_batch_events; ++i) to.nil();
  });
  BOOST_TEST(with.decode(crowded) == make_error_code(errc::too_many_elements));
  BOOST_TEST(with.batch.events.empty());
}

BOOST_AUTO_TEST_CASE(a_long_prompt_in_pages_of_one_token_is_one_batch) {
  // Pages of one token have an event each: 128 Ki that come while as many others make room.
  constexpr std::uint64_t pages = 131'072;
  decoding with;
  const std::string payload = batch_of(2 * pages, [](msgpack_writer& to) {
    for (std::uint64_t page = 0; page < pages; ++page) {
      stored_parts one;
      one.hashes = [page](msgpack_writer& at) { stored_parts::list(at, {static_cast<std::int64_t>(page) + 1}); };
      one.parent = [page](msgpack_writer& at) { page == 0 ? at.nil() : at.unsigned_integer(page); };
      one.tokens = [](msgpack_writer& at) { stored_parts::list(at, {5}); };
      one.block_size = [](msgpack_writer& at) { at.unsigned_integer(1); };
      one.write(to);
    }
    for (std::uint64_t page = 0; page < pages; ++page) write_good(to);
  });
  BOOST_TEST(!with.decode(payload));
  BOOST_TEST(with.batch.events.size() + with.batch.joined_events == 2 * pages);
  BOOST_TEST(with.batch.rejected_events == 0U);
}

BOOST_AUTO_TEST_CASE(what_is_no_batch_is_an_error) {
  // The stream must learn that a seqno has passed without its batch.
  decoding with;
  for (const char* hex : {"c0", "05", "90", "91c0", "92c0c0",
                          "92a27473"
                          "90",
                          "80", "81a27473c0",
                          "81a6"
                          "6576656e7473"
                          "80",
                          "81a474797065c0"}) {
    BOOST_TEST_CONTEXT(hex) {
      BOOST_TEST(with.decode(samples::from_hex(hex)) == make_error_code(errc::not_a_batch));
    }
  }
  BOOST_TEST(with.decode("") == make_error_code(errc::malformed_msgpack));
}

BOOST_AUTO_TEST_CASE(batches_of_any_shape_are_understood) {
  // Two, three or more elements; whole milliseconds; no rank; no events. An empty batch still takes a seqno.
  decoding with;
  for (const char* hex : {"920090", "93c090c0",
                          "94"
                          "cb41dac043843039569190"
                          "01"
                          "c0",
                          "83a27473"
                          "00"
                          "a6"
                          "6576656e7473"
                          "90"
                          "a1"
                          "78"
                          "00"}) {
    BOOST_TEST_CONTEXT(hex) {
      BOOST_TEST(!with.decode(samples::from_hex(hex)));
      BOOST_TEST(with.batch.events.empty());
    }
  }
  BOOST_TEST(!with.decode(samples::from_hex("93cf000001a1fc20185f9004")));
  BOOST_TEST(with.batch.timestamp_s > 1.7e9);
  BOOST_TEST(with.batch.timestamp_s < 2e9);
  BOOST_TEST((with.batch.rank == core::dp_rank{4}));
}

BOOST_AUTO_TEST_CASE(a_bad_event_teaches_no_word) {
  // There are few places for media, and only events that count take them.
  stored_parts parts;
  parts.medium = [](msgpack_writer& to) { to.string("crystal"); };
  parts.tokens = [](msgpack_writer& to) { to.string("no tokens"); };
  decoding with;
  BOOST_TEST(!with.decode(batch_of(2, [&parts](msgpack_writer& to) {
    parts.write(to);
    to.array(3);
    to.string("BlockUpdateEvent");
    to.string("key");
    to.array(2);
    to.array(2);
    to.string("cheese");
    to.string("here");
    to.nil();  // no replica
  })));
  BOOST_TEST(with.batch.rejected_events == 2U);
  BOOST_TEST(with.media.size() == 3U);
  parts.tokens = [](msgpack_writer& to) { stored_parts::list(to, {5, 6, 7, 8}); };
  BOOST_TEST(!with.decode(batch_of(1, [&parts](msgpack_writer& to) { parts.write(to); })));
  BOOST_TEST(with.media.size() == 4U);
}

BOOST_AUTO_TEST_CASE(a_time_of_another_type_costs_nothing_but_the_time) {
  // It is informational: a publisher whose clock is odd still says which blocks it has.
  const std::vector<writing> odd{
      [](msgpack_writer& to) { to.integer(-1); },   [](msgpack_writer& to) { to.boolean(true); },
      [](msgpack_writer& to) { to.string("now"); }, [](msgpack_writer& to) { to.binary(std::as_bytes(std::span("1", 1))); },
      [](msgpack_writer& to) { to.array(0); },      [](msgpack_writer& to) { to.map(0); }};
  for (std::size_t i = 0; i < odd.size(); ++i) {
    for (const bool is_map : {false, true}) {
      BOOST_TEST_CONTEXT("time " << i << (is_map ? " in a map" : " in an array")) {
        std::string payload;
        msgpack_writer to(payload);
        is_map ? to.map(2) : to.array(2);
        if (is_map) to.string("ts");
        odd[i](to);
        if (is_map) to.string("events");
        to.array(1);
        write_good(to);
        decoding with;
        (void)with.only<core::removed_event>(payload);
        BOOST_TEST(with.batch.timestamp_s == 0.0);
        BOOST_TEST(!with.decoder.decode_by_tape(samples::as_payload(payload), with.batch));
        BOOST_TEST(with.batch.events.size() == 1U);
      }
    }
  }
  // A bare event has its own.
  std::string payload;
  msgpack_writer to(payload);
  to.map(2);
  to.string("type");
  to.string("AllBlocksCleared");
  to.string("timestamp");
  to.string("now");
  decoding with;
  (void)with.only<core::cleared_event>(payload);
}

BOOST_AUTO_TEST_CASE(what_stands_outside_a_batch_is_none) {
  // An event without its batch, and a list of events: read as a batch they would pass for one in which every event is bad.
  decoding with;
  std::string event;
  msgpack_writer to(event);
  write_good(to);
  BOOST_TEST(with.decode(event) == make_error_code(errc::not_a_batch));
  std::string events;
  msgpack_writer many(events);
  many.array(2);
  write_good(many);
  write_good(many);
  BOOST_TEST(with.decode(events) == make_error_code(errc::not_a_batch));
}

BOOST_AUTO_TEST_CASE(a_time_that_no_clock_shows_becomes_none) {
  // Found by fuzzing: converting 1e47 seconds to whole milliseconds is undefined. Also nan, -1.0 and infinity.
  decoding with;
  for (const char* hex : {"92cb49dac0439a2e919390", "92cb7ff800000000000090", "92cbbff000000000000090", "92cb7ff000000000000090"}) {
    BOOST_TEST(!with.decode(samples::from_hex(hex)));
    BOOST_TEST(with.batch.timestamp_s == 0.0);
  }
}

BOOST_AUTO_TEST_CASE(texts_that_name_a_partition_or_an_owner_are_as_long_as_in_a_request) {
  // They are kept as long as their blocks: a publisher that makes up long ones would take memory without a bound.
  for (const std::string_view named : {"lora_name", "lora_id", "cache_salt", "additional_salt", "tenant_id", "model_name", "backend_id"}) {
    for (const std::string_view tag : {"BlockStored", "BlockRemoved"}) {
      const auto event_with = [&](std::size_t length) {
        return [&, length](msgpack_writer& to) {
          to.map(3);
          to.string("type");
          to.string(tag);
          to.string("block_hashes");
          stored_parts::list(to, {1});
          to.string(named);
          to.string(std::string(length, 'x'));
        };
      };
      BOOST_TEST_CONTEXT(named << " of " << tag) {
        check_left_out(reject_reason::too_many_elements, event_with(max_identity_bytes + 1));
        decoding with;
        BOOST_TEST(!with.decode(batch_of(1, event_with(max_identity_bytes))));
        BOOST_TEST(with.batch.rejected_events == 0U);
      }
    }
  }
}

BOOST_AUTO_TEST_SUITE_END()

// SGLang's seven generations of arrays, and its maps.
#include <functional>
#include <map>

#include <boost/test/unit_test.hpp>

#include "net/content_names.hpp"
#include "tests/net/heard_stream.hpp"

BOOST_AUTO_TEST_SUITE(sglang_events)

namespace {

using namespace kvc;
using namespace kvc::net;
using namespace kvc::net::test;

std::uint32_t counted(const decoding& with, core::event_dialect dialect) {
  std::uint32_t sum = 0;
  for (const std::uint32_t each : with.batch.counts.events[static_cast<std::size_t>(dialect)]) sum += each;
  return sum;
}

/// What changed on the wire, by the table of kv-events.md section 3.
struct generation {
  const char* from;
  std::uint32_t batch_length = 3;
  std::uint32_t store_length = 7;  ///< 0: a map
  std::uint32_t removal_length = 3;
  bool is_by_node = false;  ///< one event for each node of its tree, however many pages that is
  bool is_chained = true;   ///< names are of all tokens before as well
  std::string medium = {};
  std::string salt = {};

  [[nodiscard]] bool is_map() const { return store_length == 0; }
  [[nodiscard]] bool is_on_host() const { return medium == "CPU_PINNED"; }
};

const std::vector<generation> generations{
    {.from = "2025-05-19", .batch_length = 2, .store_length = 6, .removal_length = 2, .is_by_node = true, .is_chained = false},
    {.from = "2025-06-04", .store_length = 6, .removal_length = 2, .is_by_node = true, .is_chained = false},
    {.from = "2025-06-11", .store_length = 6, .removal_length = 2, .is_chained = false},
    {.from = "2025-11-28", .store_length = 6, .removal_length = 2},
    {.from = "2026-02-09", .medium = "GPU"},
    {.from = "2026-04-20, of the host's tier", .medium = "CPU_PINNED"},
    {.from = "2026-08, with a salt", .store_length = 8, .medium = "GPU", .salt = "tenant-a"},
    {.from = "2026-09", .store_length = 0, .removal_length = 0, .medium = "GPU"},
    {.from = "2026-09, with a salt", .store_length = 0, .removal_length = 0, .medium = "GPU", .salt = "tenant-a"},
};

using words = applier::words;

/// Python's hashes of some tuples, which were names of pages and nodes until November 2025.
std::uint64_t python_hash(const words& tokens) {
  static const std::map<words, std::uint64_t> known{{{1, 2}, 0xcebbabac205f9f43},
                                                    {{3, 4}, 0x0efa3fa1922e1985},
                                                    {{5, 6}, 0x9ebfeb5ed3fc5b35},
                                                    {{7, 8}, 0xba4013c24bb69ffe},
                                                    {{1, 2, 3, 4}, 0x8334bdca70af290}};
  return known.at(tokens);
}

/// A page, or a node, behind another one.
struct page {
  std::uint64_t name = 0;
  std::optional<std::uint64_t> parent;
  words tokens;
};

page page_of(const generation& of, const words& tokens, const page* behind = nullptr) {
  page made;
  if (behind != nullptr) made.parent = behind->name;
  made.tokens = tokens;
  made.name = python_hash(tokens) ^ (of.is_chained && behind != nullptr ? behind->name * 31 : 0);
  return made;
}

/// The prompt 1, 2, 3, 4 as this generation tells of it.
std::vector<page> two_pages(const generation& of) {
  if (of.is_by_node) return {page_of(of, {1, 2, 3, 4})};
  const page first = page_of(of, {1, 2});
  return {first, page_of(of, {3, 4}, &first)};
}

std::string batch_of_generation(const generation& of, std::uint32_t events, const std::function<void(msgpack_writer&)>& write) {
  std::string out;
  msgpack_writer to(out);
  to.array(of.batch_length);
  to.real(1763700000.5);
  to.array(events);
  write(to);
  if (of.batch_length == 3) to.unsigned_integer(0);
  return out;
}

void write_name(msgpack_writer& to, std::uint64_t name) {
  to.integer(static_cast<std::int64_t>(name));  // signed, whatever it is
}

void write_store(msgpack_writer& to, const generation& of, const page& what) {
  const auto key = [&](std::string_view name) {
    if (of.is_map()) to.string(name);
  };
  if (of.is_map()) {
    to.map(of.salt.empty() ? 7 : 8);
  } else {
    to.array(of.store_length);
  }
  key("type");
  to.string("BlockStored");
  key("block_hashes");
  to.array(1);
  write_name(to, what.name);
  key("parent_block_hash");
  what.parent ? write_name(to, *what.parent) : to.nil();
  key("token_ids");
  to.array(static_cast<std::uint32_t>(what.tokens.size()));
  for (const std::uint32_t each : what.tokens) to.unsigned_integer(each);
  key("block_size");
  to.unsigned_integer(what.tokens.size());
  key("lora_id");
  to.nil();
  if (of.medium.empty()) return;
  key("medium");
  to.string(of.medium);
  if (of.salt.empty()) return;
  if (!of.is_map()) to.map(1);
  to.string("cache_salt");
  to.string(of.salt);
}

std::string stored_by(const generation& of, const std::vector<page>& pages) {
  return batch_of_generation(of, static_cast<std::uint32_t>(pages.size()), [&](msgpack_writer& to) {
    for (const page& each : pages) write_store(to, of, each);
  });
}

std::string removed_by(const generation& of, const std::vector<page>& pages) {
  return batch_of_generation(of, 1, [&](msgpack_writer& to) {
    of.is_map() ? to.map(3) : to.array(of.removal_length);
    if (of.is_map()) to.string("type");
    to.string("BlockRemoved");
    if (of.is_map()) to.string("block_hashes");
    to.array(static_cast<std::uint32_t>(pages.size()));
    for (const page& each : pages) write_name(to, each.name);
    if (of.medium.empty()) return;
    if (of.is_map()) to.string("medium");
    to.string(of.medium);
  });
}

std::string cleared_by(const generation& of) {
  return batch_of_generation(of, 1, [&](msgpack_writer& to) {
    of.is_map() ? to.map(1) : to.array(1);
    if (of.is_map()) to.string("type");
    to.string("AllBlocksCleared");
  });
}

core::partition_key salted(const std::string& salt) {
  core::partition_key key = applier::registered(core::publisher_type::sglang).partition;
  key.salt = salt;
  return key;
}

}  // namespace

BOOST_AUTO_TEST_CASE(signed_names_become_unsigned) {
  // Half of its hashes are negative, and the same block must have one name.
  decoding with;
  BOOST_TEST(bare(with.sample<core::removed_event>(samples::sglang_2025_05_removed).hashes).front() == 0xfc228fb55a288afeU);
  BOOST_TEST(bare(with.sample<core::removed_event>(samples::sglang_2026_09_removed).hashes).front() == 0xfc228fb55a288afeU);
}

BOOST_AUTO_TEST_CASE(a_short_page_keeps_its_own_block_size) {
  // The tail page of a prompt is shorter than the engine's page; whether to index it is decided elsewhere.
  decoding with;
  const auto& stored = with.sample<core::stored_event>(samples::sglang_2026_07_short_page);
  BOOST_TEST(stored.scope.block_size == 8U);
  BOOST_TEST(stored.tokens.size() == 8U);
}

BOOST_AUTO_TEST_CASE(the_salt_is_read_from_the_place_of_vllm_s_adapter) {
  // Index 7 means two things; the type of the value tells which.
  decoding with;
  const auto& stored = with.sample<core::stored_event>(samples::sglang_2026_08_salted);
  BOOST_TEST(stored.scope.salt.value_or("") == "tenant-a");
  BOOST_TEST(!stored.scope.lora.has_value());
  BOOST_TEST(counted(with, core::event_dialect::sglang_array) == 1U);
  BOOST_TEST(bare(stored.hashes) == std::vector<std::uint64_t>{0x50ae5b3d1398f43e}, boost::test_tools::per_element());
  BOOST_TEST(!stored.parent.has_value());
  BOOST_TEST_REQUIRE(stored.tokens.size() == 16U);
  for (std::uint32_t i = 0; i < 16; ++i) BOOST_TEST(stored.tokens[i] == 90'000U + i);
  BOOST_TEST(stored.scope.block_size == 16U);
  BOOST_TEST((stored.scope.medium == core::medium_id::gpu));
  BOOST_TEST((with.batch.rank == core::dp_rank{0}));
}

BOOST_AUTO_TEST_CASE(a_salt_is_a_partition_of_its_own) {
  // Removals do not tell it: the name must find its block.
  heard_stream at(core::publisher_type::sglang);
  core::stored_event acme = stored_of({.names = {1}, .tokens = {7, 8}});
  acme.scope.salt = "acme";
  core::stored_event other = stored_of({.names = {2}, .tokens = {7, 8}});
  other.scope.salt = "other";
  for (const event_form form : {event_form::sglang_2026_02, event_form::sglang_map}) {
    at.say(form, acme);
    const auto& heard = std::get<core::stored_event>(at.with.batch.events.at(0));
    BOOST_TEST(heard.scope.salt.value_or("") == "acme");
    BOOST_TEST(heard.tokens.size() == 2U);
    at.say(form, other);
    BOOST_TEST(at.depth({7, 8}, core::all_media, salted("acme")) == 1U);
    BOOST_TEST(at.depth({7, 8}, core::all_media, salted("other")) == 1U);
    BOOST_TEST(at.depth({7, 8}) == 0U);
    at.say(form, removed_of({1}));
    BOOST_TEST(at.depth({7, 8}, core::all_media, salted("acme")) == 0U);
    BOOST_TEST(at.depth({7, 8}, core::all_media, salted("other")) == 1U);
  }
}

BOOST_AUTO_TEST_CASE(every_generation_moves_the_same_blocks) {
  // Byte for byte as each writes them: arrays of 6, 7 and 8 in batches of 2 and 3, nodes and pages, names of either kind, maps.
  for (const generation& of : generations) {
    BOOST_TEST_CONTEXT("from " << of.from) {
      heard_stream at(core::publisher_type::sglang);
      const auto medium = of.is_on_host() ? core::medium_id::cpu : core::medium_id::gpu;
      const auto depth = [&](const words& prompt) { return at.depth(prompt, core::mask_of(medium), salted(of.salt)); };
      const auto hears = [&](const std::string& payload) {
        BOOST_TEST(at.hear(payload));
        BOOST_TEST(at.with.batch.rejected_events == 0U);
        BOOST_TEST(at.with.batch.counts.unknown.empty());
        BOOST_TEST(at.with.batch.rank.has_value() == (of.batch_length == 3));
      };
      const std::vector<page> prompt = two_pages(of);
      const page next = page_of(of, {5, 6}, &prompt.back());
      hears(stored_by(of, prompt));
      BOOST_TEST(counted(at.with, of.is_map() ? core::event_dialect::sglang_map : core::event_dialect::sglang_array) == prompt.size());
      BOOST_TEST(depth({1, 2, 3, 4, 5, 6}) == 2U);
      hears(stored_by(of, {next}));
      BOOST_TEST(depth({1, 2, 3, 4, 5, 6}) == 3U);
      if (!of.salt.empty()) BOOST_TEST(at.depth({1, 2, 3, 4, 5, 6}) == 0U);
      hears(stored_by(of, {next}));  // logical: said twice is there once
      hears(removed_by(of, {next}));
      BOOST_TEST(depth({1, 2, 3, 4, 5, 6}) == 2U);
      hears(removed_by(of, prompt));  // one event for a node, with the names of all its pages
      BOOST_TEST(depth({1, 2, 3, 4}) == 0U);
      BOOST_TEST(at.applier->names() == 0U);

      hears(stored_by(of, prompt));
      hears(cleared_by(of));
      BOOST_TEST(depth({1, 2, 3, 4}) == (of.is_on_host() ? 2U : 0U));  // the device is cleared, and not what was copied from it
    }
  }
}

BOOST_AUTO_TEST_CASE(equal_pages_of_chained_names_are_two_pages) {
  // The prompt A, A, B holds nothing of A, B but its first page.
  const generation of{.from = "2025-11-28", .store_length = 6, .removal_length = 2};
  heard_stream at(core::publisher_type::sglang);
  const page first = page_of(of, {1, 2});
  const page second = page_of(of, {1, 2}, &first);
  BOOST_TEST(at.hear(stored_by(of, {first, second, page_of(of, {3, 4}, &second)})));
  BOOST_TEST(at.depth({1, 2, 1, 2, 3, 4}) == 3U);
  BOOST_TEST(at.depth({1, 2, 3, 4}) == 1U);
}

BOOST_AUTO_TEST_CASE(behind_equal_pages_of_one_name_nothing_is_believed) {
  // Of A, A, B the second A is its own parent, and B's parent is either. Behind the first, A, B would seem to be cached.
  for (const bool is_by_node : {false, true}) {
    const generation of{
        .from = "2025", .batch_length = 2, .store_length = 6, .removal_length = 2, .is_by_node = is_by_node, .is_chained = false};
    heard_stream at(core::publisher_type::sglang);
    const page a = page_of(of, {1, 2});
    const page a_again = page_of(of, {1, 2}, &a);
    const page b = page_of(of, {3, 4}, &a);
    const page c = page_of(of, {5, 6}, &b);
    const page d = page_of(of, {7, 8}, &a);
    BOOST_TEST(at.hear(stored_by(of, {a, d})));
    BOOST_TEST(at.depth({1, 2, 7, 8}) == 2U);
    BOOST_TEST(at.hear(stored_by(of, {a_again, b})));
    BOOST_TEST(at.with.batch.rejected_events == 2U);
    BOOST_TEST(at.hear(stored_by(of, {c})));  // in a batch of its own, which is plain
    BOOST_TEST(at.hear(stored_by(of, {b, c})));
    BOOST_TEST(at.with.rejected(reject_reason::own_parent) == 5U);
    BOOST_TEST(at.depth({1, 2, 3, 4, 5, 6}) == 1U);
    BOOST_TEST(at.depth({1, 2, 1, 2, 3, 4}) == 1U);
    BOOST_TEST(at.depth({1, 2, 7, 8}) == 2U);  // was told before, and so behind the first
    BOOST_TEST(at.depth({3, 4}) == 0U);
    BOOST_TEST(at.applier->orphans() == 0U);

    BOOST_TEST(at.hear(cleared_by(of)));  // nothing has been told twice any more
    BOOST_TEST(at.hear(stored_by(of, {a, b})));
    BOOST_TEST(at.depth({1, 2, 3, 4}) == 2U);
    BOOST_TEST(at.hear(stored_by(of, {a_again})));
    at.with.decoder.begin_anew();
    BOOST_TEST(at.hear(stored_by(of, {c})));
    BOOST_TEST(at.depth({1, 2, 3, 4, 5, 6}) == 3U);
  }
}

BOOST_AUTO_TEST_CASE(a_page_that_is_its_own_parent_by_mistake_costs_nobody_else) {
  // Its name is not that of its tokens, so the publisher does not name pages so.
  const generation of{.from = "2026-02-09", .medium = "GPU"};
  heard_stream at(core::publisher_type::sglang);
  page a = page_of(of, {1, 2});
  a.name = 77;
  page mistaken = a;
  mistaken.parent = a.name;
  BOOST_TEST(at.hear(stored_by(of, {a, mistaken, page_of(of, {3, 4}, &a)})));
  BOOST_TEST(at.with.rejected(reject_reason::own_parent) == 1U);
  BOOST_TEST(at.depth({1, 2, 3, 4}) == 2U);
}

BOOST_AUTO_TEST_CASE(names_by_content_are_python_s_hashes_of_tuples) {
  // Computed by CPython 3.11.
  const auto name_of = [](const std::function<void(msgpack_writer&)>& write) {
    std::string payload;
    msgpack_writer to(payload);
    write(to);
    msgpack_tape tape;
    BOOST_TEST_REQUIRE(!tape.parse(samples::as_payload(payload), msgpack_tape::deeper::opaque));
    return content_name_of(tape_value(tape.nodes().data(), 0));
  };
  const auto list = [](msgpack_writer& to, const words& of) {
    to.array(static_cast<std::uint32_t>(of.size()));
    for (const std::uint32_t each : of) to.unsigned_integer(each);
  };
  using core::engine_hash;
  BOOST_TEST((name_of([&](msgpack_writer& to) { list(to, {1, 2, 3}); }) == engine_hash{529344067295497451U}));
  BOOST_TEST((name_of([&](msgpack_writer& to) {
                list(to, {0, 1, 2, 3, 4, 5, 6, 7, 8, 9});
              }) == engine_hash{static_cast<std::uint64_t>(-2040549277248155741)}));
  BOOST_TEST((name_of([&](msgpack_writer& to) { list(to, {}); }) == engine_hash{5740354900026072187U}));
  BOOST_TEST((name_of([&](msgpack_writer& to) {  // of pairs
                to.array(2);
                list(to, {1, 2});
                list(to, {2, 3});
              }) == engine_hash{8374439192799522889U}));
  BOOST_TEST(!name_of([](msgpack_writer& to) { to.string("tokens"); }).has_value());
  BOOST_TEST(!name_of([](msgpack_writer& to) {
                to.array(1);
                to.integer(-1);
              }).has_value());
}

BOOST_AUTO_TEST_CASE(ambiguous_names_are_bounded_and_then_every_name_is) {
  // Rather too short an answer than too long.
  ambiguous_names names;
  std::vector<core::engine_hash> many;
  for (std::uint64_t i = 0; i < ambiguous_names::max_names; ++i) many.emplace_back(i);
  names.add(many);
  names.add(many);
  BOOST_TEST(!names.covers(core::engine_hash{1'000'000}));
  names.add(std::vector{core::engine_hash{500'000}});
  BOOST_TEST(names.covers(core::engine_hash{1'000'000}));
  names.clear();
  BOOST_TEST(!names.is_any());
  BOOST_TEST(!names.covers(core::engine_hash{1}));
}

BOOST_AUTO_TEST_CASE(host_and_disk_tiers_are_folded) {
  // HiCache announces its tiers under its own words.
  decoding with;
  for (const auto& [word, medium] : std::vector<std::pair<std::string, core::medium_id>>{
           {"CPU_PINNED", core::medium_id::cpu}, {"DISK", core::medium_id::disk}, {"EXTERNAL", static_cast<core::medium_id>(3)}}) {
    const auto& removed = with.only<core::removed_event>(batch_of(1, [&name = word](msgpack_writer& to) {
      to.array(3);
      to.string("BlockRemoved");
      to.array(1);
      to.integer(-5);
      to.string(name);
    }));
    BOOST_TEST((removed.scope.medium == medium), word);
    BOOST_TEST(with.batch.counts.unknown.empty());
  }
}

BOOST_AUTO_TEST_SUITE_END()

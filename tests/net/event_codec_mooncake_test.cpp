// Mooncake's four generations.
#include <boost/test/unit_test.hpp>

#include "tests/net/heard_stream.hpp"

BOOST_AUTO_TEST_SUITE(mooncake_events)

namespace {

using namespace kvc;
using namespace kvc::net;
using namespace kvc::net::test;
using change = core::object_event::change;

void write_replica(msgpack_writer& to, std::string_view kind, std::string_view location) {
  to.array(2);
  to.string(kind);
  to.string(location);
}

/// The guide's own example.
void write_store_event(msgpack_writer& to) {
  to.array(8);
  to.string("BlockStoreEvent");
  to.string("key_12345");
  to.array(3);
  write_replica(to, "memory", "tcp://192.168.1.10:6000");
  write_replica(to, "disk", "/data/blocks/block_12345.bin");
  write_replica(to, "local_disk", "tcp://192.168.1.10:7000");
  to.string("llama2-7b");
  to.unsigned_integer(512);
  to.string("0x41234125");
  to.string("0x51512342");
  to.array(5);
  for (std::uint64_t token = 1; token <= 5; ++token) to.unsigned_integer(token);
}

/// An envelope of a store with these members beside the type.
std::string envelope(std::string_view word, const std::vector<std::pair<std::string, std::function<void(msgpack_writer&)>>>& members) {
  return batch_of(1, [&](msgpack_writer& to) {
    to.map(static_cast<std::uint32_t>(members.size() + 1));
    to.string("event_type");
    to.string(word);
    for (const auto& [name, write] : members) {
      to.string(name);
      write(to);
    }
  });
}

auto text(std::string value) {
  return [value](msgpack_writer& to) { to.string(value); };
}
void empty_list(msgpack_writer& to) {
  to.array(0);
}

core::registration pool_of(std::string backend = {}) {
  core::registration made = applier::registered(core::publisher_type::mooncake, core::publisher_class::pool);
  made.copy_counting = core::counts_copies(made.type);
  made.backend_id = std::move(backend);
  return made;
}

}  // namespace

BOOST_AUTO_TEST_CASE(what_an_array_leaves_unset_may_be_an_empty_text) {
  // Whatever its type is otherwise.
  decoding with;
  const auto& stored = with.only<core::object_event>(batch_of(1, [](msgpack_writer& to) {
    to.array(8);
    to.string("BlockStoreEvent");
    to.string("key");
    to.array(1);
    write_replica(to, "memory", "tcp://192.168.1.10:6000");
    for (int unset = 0; unset < 5; ++unset) to.string("");
  }));
  BOOST_TEST(stored.scope.object_key == "key");
  BOOST_TEST(stored.replicas.size() == 1U);
  BOOST_TEST(stored.scope.block_size == 0U);
  BOOST_TEST(!stored.name.has_value());
  BOOST_TEST(!stored.parent.has_value());
  BOOST_TEST(stored.tokens.empty());
}

BOOST_AUTO_TEST_CASE(the_guide_s_example_is_understood) {
  // Objects by name, with all their replicas and what they hold.
  decoding with(core::publisher_type::mooncake);
  const auto& stored = with.only<core::object_event>(batch_of(1, write_store_event));
  BOOST_TEST((stored.what == change::stored));
  BOOST_TEST(stored.scope.object_key == "key_12345");
  BOOST_TEST(stored.scope.model.value_or("") == "llama2-7b");
  BOOST_TEST(stored.scope.block_size == 512U);
  BOOST_TEST((stored.name == core::engine_hash{0x41234125}));
  BOOST_TEST((stored.parent == core::engine_hash{0x51512342}));
  BOOST_TEST(stored.tokens == (std::vector<std::uint32_t>{1, 2, 3, 4, 5}), boost::test_tools::per_element());
  BOOST_TEST_REQUIRE(stored.replicas.size() == 3U);
  BOOST_TEST((stored.replicas[0].medium == core::medium_id::cpu));
  BOOST_TEST((stored.replicas[1].medium == core::medium_id::disk));
  BOOST_TEST((stored.replicas[2].medium == core::medium_id::disk));
  BOOST_TEST((stored.replicas[0].kind == core::replica_kind::memory));
  BOOST_TEST((stored.replicas[1].kind == core::replica_kind::disk));
  BOOST_TEST((stored.replicas[2].kind == core::replica_kind::local_disk));
  BOOST_TEST(stored.replicas[0].location == "tcp://192.168.1.10:6000");
}

BOOST_AUTO_TEST_CASE(the_first_format_of_the_real_publisher_is_understood) {
  // Unset values are empty texts, zeros and empty lists; an empty list of replicas says that the object is gone.
  decoding with(core::publisher_type::mooncake);
  const auto& unset = with.sample<core::object_event>(samples::mooncake_old_store_unset);
  BOOST_TEST(unset.scope.object_key == "key_unset");
  BOOST_TEST(unset.replicas.size() == 1U);
  BOOST_TEST(!unset.scope.model.has_value());
  BOOST_TEST(!unset.name.has_value());
  BOOST_TEST(!unset.parent.has_value());
  BOOST_TEST(unset.scope.block_size == 0U);
  const auto& gone = with.sample<core::object_event>(samples::mooncake_old_update_gone);
  BOOST_TEST((gone.what == change::updated));
  BOOST_TEST(gone.replicas.empty());
  BOOST_TEST(gone.scope.object_key == "key_12345");
  (void)with.sample<core::cleared_event>(samples::mooncake_old_remove_all);
  BOOST_TEST(with.batch.counts.events[static_cast<std::size_t>(core::event_dialect::mooncake_array)][2] == 1U);
}

BOOST_AUTO_TEST_CASE(a_replica_that_cannot_be_read_spoils_its_event) {
  // Without it the object might look gone.
  decoding with(core::publisher_type::mooncake);
  BOOST_TEST(!with.decode(batch_of(3, [](msgpack_writer& to) {
    to.array(3);
    to.string("BlockUpdateEvent");
    to.string("key");
    to.array(1);
    to.string("no replica");
    to.array(2);  // no list at all
    to.string("BlockUpdateEvent");
    to.string("key");
    write_store_event(to);
  })));
  BOOST_TEST(with.batch.events.size() == 1U);
  BOOST_TEST(with.rejected(reject_reason::wrong_type) == 1U);
  BOOST_TEST(with.rejected(reject_reason::missing_field) == 1U);
}

BOOST_AUTO_TEST_CASE(keys_and_lists_of_replicas_are_bounded) {
  // A store's keys are file names, not files.
  decoding with(core::publisher_type::mooncake);
  BOOST_TEST(!with.decode(batch_of(2, [](msgpack_writer& to) {
    to.array(3);
    to.string("BlockUpdateEvent");
    to.string(std::string(max_object_key_bytes + 1, 'k'));
    to.array(0);
    to.array(3);
    to.string("BlockUpdateEvent");
    to.string("key");
    to.array(max_object_replicas + 1);
    for (std::size_t i = 0; i <= max_object_replicas; ++i) write_replica(to, "memory", "here");
  })));
  BOOST_TEST(with.batch.events.empty());
  BOOST_TEST(with.rejected(reject_reason::too_many_elements) == 2U);
}

BOOST_AUTO_TEST_CASE(a_removal_of_the_master_means_every_medium) {
  // It sends one for all replicas and labels it with a medium of no meaning; the branch means the medium that it names.
  decoding with(core::publisher_type::mooncake);
  const auto& removed = with.sample<core::removed_event>(samples::mooncake_main_removed);
  BOOST_TEST(removed.all_media);
  BOOST_TEST(bare(removed.hashes) == std::vector<std::uint64_t>{12345}, boost::test_tools::per_element());
  BOOST_TEST(removed.scope.object_key == "12345");
  BOOST_TEST(removed.scope.backend.value_or("") == "store-node-1");
  const auto& of_branch = with.only<core::removed_event>(envelope(
      "removed", {{"model_name", text("m")}, {"medium", text("disk")}, {"object_key", text("k")}, {"connector_block_hash", text("0x0c")}}));
  BOOST_TEST(!of_branch.all_media);
  BOOST_TEST((of_branch.scope.medium == core::medium_id::disk));
  BOOST_TEST(bare(of_branch.hashes) == std::vector<std::uint64_t>{12}, boost::test_tools::per_element());
}

BOOST_AUTO_TEST_CASE(a_clear_of_the_branch_names_its_backend_and_tenant) {
  // It is no clear of everything.
  decoding with(core::publisher_type::mooncake);
  const auto& cleared = with.sample<core::cleared_event>(samples::mooncake_branch_cleared);
  BOOST_TEST(cleared.scope.backend.value_or("") == "pool-a");
  BOOST_TEST(cleared.scope.tenant.value_or("") == "tenant-a");
  BOOST_TEST(!cleared.scope.medium.has_value());
}

BOOST_AUTO_TEST_CASE(a_clear_of_the_branch_takes_what_others_told_under_other_models) {
  // The sample names "fallback-model", for want of a better word, and a block size of its configuration.
  heard_stream at(pool_of("pool-a"));
  at.store({11}, {1, 2}, applier::envelope("tenant-a", "m", {}, {}));
  at.store({12}, {1, 2}, applier::envelope("tenant-b", "m", {}, {}));
  BOOST_TEST(at.hear_hex(samples::mooncake_branch_cleared));
  core::partition_key key = applier::registered(core::publisher_type::mooncake).partition;
  key.tenant = "tenant-a";
  BOOST_TEST(at.depth({1, 2}, core::all_media, key) == 0U);
  key.tenant = "tenant-b";
  BOOST_TEST(at.depth({1, 2}, core::all_media, key) == 1U);
}

BOOST_AUTO_TEST_CASE(an_empty_list_of_replicas_ends_an_object_in_either_event) {
  // Both carry the full list; a map event has none, and says where the object is by its medium.
  heard_stream at(pool_of());
  core::object_event object;
  object.scope.object_key = "key_1";
  object.name = core::engine_hash{0xabc};
  object.tokens = {1, 2};
  at.say(event_form::mooncake_array, object);
  BOOST_TEST(at.depth({1, 2}) == 0U);
  object.replicas = {{core::medium_id::cpu, "here"}};
  at.say(event_form::mooncake_array, object);
  BOOST_TEST(at.depth({1, 2}) == 1U);
  object.replicas.clear();
  at.say(event_form::mooncake_array, object);
  BOOST_TEST(at.depth({1, 2}) == 0U);
  BOOST_TEST(at.applier->pooled().objects == 0U);
  object.scope.object_key = "123";
  object.scope.medium = core::medium_id::cpu;
  at.say(event_form::mooncake_master, object);
  BOOST_TEST(at.applier->pooled().objects == 1U);
}

BOOST_AUTO_TEST_CASE(a_connector_s_hash_is_the_engine_s_digest) {
  // The same block has one name in the engine's stream, as integer or digest, and in the store's, as hexadecimal text.
  decoding with(core::publisher_type::mooncake);
  const std::string digest = "749fdc796f99efd836e0126282116392f5a5e4ea5c7ed009f2f58c385525a1f5";
  for (const std::string& written : {digest, "0x" + digest}) {
    const auto& stored = with.only<core::stored_event>(envelope(
        "stored", {{"object_key", text("m@pcp0@dcp0@" + digest)}, {"connector_block_hash", text(written)}, {"seq_hashes", empty_list}}));
    BOOST_TEST(bare(stored.hashes) == std::vector<std::uint64_t>{0xf2f58c385525a1f5}, boost::test_tools::per_element());
    BOOST_TEST(!stored.standard_hashes);
  }
}

BOOST_AUTO_TEST_CASE(raw_keys_are_handed_out_and_taken_apart) {
  // The later master forwards keys only: the codec hands them on, and which block they mean is in them, until they are removed.
  heard_stream at(pool_of());
  BOOST_TEST(
      at.hear(envelope("stored", {{"object_key", text("m@tp_rank:0@abcdef")}, {"medium", text("cpu")}, {"seq_hashes", empty_list}})));
  BOOST_TEST_REQUIRE(at.with.batch.events.size() == 1U);
  const auto& stored = std::get<core::object_event>(at.with.batch.events[0]);
  BOOST_TEST((stored.what == change::stored));
  BOOST_TEST(stored.scope.object_key == "m@tp_rank:0@abcdef");
  BOOST_TEST((stored.scope.medium == core::medium_id::cpu));
  BOOST_TEST(at.applier->pooled().waiting == 1U);
  BOOST_TEST(at.hear(envelope("removed", {{"object_key", text("m@tp_rank:0@abcdef")}})));
  BOOST_TEST((std::get<core::object_event>(at.with.batch.events.at(0)).what == change::removed));
  BOOST_TEST(at.applier->pooled().objects == 0U);
  BOOST_TEST(at.tally.unplaced == 0U);
  BOOST_TEST(at.hear(envelope("stored", {{"medium", text("cpu")}})));  // neither block nor object
  BOOST_TEST(at.with.rejected(reject_reason::missing_field) == 1U);
}

BOOST_AUTO_TEST_CASE(every_generation_is_written_and_read_back) {
  // What a simulated store says is what the conductor hears.
  core::object_event object;
  object.scope.object_key = "key_1";
  object.scope.medium = core::medium_id::disk;
  object.replicas = {{core::medium_id::cpu, "here"},
                     {core::medium_id::disk, "there", core::replica_kind::disk},
                     {core::medium_id::disk, "beside it", core::replica_kind::local_disk}};
  object.name = core::engine_hash{0xabc};
  object.tokens = {4, 5};
  heard_stream at(pool_of());
  at.say(event_form::mooncake_array, object);
  const auto& heard = std::get<core::object_event>(at.with.batch.events.at(0));
  BOOST_TEST((heard.replicas == object.replicas));
  BOOST_TEST((heard.name == object.name));
  BOOST_TEST((heard.tokens == object.tokens));
  object.what = change::removed;
  at.say(event_form::mooncake_array, object);
  BOOST_TEST(std::get<core::object_event>(at.with.batch.events.at(0)).replicas.empty());
  at.say(event_form::mooncake_master, object);
  BOOST_TEST((std::get<core::object_event>(at.with.batch.events.at(0)).what == change::removed));

  core::stored_event block = stored_of({.names = {~std::uint64_t{1}}, .tokens = {}, .medium = core::medium_id::disk});
  block.scope.object_key = "18446744073709551614";
  for (const event_form form : {event_form::mooncake_master, event_form::mooncake_branch}) {
    at.say(form, block);
    const auto& stored = std::get<core::stored_event>(at.with.batch.events.at(0));
    BOOST_TEST(bare(stored.hashes) == std::vector<std::uint64_t>{~std::uint64_t{1}}, boost::test_tools::per_element());
    BOOST_TEST(stored.scope.object_key == "18446744073709551614");
    BOOST_TEST((stored.scope.medium == core::medium_id::disk));
  }
  at.say(event_form::mooncake_branch, core::cleared_event{});
  BOOST_TEST(std::holds_alternative<core::cleared_event>(at.with.batch.events.at(0)));
}

BOOST_AUTO_TEST_SUITE_END()

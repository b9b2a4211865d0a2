// Dumps written down, in both forms, and the compact one read back.
#include <string>
#include <vector>

#include <boost/test/unit_test.hpp>

#include "core/block_hasher.hpp"
#include "net/dump_events.hpp"
#include "tests/support/net/dump_samples.hpp"

BOOST_AUTO_TEST_SUITE(dump_codec)

namespace {

using namespace kvc;
using core::engine_hash;
using core::local_hash;
using core::medium_id;

}  // namespace

BOOST_AUTO_TEST_CASE(what_is_written_is_read_back_and_means_the_same) {
  // The compact form is the way back in: holes, copies, lone blocks and waiting ones included.
  core::medium_table media;

  auto workers = test::restore(test::sample_dump(media), media);
  BOOST_REQUIRE(workers.size() == 1U);
  test::restored_worker& who = workers.front();

  BOOST_TEST(who.owner.worker.instance == "engine-1");
  BOOST_TEST(who.owner.worker.rank.get() == 2U);
  BOOST_TEST(who.end.seqno->get() == 7U);
  BOOST_TEST(who.homes.front()->key().salt == "s");
  BOOST_TEST(who.blocks->held_on(medium_id::gpu) == 2U);
  BOOST_TEST(who.blocks->held_on(medium_id::cpu) == 1U);
  BOOST_TEST(who.blocks->held_on(medium_id::disk) == 1U);
  BOOST_TEST(who.blocks->orphans() == 1U);
  const std::vector<local_hash> query{local_hash{1}, local_hash{2}, local_hash{3}};
  BOOST_TEST(test::depth_of(who, 1, query) == 1U);  // a hole behind it
  core::apply_tally tally;
  const std::vector<engine_hash> once{engine_hash{11}, engine_hash{21}};
  who.blocks->remove(once, medium_id::gpu, tally);
  BOOST_TEST(test::depth_of(who, 1, query) == 1U);  // one of two copies has gone
  who.blocks->remove(std::span(once).last(1), medium_id::gpu, tally);
  BOOST_TEST(test::depth_of(who, 1, query) == 0U);
  BOOST_TEST(tally.unknown_removals == 0U);
}

BOOST_AUTO_TEST_CASE(a_dump_cut_short_anywhere_is_refused) {
  // A transfer that broke off must not pass for a small dump.
  core::medium_table media;
  const std::string whole = test::sample_dump(media);

  for (std::size_t length = 0; length < whole.size(); ++length) {
    BOOST_CHECK_THROW(test::restore(whole.substr(0, length), media), std::runtime_error);
  }
  BOOST_CHECK_THROW(test::restore(whole + "x", media), std::runtime_error);
}

BOOST_AUTO_TEST_CASE(another_version_is_refused) {
  // Whoever reads version 2 by the rules of version 1 reads nonsense.
  core::medium_table media;
  std::string bytes = test::sample_dump(media);
  const std::size_t at = bytes.find(net::dump_magic) + net::dump_magic.size();
  BOOST_REQUIRE(bytes[at] == 1);

  bytes[at] = 2;
  BOOST_CHECK_THROW(test::restore(bytes, media), std::runtime_error);
}

BOOST_AUTO_TEST_CASE(records_that_refer_to_nothing_are_refused) {
  // Each reference of a record, one at a time, to what has not been told.
  core::medium_table media;
  const auto refuses = [](const auto& change) {
    core::dump_slice told = test::sample_slice();
    change(told);
    core::lane_blocks blocks({.worker = core::worker_id{1}});
    core::snapshot_loader loader(blocks);
    loader.add_home(std::make_shared<core::partition>(test::sample_home().key, 1337));
    core::apply_tally tally;
    return loader.load(told, tally) == core::errc::malformed_dump;
  };

  BOOST_TEST(!refuses([](core::dump_slice&) {}));
  BOOST_TEST(refuses([](core::dump_slice& told) { told.paths[0].number = 1; }));
  BOOST_TEST(refuses([](core::dump_slice& told) { told.paths[0].home = 1; }));
  BOOST_TEST(refuses([](core::dump_slice& told) { told.paths[0].parent = 0; }));
  BOOST_TEST(refuses([](core::dump_slice& told) { told.paths[0].count = 4; }));
  BOOST_TEST(refuses([](core::dump_slice& told) { told.paths[0].count = 0; }));
  BOOST_TEST(refuses([](core::dump_slice& told) { told.parts[0].path = 1; }));
  BOOST_TEST(refuses([](core::dump_slice& told) { told.parts[1].offset = 3; }));
  BOOST_TEST(refuses([](core::dump_slice& told) { told.parts[1].offset = 0xFFFF'FFFF; }));
  BOOST_TEST(refuses([](core::dump_slice& told) { told.parts[0].medium = medium_id{200}; }));
  BOOST_TEST(refuses([](core::dump_slice& told) { told.copies[0].offset = 3; }));
  BOOST_TEST(refuses([](core::dump_slice& told) { told.copies[0].count = 0; }));
  BOOST_TEST(refuses([](core::dump_slice& told) { told.copies[1].home = 1; }));
  BOOST_TEST(refuses([](core::dump_slice& told) { told.waiting[0].home = 1; }));
  BOOST_TEST(refuses([](core::dump_slice& told) { told.waiting_copies[0].count = 0; }));
}

BOOST_AUTO_TEST_CASE(events_are_those_of_the_standard) {
  // To the letter: whoever reads the standard reads this.
  core::medium_table media;
  net::dump_event_writer writer(media, 1'739'145'600'000);
  const std::vector<net::dump_home> homes{test::sample_home()};
  const auto second = core::roll(core::seq_hash{1}, local_hash{2}, 1337);
  const auto third = core::roll(second, local_hash{3}, 1337);
  const auto head = [](int id, const std::string& type, const std::string& medium) {
    return R"({"event_id":)" + std::to_string(id) + R"(,"timestamp":1739145600000,"event_type":")" + type +
           R"(","model_name":"m","block_size":4,"additional_salt":"s","lora_name":null,"tenant_id":"default","backend_id":"engine-1","medium":")" +
           medium + R"(","dp_rank":2,"instance_id":"engine-1",)";
  };
  std::string text;

  writer.slice(test::sample_owner(), homes, test::sample_slice(), text);

  BOOST_TEST(
      text ==
      "\n" + head(0, "waiting", "gpu") + R"("parent_engine_hash":89,"token_ids":null,"engine_hashes":[90],"local_hashes":[9]})" + ",\n" +
          head(1, "stored", "gpu") +
          R"("seq_hashes":[1],"base_block_idx":0,"parent_hash":null,"token_ids":null,"engine_hashes":[11],"local_hashes":[1]})" + ",\n" +
          head(2, "stored", "cpu") + R"("seq_hashes":[)" + std::to_string(third.get()) + R"(],"base_block_idx":2,"parent_hash":)" +
          std::to_string(second.get()) + R"(,"token_ids":null,"engine_hashes":[13],"local_hashes":[3]})" + ",\n" +
          head(3, "stored", "gpu") +
          R"("seq_hashes":[1],"base_block_idx":0,"parent_hash":null,"token_ids":null,"engine_hashes":[21],"local_hashes":[1],"copies":2})" +
          ",\n" + head(4, "stored", "disk") +
          R"("seq_hashes":[500],"base_block_idx":null,"parent_hash":null,"token_ids":null,"engine_hashes":[500]})");
}

BOOST_AUTO_TEST_SUITE_END()

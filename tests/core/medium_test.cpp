#include "core/medium.hpp"

#include <string>
#include <string_view>

#include <boost/test/unit_test.hpp>

BOOST_AUTO_TEST_SUITE(medium)

namespace {

using namespace kvc::core;

unsigned number(medium_id medium) {
  return static_cast<unsigned>(medium);
}

BOOST_AUTO_TEST_CASE(known_spellings_are_folded) {
  // Engines disagree on words and case for the same tier.
  medium_table table;
  for (const std::string_view word : {"GPU", "gpu", "cuda:0", "HBM", "npu", "NPU:3"}) BOOST_TEST(number(table.intern(word)) == 0U, word);
  for (const std::string_view word : {"CPU", "cpu", "CPU_PINNED", "cpu_tier1", "CPU_TIER2", "DRAM", "memory", "Host"}) {
    BOOST_TEST(number(table.intern(word)) == 1U, word);
  }
  for (const std::string_view word : {"DISK", "ssd", "STORAGE", "FS", "3fs", "DFS", "NFS", "local_disk"}) {
    BOOST_TEST(number(table.intern(word)) == 2U, word);
  }

  BOOST_TEST(table.size() == 3U);
  BOOST_TEST(table.name(medium_id::gpu) == "GPU");
  BOOST_TEST(table.name(medium_id::cpu) == "CPU");
  BOOST_TEST(table.name(medium_id::disk) == "DISK");
}

BOOST_AUTO_TEST_CASE(other_words_become_media_of_their_own) {
  // A fleet may have stores nobody has heard of; they are reported under their own name.
  medium_table table;
  const medium_id object = table.intern("obj");

  BOOST_TEST(number(object) == 3U);
  BOOST_TEST(number(table.intern("OBJ")) == 3U);
  BOOST_TEST(number(table.intern("External")) == 4U);
  BOOST_TEST(table.name(object) == "OBJ");
  BOOST_TEST(table.size() == 5U);
}

BOOST_AUTO_TEST_CASE(looking_up_learns_nothing) {
  // A query may ask for any word; only publishers make media.
  medium_table table;
  medium_id found{};

  BOOST_TEST(!table.find("OBJ", found));
  BOOST_TEST(table.size() == 3U);
  (void)table.intern("OBJ");
  BOOST_TEST(table.find("obj", found));
  BOOST_TEST(number(found) == 3U);
}

BOOST_AUTO_TEST_CASE(words_beyond_the_table_share_a_place) {
  // A publisher that invents words costs no memory.
  medium_table table;
  for (int i = 0; i < 100; ++i) (void)table.intern("WORD-" + std::to_string(i));

  BOOST_TEST(table.size() <= max_media);
  const medium_id other = table.intern("WORD-99");
  BOOST_TEST(table.name(other) == "OTHER");
  BOOST_TEST(number(table.intern("never seen")) == number(other));
  BOOST_TEST(number(table.intern("WORD-0")) == 3U);
  BOOST_TEST(table.name(table.intern("WORD-8")) == "WORD-8");
}

BOOST_AUTO_TEST_CASE(an_invented_word_takes_no_known_one_s_place) {
  // One publisher's rubbish must not hide another one's storage.
  medium_table table;
  for (int i = 0; i < 100; ++i) (void)table.intern("WORD-" + std::to_string(i));

  for (const std::string_view word : {"OBJ", "EXTERNAL", "MIXED", "OTHER"}) BOOST_TEST(table.name(table.intern(word)) == word);
  BOOST_TEST(table.size() == max_media);
  BOOST_TEST(table.name(table.intern("one more")) == "OTHER");
}

BOOST_AUTO_TEST_CASE(no_medium_is_called_like_the_ranks) {
  // The row of an answer has its media beside the key DP, and a JSON object must not have a name twice.
  medium_table table;
  medium_id found{};
  BOOST_TEST(!table.find("dp", found));
  const medium_id renamed = table.intern("dp");

  BOOST_TEST(table.name(renamed) == "OTHER");
  BOOST_TEST(table.find("DP", found));
  BOOST_TEST(number(found) == number(renamed));
  BOOST_TEST(number(table.intern("other")) == number(renamed));
}

BOOST_AUTO_TEST_CASE(words_are_cut_and_printable) {
  // Names end up in answers and logs: 32 bytes at most, no control characters.
  medium_table table;
  const medium_id odd = table.intern(std::string("a\nb") + std::string(100, 'x'));

  BOOST_TEST(table.name(odd).size() == 32U);
  BOOST_TEST(table.name(odd).starts_with("A?BX"));
}

BOOST_AUTO_TEST_CASE(tiers_follow_the_numbers) {
  // Everything that is neither device, host nor disk is external.
  BOOST_TEST((medium_table::tier_of(medium_id::gpu) == tier::device));
  BOOST_TEST((medium_table::tier_of(medium_id::cpu) == tier::host));
  BOOST_TEST((medium_table::tier_of(medium_id::disk) == tier::disk));
  BOOST_TEST((medium_table::tier_of(medium_id{3}) == tier::external));
  BOOST_TEST((medium_table::tier_of(medium_id{15}) == tier::external));
  BOOST_TEST(mask_of(medium_id{15}) == 0x8000U);
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace

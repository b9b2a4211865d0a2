// Where what a publisher says is received to: how much memory that takes, and for how long.
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <boost/test/unit_test.hpp>

#include "net/publisher_session.hpp"
#include "net/receive_chunk.hpp"
#include "tests/support/net/session_stage.hpp"
#include "tests/support/net/zmtp_words.hpp"

namespace kvc::test {
BOOST_AUTO_TEST_SUITE(publisher_session_memory)

namespace {

using net::chunk_pool;
using net::chunk_share;
using net::publisher_message;
namespace words = zmtp_words;

constexpr std::size_t kibibyte = 1 << 10;
constexpr std::size_t mebibyte = 1 << 20;

/// Has agreed with its peer, and nothing is there.
struct agreed_session : session_stage {
  explicit agreed_session(std::uint64_t max_frame_bytes = 64 * mebibyte) : session_stage("", max_frame_bytes) {
    BOOST_TEST_REQUIRE(hear(words::greeting() + words::ready()) == "agreed");
  }

  /// Hears one message, which is in hand then.
  void take_message(std::string_view said) {
    while (!said.empty()) said = receive(said);
    BOOST_TEST_REQUIRE((session.next(got) == net::publisher_session::step::message));
  }
};

std::string payload_of(std::size_t size) {
  std::string payload(size, ' ');
  for (std::size_t i = 0; i < size; ++i) payload[i] = static_cast<char>('a' + (i * 7 + i / 1'000) % 26);
  return payload;
}

}  // namespace

BOOST_AUTO_TEST_CASE(a_long_message_takes_memory_as_it_comes_and_not_as_it_is_announced) {
  // Anybody may announce one, on every connection there is.
  agreed_session at;
  const std::string start = words::frame("kv", {.has_more = true}) + words::head(64 * mebibyte);
  BOOST_TEST(at.hear(start) == "");
  for (int i = 0; i < 20; ++i) {
    at.widest_room = 0;
    BOOST_TEST(at.hear("a little", 1) == "");
    BOOST_TEST(at.widest_room <= mebibyte + 64 * kibibyte);
    BOOST_TEST(at.widest_room >= 512 * kibibyte);
  }
  const std::string more(3 * mebibyte, 'm');
  BOOST_TEST(at.hear(more, 100 * kibibyte) == "");
  BOOST_TEST(at.widest_room <= 4 * mebibyte);
}

BOOST_AUTO_TEST_CASE(a_long_message_is_moved_a_few_times_and_not_with_every_piece_of_it) {
  // What a socket hands out at once is a few hundred KiB at best: as often as that the work would be that of a message a hundred times as
  // long, and that of the lane.
  const std::string payload = payload_of(20 * mebibyte);
  agreed_session at;
  at.moves = 0;
  BOOST_TEST((at.hear(words::message({"kv", "12345678", payload}), 16 * kibibyte) == "kv|12345678|" + payload));
  BOOST_TEST(at.moves <= 8U);
}

BOOST_AUTO_TEST_CASE(a_message_that_is_not_too_long_is_made_room_for_at_once) {
  for (const std::size_t size : {100 * kibibyte, 250 * kibibyte, 300 * kibibyte, 900 * kibibyte}) {
    agreed_session at;
    const std::string payload = payload_of(size);
    const std::string said = words::message({"kv", "12345678", payload});
    BOOST_TEST(at.hear(std::string_view(said).substr(0, 100)) == "");
    at.moves = 0;
    BOOST_TEST((at.hear(std::string_view(said).substr(100), 5'000) == "kv|12345678|" + payload));
    BOOST_TEST(at.moves <= 1U, size << " bytes");
  }
}

BOOST_AUTO_TEST_CASE(a_long_message_is_received_to_its_end_and_no_further) {
  // So that the next one begins where memory does, instead of being moved there.
  agreed_session at;
  const std::string said = words::message({"kv", "12345678", payload_of(200 * kibibyte)});
  BOOST_TEST(at.hear(std::string_view(said).substr(0, 1'000)) == "");
  BOOST_TEST(at.session.room().size() == said.size() - 1'000);
}

BOOST_AUTO_TEST_CASE(messages_that_come_at_once_share_the_memory_they_came_to) {
  agreed_session at;
  std::string said;
  for (int i = 0; i < 10; ++i) said += words::message({"kv", "1234567" + std::to_string(i), payload_of(1'000)});
  const std::byte* const start = at.session.room().data();
  BOOST_TEST(at.receive(said).empty());
  for (int i = 0; i < 10; ++i) {
    BOOST_TEST((at.session.next(at.got) == net::publisher_session::step::message));
    const std::byte* const payload = at.got.frame(2).data();
    BOOST_TEST((payload > start && payload < start + said.size()));
  }
}

BOOST_AUTO_TEST_CASE(messages_stay_readable_until_they_are_let_go_of) {
  // A lane holds those it has not told yet, while others come.
  agreed_session at;
  std::vector<std::pair<publisher_message, std::string>> held;
  for (std::size_t i = 0; i < 400; ++i) {
    const std::string payload = payload_of(i * 137 % 9'000);
    const std::string said = words::message({"kv", payload});
    at.take_message(said);
    held.emplace_back(at.got, payload);
    if (i % 50 == 49) at.session.rest();
  }
  for (const auto& [message, payload] : held) {
    BOOST_TEST_REQUIRE(message.size() == 2U);
    BOOST_TEST_REQUIRE((words::text_of(message.frame(1)) == payload));
  }
}

BOOST_AUTO_TEST_CASE(a_message_outlives_its_session) {
  chunk_pool pool;
  publisher_message kept;
  {
    agreed_session at;  // of another pool
    BOOST_TEST(at.hear(words::message({"gone"})) == "gone");
  }
  {
    net::publisher_session session(pool, "", 1'000);
    std::string said = words::greeting() + words::ready() + words::message({"kept"});
    const std::span<std::byte> room = session.room();
    BOOST_TEST_REQUIRE(room.size() >= said.size());
    std::ranges::copy(words::bytes_of(said), room.begin());
    session.took(said.size());
    BOOST_TEST((session.next(kept) == net::publisher_session::step::agreed));
    BOOST_TEST((session.next(kept) == net::publisher_session::step::message));
  }
  BOOST_TEST((words::text_of(kept.frame(0)) == "kept"));
}

BOOST_AUTO_TEST_CASE(memory_is_used_from_its_beginning_again_when_all_messages_are_let_go) {
  agreed_session at;
  at.got.clear();
  const std::byte* const start = at.session.room().data();
  for (int i = 0; i < 100; ++i) {
    BOOST_TEST((at.session.room().data() == start));
    at.take_message(words::message({"kv", "1", std::string(9'000, 'p')}));
    publisher_message other = at.got;
    at.got.clear();
    BOOST_TEST((at.session.room().data() != start));  // somebody may still read
    other.clear();
  }
}

BOOST_AUTO_TEST_CASE(what_there_is_of_a_message_goes_to_the_beginning_of_memory_when_nobody_reads_there) {
  // As long as all are told at once one chunk is enough for a connection, and it stays in the cache.
  agreed_session at;
  at.got.clear();
  const std::byte* const start = at.session.room().data();
  const std::string message = words::message({"kv", "1", payload_of(3'000)});
  std::string said;
  while (said.size() < mebibyte) said += message;
  std::string_view left = said;
  while (!left.empty()) {
    const std::byte* const place = at.session.room().data();
    BOOST_TEST_REQUIRE((place >= start && place < start + chunk_pool::usual_bytes));
    left = at.receive(left);
    (void)at.ask();
  }
}

BOOST_AUTO_TEST_CASE(there_is_room_for_a_page_at_least_before_every_reception) {
  // However little of its memory is left: small receptions would be as many calls of the kernel.
  for (const bool is_told_at_once : {true, false}) {
    agreed_session at;
    std::vector<publisher_message> held;
    for (std::size_t i = 0; i < 2'000; ++i) {
      at.take_message(words::message({"kv", "1", std::string(i * 131 % 1'700, 'p')}));
      if (!is_told_at_once) held.push_back(at.got);
    }
    const std::string large = words::message({"kv", "1", payload_of(mebibyte + 100)}) + words::message({"a"});
    BOOST_TEST(at.hear(large, 1'234).size() > mebibyte);
    BOOST_TEST(at.narrowest_room >= 4 * kibibyte);
  }
}

BOOST_AUTO_TEST_CASE(behind_a_message_longer_than_usual_its_memory_is_let_go) {
  agreed_session at;
  at.got.clear();
  const std::byte* const start = at.session.room().data();
  BOOST_TEST(at.hear(words::message({"kv", "1", std::string(2 * mebibyte, 'p')})).size() > 2 * mebibyte);
  at.got.clear();
  BOOST_TEST((at.session.room().data() == start));  // the usual one, which was given back meanwhile
  BOOST_TEST(at.session.room().size() <= chunk_pool::usual_bytes);
}

BOOST_AUTO_TEST_CASE(a_session_at_rest_with_nothing_there_has_no_memory) {
  // Thousands of streams are silent at any time.
  agreed_session at;
  at.got.clear();
  const std::byte* const start = at.session.room().data();
  at.session.rest();
  {
    const chunk_share other = at.pool.take();
    BOOST_TEST((other.data() == start));
    BOOST_TEST(at.hear("") == "");
    BOOST_TEST((at.session.room().data() != start));
    at.session.rest();
  }
  at.take_message(words::message({"kv", "1", "after"}));
  at.session.rest();
  BOOST_TEST(at.text() == "kv|1|after");
}

BOOST_AUTO_TEST_CASE(a_session_that_rests_inside_a_message_keeps_what_is_there_of_it) {
  const std::string payload = payload_of(70 * kibibyte);
  const std::string said = words::message({"kv", "12345678", payload});
  for (const std::size_t length : {std::size_t{1}, std::size_t{3}, std::size_t{14}, std::size_t{20}, 10 * kibibyte, 60 * kibibyte}) {
    BOOST_TEST_CONTEXT(length << " bytes") {
      agreed_session at;
      at.got.clear();
      const std::byte* const start = at.session.room().data();
      BOOST_TEST(at.hear(std::string_view(said).substr(0, length)) == "");
      at.session.rest();
      at.session.rest();
      const bool is_given_back = at.pool.take().data() == start;
      BOOST_TEST(is_given_back == (length <= 10 * kibibyte));  // where that is cheap
      BOOST_TEST(at.hear("") == "");
      BOOST_TEST((at.hear(std::string_view(said).substr(length), 10'000) == "kv|12345678|" + payload));
    }
  }
}

BOOST_AUTO_TEST_CASE(a_session_may_rest_after_every_byte) {
  session_stage at("", 10'000);
  const std::string said = words::greeting() + words::ready() + words::message({"kv", "1", std::string(300, 'p')}) +
                           words::ping("context") + words::message({"a", "b", "c", "d", ""}) + words::message({"kv", "2", ""});
  std::string heard;
  for (const char each : said) {
    heard += at.hear(std::string(1, each));
    at.session.rest();
  }
  BOOST_TEST((heard == "agreedkv|1|" + std::string(300, 'p') + "misshapenkv|2|"));
}

BOOST_AUTO_TEST_CASE(a_session_that_rests_before_it_is_asked_has_lost_nothing) {
  agreed_session at;
  BOOST_TEST(at.receive(words::message({"kv", "1", "one"}) + words::message({"kv", "2", "two"})).empty());
  at.session.rest();
  BOOST_TEST((at.session.next(at.got) == net::publisher_session::step::message));
  BOOST_TEST(at.text() == "kv|1|one");
  at.session.rest();
  BOOST_TEST(at.hear("") == "kv|2|two");
}

BOOST_AUTO_TEST_CASE(a_pool_lends_what_came_back_last_and_keeps_sixteen) {
  chunk_pool pool;
  std::vector<chunk_share> lent;
  std::vector<std::byte*> places;
  for (std::size_t i = 0; i < chunk_pool::most_idle + 4; ++i) {
    lent.push_back(pool.take());
    places.push_back(lent.back().data());
    BOOST_TEST(lent.back().capacity() == chunk_pool::usual_bytes);
  }
  for (chunk_share& each : lent) each.reset();
  for (std::size_t i = chunk_pool::most_idle; i-- > 0;) {
    lent[i] = pool.take();
    BOOST_TEST((lent[i].data() == places[i]), "number " << i);
    BOOST_TEST(lent[i].is_lone());
  }
}

BOOST_AUTO_TEST_CASE(a_pool_keeps_nothing_of_another_size) {
  chunk_pool pool;
  const std::byte* const usual = [&] {
    const chunk_share lent = pool.take();
    return lent.data();
  }();
  for (const std::size_t size : {std::size_t{1}, chunk_pool::usual_bytes - 1, chunk_pool::usual_bytes + 1, 5 * mebibyte}) {
    chunk_share apart = pool.take_apart(size);
    BOOST_TEST(apart.capacity() == size);
    apart.reset();
    BOOST_TEST((pool.take().data() == usual));
  }
}

BOOST_AUTO_TEST_CASE(a_chunk_comes_back_with_its_last_share) {
  chunk_pool pool;
  chunk_share one = pool.take();
  const std::byte* const place = one.data();
  chunk_share two = one;
  BOOST_TEST(!one.is_lone());
  chunk_share three = std::move(two);
  BOOST_TEST(!two);
  BOOST_TEST((pool.take().data() != place));
  one.reset();
  BOOST_TEST(three.is_lone());
  three = chunk_share();
  BOOST_TEST((pool.take().data() == place));
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace kvc::test

#include "net/zmq_frames.hpp"

#include <string>
#include <vector>

#include <boost/test/unit_test.hpp>

namespace {

using namespace kvc::net;
using namespace std::string_literals;

/// Frames as the socket hands them over.
struct frames {
  frames(std::initializer_list<std::string> texts) : kept(texts) {
    for (const std::string& text : kept) views.push_back(std::as_bytes(std::span(text)));
  }
  std::vector<std::string> kept;
  std::vector<std::span<const std::byte>> views;
};

result<batch_frames> live(std::initializer_list<std::string> texts, frames& keep) {
  keep = frames(texts);
  return read_live(keep.views);
}

const std::string seven("\0\0\0\0\0\0\0\7", 8);
const std::string end_marker(8, '\xff');

std::size_t replayed_bytes(const replay_frames& reply) {
  return reply.batch.payload.size();
}

}  // namespace

BOOST_AUTO_TEST_SUITE(live_frames)

BOOST_AUTO_TEST_CASE(three_frames_are_topic_seqno_and_payload) {
  // What every engine sends.
  frames keep({});
  const auto read = live({"kv-events", "\1\2\3\4\5\6\7\10"s, "payload"}, keep);
  BOOST_TEST_REQUIRE(read.has_value());
  BOOST_TEST(read->topic == "kv-events");
  BOOST_TEST(read->number.get() == 0x0102030405060708U);
  BOOST_TEST(read->payload.size() == 7U);
}

BOOST_AUTO_TEST_CASE(any_other_number_of_frames_is_refused) {
  // Ancient publishers sent two, strangers send anything; the message is dropped and the next one is read.
  frames keep({});
  BOOST_TEST(live({}, keep).error() == make_error_code(errc::bad_frame_count));
  BOOST_TEST(live({seven, "payload"}, keep).error() == make_error_code(errc::bad_frame_count));
  BOOST_TEST(live({"", "", seven, "payload"}, keep).error() == make_error_code(errc::bad_frame_count));
}

BOOST_AUTO_TEST_CASE(a_seqno_that_is_none_is_refused) {
  // Its length is the only check there is, and the marker of a replay's end is no seqno.
  frames keep({});
  BOOST_TEST(live({"", "", "payload"}, keep).error() == make_error_code(errc::bad_seqno_frame));
  BOOST_TEST(live({"", "1234567", "payload"}, keep).error() == make_error_code(errc::bad_seqno_frame));
  BOOST_TEST(live({"", "123456789", "payload"}, keep).error() == make_error_code(errc::bad_seqno_frame));
  BOOST_TEST(live({"", end_marker, ""}, keep).error() == make_error_code(errc::bad_seqno_frame));
}

BOOST_AUTO_TEST_SUITE_END()

BOOST_AUTO_TEST_SUITE(replayed_frames)

BOOST_AUTO_TEST_CASE(replies_are_read_from_the_back) {
  // A newer vLLM put a topic in front; reading from the front would take the topic for the seqno.
  for (const frames& reply :
       {frames({"", seven, "payload"}), frames({"", "kv@a@b", seven, "payload"}), frames({"", "", seven, "payload"})}) {
    const auto read = read_replay(reply.views);
    BOOST_TEST_REQUIRE(read.has_value());
    BOOST_TEST(!read->is_end);
    BOOST_TEST(read->batch.number.get() == 7U);
    BOOST_TEST(replayed_bytes(*read) == 7U);
  }
}

BOOST_AUTO_TEST_CASE(the_end_marker_is_found_in_either_of_the_last_two_frames) {
  // Three generations of publishers put it in three ways; missing it means waiting for a deadline.
  for (const frames& reply : {frames({"", end_marker, ""}), frames({"", "", end_marker, ""}), frames({"", "", end_marker})}) {
    const auto read = read_replay(reply.views);
    BOOST_TEST_REQUIRE(read.has_value());
    BOOST_TEST(read->is_end);
  }
}

BOOST_AUTO_TEST_CASE(a_payload_that_looks_like_the_marker_is_a_payload) {
  // Only an empty seqno frame makes it one.
  const frames reply({"", seven, end_marker});
  const auto read = read_replay(reply.views);
  BOOST_TEST_REQUIRE(read.has_value());
  BOOST_TEST(!read->is_end);
}

BOOST_AUTO_TEST_CASE(other_shapes_are_refused) {
  // A replay must not take a stranger's reply for a batch.
  BOOST_TEST(read_replay(frames({seven, "payload"}).views).error() == make_error_code(errc::bad_frame_count));
  BOOST_TEST(read_replay(frames({"", "", "", seven, "payload"}).views).error() == make_error_code(errc::bad_frame_count));
  BOOST_TEST(read_replay(frames({"", "1234", "payload"}).views).error() == make_error_code(errc::bad_seqno_frame));
  BOOST_TEST(read_replay(frames({"", "", ""}).views).error() == make_error_code(errc::bad_seqno_frame));
}

BOOST_AUTO_TEST_CASE(the_request_is_an_empty_frame_and_eight_bytes) {
  // Without the empty frame publishers drop the request in silence.
  const replay_request request(kvc::core::seqno{0x0102030405060708});
  const auto written = request.frames();
  BOOST_TEST(written[0].empty());
  BOOST_TEST(written[1] == "\1\2\3\4\5\6\7\10"s);

  // A router puts the name of the asker in front.
  const frames received({"somebody", std::string(written[0]), std::string(written[1])});
  const auto asked = read_replay_request(received.views);
  BOOST_TEST_REQUIRE(asked.has_value());
  BOOST_TEST(asked->asker == "somebody");
  BOOST_TEST(asked->first.get() == 0x0102030405060708U);
  BOOST_TEST(read_replay_request(frames({"somebody", std::string(written[1])}).views).error() == make_error_code(errc::bad_frame_count));
  BOOST_TEST(read_replay_request(frames({"somebody", "", "1234"}).views).error() == make_error_code(errc::bad_seqno_frame));
}

BOOST_AUTO_TEST_SUITE_END()

#include "net/live_burst.hpp"

#include <array>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include <boost/test/unit_test.hpp>

#include "net/batch_row.hpp"
#include "net/spare_pool.hpp"
#include "tests/support/net/wire_fixture.hpp"

BOOST_AUTO_TEST_SUITE(live_bursts)

namespace {

using namespace kvc;
using namespace kvc::net;
using namespace kvc::test;

void send(zmq_socket& by, std::uint64_t number, std::string_view payload) {
  const seqno_frame counted{core::seqno{number}};
  const std::array<std::string_view, 3> frames{"topic", counted.view(), payload};
  BOOST_TEST_REQUIRE(!by.try_send(frames));
}

/// One message, which may still be on its way.
asio::awaitable<void> receive(live_burst& into, live_socket& from) {
  while (!into.receive(from)) {
    (void)from.poll_connection();
    const auto until = soon();
    const error_code waited = co_await from.wait(until);
    BOOST_TEST_REQUIRE(!waited);
  }
}

std::string payload_of(const live_burst::arrival& what) {
  return {reinterpret_cast<const char*>(what.batch.payload.data()), what.batch.payload.size()};
}

asio::awaitable<void> hear_in_order(wire& on) {
  zmq_socket publisher = on.open(zmq_socket::kind::publisher);
  BOOST_TEST_REQUIRE(!publisher.bind("tcp://127.0.0.1:*"));
  std::optional<live_socket> subscriber = on.hear(publisher.bound_endpoint());
  co_await get_heard(publisher, *subscriber);
  for (std::uint64_t i = 0; i < 5; ++i) send(publisher, i, "payload " + std::to_string(i));
  live_burst heard;
  for (int i = 0; i < 3; ++i) co_await receive(heard, *subscriber);
  heard.tell();
  heard.tell();
  BOOST_TEST(heard.size() == 3U);
  BOOST_TEST(heard.in_hand() == 2U);
  for (std::size_t i = 0; i < 3; ++i) {
    BOOST_TEST(!heard[i].failed);
    BOOST_TEST(heard[i].batch.number.get() == i);
    BOOST_TEST(payload_of(heard[i]) == "payload " + std::to_string(i));
  }
  heard.finish();
  BOOST_TEST(heard.in_hand() == 0U);
  BOOST_TEST_REQUIRE(heard.size() == 1U);
  BOOST_TEST(heard[0].batch.number.get() == 2U);
  co_await receive(heard, *subscriber);
  heard.drop_untold();  // as if they had never come
  BOOST_TEST(heard.size() == 0U);
  heard.finish();
  co_await receive(heard, *subscriber);
  BOOST_TEST(payload_of(heard[0]) == "payload 4");
  BOOST_TEST(!heard.receive(*subscriber));
}

asio::awaitable<void> hear_rubbish(wire& on) {
  zmq_socket publisher = on.open(zmq_socket::kind::publisher);
  BOOST_TEST_REQUIRE(!publisher.bind("tcp://127.0.0.1:*"));
  std::optional<live_socket> subscriber = on.hear(publisher.bound_endpoint());
  co_await get_heard(publisher, *subscriber);
  const std::array<std::string_view, 1> lone{"only one frame"};
  BOOST_TEST_REQUIRE(!publisher.try_send(lone));
  const std::array<std::string_view, 3> unnumbered{"topic", "short", "payload"};
  BOOST_TEST_REQUIRE(!publisher.try_send(unnumbered));
  send(publisher, 7, "sound");
  live_burst heard;
  for (int i = 0; i < 3; ++i) co_await receive(heard, *subscriber);
  BOOST_TEST(heard[0].failed == make_error_code(errc::bad_frame_count));
  BOOST_TEST(heard[1].failed == make_error_code(errc::bad_seqno_frame));
  BOOST_TEST(!heard[2].failed);
}

asio::awaitable<void> hear_much(wire& on) {
  zmq_socket publisher = on.open(zmq_socket::kind::publisher);
  BOOST_TEST_REQUIRE(!publisher.bind("tcp://127.0.0.1:*"));
  std::optional<live_socket> subscriber = on.hear(publisher.bound_endpoint());
  co_await get_heard(publisher, *subscriber);
  for (std::uint64_t i = 0; i < live_burst::most_messages + 1; ++i) send(publisher, i, "");
  live_burst heard;
  while (heard.has_room()) co_await receive(heard, *subscriber);
  BOOST_TEST(heard.size() == live_burst::most_messages);
  for (std::size_t i = 0; i < live_burst::most_messages; ++i) heard.tell();
  heard.finish();
  BOOST_TEST(heard.has_room());
  co_await receive(heard, *subscriber);
  heard.clear();
  send(publisher, 100, std::string(live_burst::enough_bytes, 'x'));
  co_await receive(heard, *subscriber);
  BOOST_TEST(!heard.has_room());  // its bytes are enough
  heard.tell();
  heard.finish();
  BOOST_TEST(heard.has_room());
}

asio::awaitable<void> hear_two_publishers(wire& on) {
  zmq_socket first = on.open(zmq_socket::kind::publisher);
  zmq_socket second = on.open(zmq_socket::kind::publisher);
  std::optional<live_socket> subscriber = on.hear("tcp://127.0.0.1:*", true);
  BOOST_TEST_REQUIRE(!first.connect(subscriber->bound_endpoint()));
  co_await get_heard(first, *subscriber);
  send(first, 0, "first");
  send(first, 1, "first");
  live_burst heard;
  co_await receive(heard, *subscriber);
  co_await receive(heard, *subscriber);
  BOOST_TEST(heard[0].is_other_connection);  // nobody was heard before
  BOOST_TEST(!heard[1].is_other_connection);
  first.close();
  BOOST_TEST_REQUIRE(!second.connect(subscriber->bound_endpoint()));
  co_await get_heard(second, *subscriber);
  send(second, 0, "second");
  send(second, 1, "second");
  co_await receive(heard, *subscriber);
  co_await receive(heard, *subscriber);
  BOOST_TEST(heard[2].is_other_connection);
  BOOST_TEST(!heard[3].is_other_connection);
}

/// The last of one publisher and the first of its successor lie in the queue of the transport together.
asio::awaitable<void> hear_successor_at_once(wire& on) {
  zmq_socket first = on.open(zmq_socket::kind::publisher);
  zmq_socket second = on.open(zmq_socket::kind::publisher);
  BOOST_TEST_REQUIRE(!first.bind("tcp://127.0.0.1:*"));
  const std::string endpoint = first.bound_endpoint();
  std::optional<live_socket> subscriber = on.hear(endpoint);
  co_await get_heard(first, *subscriber);
  live_burst heard;
  send(first, 0, "first");
  co_await receive(heard, *subscriber);
  for (std::uint64_t i = 1; i < 4; ++i) send(first, i, "first");
  while (heard.size() < 2) {  // a wait may end for nothing
    const error_code waited = co_await subscriber->wait(soon());
    BOOST_TEST_REQUIRE(!waited);
    heard.receive_more(*subscriber, 2);
  }
  first.close();
  co_await bind_after(second, endpoint);
  const auto patience = soon();
  while (subscriber->poll_connection().connects < 2 && wire_clock::now() < patience) {
    subscriber->take_in();
    co_await one_turn();
  }
  while (payload_of(heard[heard.size() - 1]) != "second" && wire_clock::now() < patience) {
    for (int i = 0; i < 20; ++i) {
      send(second, 0, "second");
      co_await one_turn();
    }
    heard.receive_more(*subscriber, live_burst::most_messages);
  }
  for (std::size_t i = 1; i < heard.size(); ++i) {
    BOOST_TEST(heard[i].is_other_connection == (payload_of(heard[i]) != payload_of(heard[i - 1])), "message " << i);
  }
  BOOST_TEST(payload_of(heard[heard.size() - 1]) == "second");
}

}  // namespace

BOOST_FIXTURE_TEST_CASE(messages_are_there_in_the_order_they_came, wire) {
  run(hear_in_order(*this));
}

BOOST_FIXTURE_TEST_CASE(what_is_no_batch_says_why_and_costs_its_neighbours_nothing, wire) {
  run(hear_rubbish(*this));
}

BOOST_FIXTURE_TEST_CASE(no_more_is_taken_from_the_transport_than_is_soon_needed, wire) {
  run(hear_much(*this));
}

BOOST_FIXTURE_TEST_CASE(a_message_over_another_connection_is_told_from_the_one_before, wire) {
  run(hear_two_publishers(*this));
}

BOOST_FIXTURE_TEST_CASE(of_messages_taken_together_the_first_over_another_connection_is_told, wire) {
  run(hear_successor_at_once(*this));
}

BOOST_AUTO_TEST_CASE(what_is_lent_comes_back_and_no_more_than_so_many_are_kept) {
  spare_pool<int, 2> pool;
  auto first = pool.borrow();
  auto second = pool.borrow();
  auto third = pool.borrow();
  *first = 1;
  *second = 2;
  const int* const kept = first.get();
  pool.give_back(std::move(first));
  pool.give_back({});
  BOOST_TEST((pool.borrow().get() == kept));  // and is let go of at once
  pool.give_back(std::move(second));
  pool.give_back(std::move(third));
  auto again = pool.borrow();
  pool.give_back(std::make_unique<int>(3));
  pool.give_back(std::make_unique<int>(4));  // one too many
  BOOST_TEST(*pool.borrow() == 3);
}

BOOST_AUTO_TEST_CASE(a_row_that_is_done_with_keeps_little_of_a_long_batch) {
  spare_lists lists;
  batch_row row;
  row.all[0].events.resize(10);
  row.all[1].events.resize(60'000);
  row.count = 2;
  row.clear(lists);
  BOOST_TEST(row.batches().empty());
  BOOST_TEST(row.all[0].events.empty());
  BOOST_TEST(row.all[0].events.capacity() >= 10U);
  BOOST_TEST(row.all[1].events.capacity() <= batch_row::most_kept_events);
}

BOOST_AUTO_TEST_SUITE_END()

// The batches of a sender one after the other, those of others beside them.
#include "net/sender_turns.hpp"

#include <optional>
#include <string>
#include <vector>

#include <boost/asio/bind_cancellation_slot.hpp>
#include <boost/asio/cancellation_signal.hpp>
#include <boost/asio/co_spawn.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/test/unit_test.hpp>

namespace {

namespace asio = boost::asio;
using kvc::net::sender_turns;

struct turns_fixture {
  asio::io_context lane{1};
  sender_turns turns{lane.get_executor()};
  std::vector<std::string> begun;
  std::vector<std::optional<sender_turns::turn>> held{8};

  asio::awaitable<void> take(std::string sender, std::size_t place) {
    held[place].emplace(co_await turns.take(sender));
    begun.push_back(sender + std::to_string(place));
  }
  void spawn(const std::string& sender, std::size_t place, asio::cancellation_slot slot = {}) {
    asio::co_spawn(lane, take(sender, place), asio::bind_cancellation_slot(slot, [](std::exception_ptr) {}));
    settle();
  }
  void settle() {
    lane.restart();
    lane.poll();
  }
  void end(std::size_t place) {
    held[place].reset();
    settle();
  }
};

}  // namespace

BOOST_FIXTURE_TEST_SUITE(sender_turns_, turns_fixture)

BOOST_AUTO_TEST_CASE(what_a_sender_tells_next_waits_for_the_whole_of_what_it_told_first) {
  spawn("a", 0);
  spawn("a", 1);
  spawn("a", 2);
  spawn("b", 3);
  BOOST_TEST(begun == (std::vector<std::string>{"a0", "b3"}), boost::test_tools::per_element());

  end(0);
  end(1);
  BOOST_TEST(begun == (std::vector<std::string>{"a0", "b3", "a1", "a2"}), boost::test_tools::per_element());

  end(2);
  spawn("a", 4);
  BOOST_TEST(begun.back() == "a4");
}

BOOST_AUTO_TEST_CASE(who_gives_up_while_waiting_keeps_nobody_out) {
  asio::cancellation_signal leave;
  spawn("a", 0);
  spawn("a", 1, leave.slot());
  spawn("a", 2);
  leave.emit(asio::cancellation_type::terminal);
  settle();

  end(0);
  BOOST_TEST(begun == (std::vector<std::string>{"a0", "a2"}), boost::test_tools::per_element());
}

BOOST_AUTO_TEST_SUITE_END()

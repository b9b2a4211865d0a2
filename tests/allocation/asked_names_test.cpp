// Every allocation of asking for a name fails in turn: whoever asks for it afterwards is answered.
#include <chrono>
#include <cstddef>
#include <future>
#include <memory>
#include <new>
#include <optional>
#include <string>
#include <thread>

#include <boost/asio/ip/address.hpp>
#include <boost/test/unit_test.hpp>

#include "net/name_service.hpp"
#include "tests/allocation/watched_heap.hpp"

BOOST_AUTO_TEST_SUITE(asked_names)

namespace {

using namespace kvc::net;
using kvc::test::watched_heap;
using namespace std::chrono_literals;

name_service::answer look_up(const std::string& /*host*/) {
  return name_service::addresses{asio::ip::make_address("192.0.2.7")};
}

/// Asks once, when `allocations` succeed before one fails; absent: it was thrown.
std::optional<error_code> ask(name_service& names, const std::string& host, long allocations,
                              const std::shared_ptr<std::promise<bool>>& answered) {
  std::function<void(const name_service::answer&)> tell = [answered](const name_service::answer& found) {
    answered->set_value(found.has_value());
  };
  std::optional<error_code> refused;
  watched_heap::before_failure = allocations;
  try {
    refused = names.ask(host, answered, std::move(tell));
  } catch (const std::bad_alloc&) {
  }
  watched_heap::before_failure = -1;
  return refused;
}

}  // namespace

BOOST_AUTO_TEST_CASE(a_name_that_could_not_be_asked_for_can_be_asked_for_again) {
  // A publisher that is known by it would never be found any more.
  bool has_failed = true;
  for (long number = 0; has_failed; ++number) {
    name_service names(look_up, {});
    const std::string host = "a.host.whose.name.takes.memory.of.its.own.example";
    const auto first = std::make_shared<std::promise<bool>>();
    const auto refused = ask(names, host, number, first);
    has_failed = !refused || *refused;

    const auto second = std::make_shared<std::promise<bool>>();
    BOOST_TEST_CONTEXT("allocation " << number) {
      BOOST_REQUIRE((ask(names, host, -1, second) == error_code()));
      auto answer = second->get_future();
      BOOST_REQUIRE((answer.wait_for(20s) == std::future_status::ready));
      BOOST_TEST(answer.get());
    }
    const auto deadline = std::chrono::steady_clock::now() + 20s;
    while (names.threads() != 0 && std::chrono::steady_clock::now() < deadline) std::this_thread::yield();
    BOOST_TEST(names.threads() == 0U);
  }
}

BOOST_AUTO_TEST_SUITE_END()

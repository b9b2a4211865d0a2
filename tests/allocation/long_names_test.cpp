// What a client calls a thing may be as long as a body: no turn of a lane copies it.
#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include <boost/test/unit_test.hpp>

#include "net/api_blend.hpp"
#include "tests/allocation/watched_heap.hpp"
#include "tests/support/net/lone_coordinator.hpp"

BOOST_AUTO_TEST_SUITE(long_names)

BOOST_AUTO_TEST_CASE(a_scope_as_long_as_a_body_is_not_copied) {
  // It was, in one turn of the coordinator's lane: some 30 ms for 64 MiB.
  using namespace kvc;
  test::lone_coordinator coordinator({});
  const std::string scope(std::size_t{64} << 20, 's');
  const net::match_request asked{.scope = scope, .tokens = std::vector<std::uint32_t>(100'000)};
  net::http_reply reply;
  const auto match = [&]() -> boost::asio::awaitable<void> {
    reply = co_await net::match_chunks_reply(coordinator.context, coordinator.home, asked);
  };

  const std::size_t before = test::watched_heap::allocated_bytes;
  coordinator.spawn(match());
  coordinator.turns_until_idle();

  BOOST_TEST(test::watched_heap::allocated_bytes - before < (1U << 20));
  BOOST_TEST(!coordinator.failure);
  BOOST_TEST(reply.body == R"({"matches":[]})");
}

BOOST_AUTO_TEST_SUITE_END()

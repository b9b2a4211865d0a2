#include "net/shared_pages.hpp"

#include <chrono>
#include <cstddef>
#include <exception>
#include <functional>
#include <future>
#include <memory>
#include <optional>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include <boost/asio/co_spawn.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/post.hpp>
#include <boost/test/unit_test.hpp>

#include "net/http_reply.hpp"

BOOST_AUTO_TEST_SUITE(shared_pages)

namespace {

using namespace kvc;
namespace asio = boost::asio;

constexpr std::chrono::seconds patience{20};

/// A lane, and pages that tell how often one has been made. The first one takes until `go_on`.
struct maker_of_pages {
  explicit maker_of_pages(std::size_t most_kept = net::shared_pages::most_kept_bytes) : pages(*beside, most_kept) {}

  asio::io_context lane{1};
  std::promise<void> begun;
  std::promise<void> may_go_on;
  int made = 0;  ///< touched on the thread beside, and by the test when that has nothing to do
  std::vector<std::optional<net::http_reply>> answers;
  std::size_t failures = 0;
  std::optional<net::aside_thread> beside{std::in_place};
  net::shared_pages pages;

  ~maker_of_pages() { beside.reset(); }  // first, as in the service

  net::http_reply make() {
    if (++made == 1) {
      begun.set_value();
      if (may_go_on.get_future().wait_for(patience) != std::future_status::ready) throw std::runtime_error("never told to go on");
    }
    return net::ok_reply(std::to_string(made), net::wire_form::text);
  }
  asio::awaitable<void> ask(std::string name, std::function<net::http_reply()> maker) {
    const std::size_t place = answers.size();
    answers.emplace_back();
    std::optional<net::http_reply> answer = co_await pages.ask(std::move(name), std::move(maker));
    answers[place] = std::move(answer);
  }
  void asks(const std::string& name, std::function<net::http_reply()> maker) {
    asio::co_spawn(lane, ask(name, std::move(maker)), [this](const std::exception_ptr& failed) { failures += failed ? 1U : 0U; });
    lane.poll();
  }
  void asks(const std::string& name) {
    asks(name, [this] { return make(); });
  }
  [[nodiscard]] bool has_begun() { return begun.get_future().wait_for(patience) == std::future_status::ready; }
  [[nodiscard]] std::string body(std::size_t place) const {
    return answers[place] && answers[place]->shared ? *answers[place]->shared : "none";
  }
};

}  // namespace

BOOST_AUTO_TEST_CASE(who_asks_while_a_page_is_made_shares_the_next_one) {
  // The page under way may show what was before the later questions. A hundred of those cost one more page, not a hundred.
  maker_of_pages service;
  service.asks("metrics");
  BOOST_REQUIRE(service.has_begun());
  for (int i = 0; i < 100; ++i) service.asks("metrics");
  service.may_go_on.set_value();
  service.lane.run();

  BOOST_TEST(service.made == 2);
  BOOST_REQUIRE(service.answers.size() == 101U);
  BOOST_TEST(service.body(0) == "1");
  for (std::size_t i = 1; i < service.answers.size(); ++i) BOOST_TEST(service.body(i) == "2");
  BOOST_TEST((service.answers[1]->shared == service.answers[100]->shared));  // one string for all
}

BOOST_AUTO_TEST_CASE(a_page_is_made_anew_once_it_has_been_given) {
  maker_of_pages service;
  service.may_go_on.set_value();
  service.asks("metrics");
  service.lane.run();
  service.lane.restart();
  service.asks("metrics");
  service.lane.run();

  BOOST_TEST(service.body(0) == "1");
  BOOST_TEST(service.body(1) == "2");
}

BOOST_AUTO_TEST_CASE(different_pages_are_refused_when_too_many_are_queued) {
  // Names of instances that clients make up must not queue up minutes of work; whoever joins a page that is queued costs nothing.
  maker_of_pages service;
  service.asks("first");
  BOOST_REQUIRE(service.has_begun());
  for (std::size_t i = 0; i < net::shared_pages::most_queued; ++i) service.asks(std::to_string(i));
  service.asks("one too many");
  service.asks("0");
  BOOST_TEST(service.made == 1);
  service.may_go_on.set_value();
  service.lane.run();

  const std::size_t refused = net::shared_pages::most_queued + 1;
  for (std::size_t i = 0; i < service.answers.size(); ++i) BOOST_TEST(service.answers[i].has_value() == (i != refused), i);
  BOOST_TEST(service.body(1) == service.body(refused + 1));
  BOOST_TEST(service.failures == 0U);
}

BOOST_AUTO_TEST_CASE(pages_that_clients_do_not_take_are_bounded) {
  // Whoever asks again and again and never reads keeps each page: together no more than there is for them, whoever shares them.
  constexpr std::size_t each = 100'000;
  maker_of_pages service(each * 2);
  const auto ask = [&] {
    service.asks("services", [] { return net::ok_reply(std::string(each, 'x'), net::wire_form::text); });
    service.lane.run();
    service.lane.restart();
    return service.answers.back().has_value();
  };
  BOOST_TEST(ask());
  BOOST_TEST(ask());
  BOOST_TEST(!ask());
  service.answers[0].reset();
  BOOST_TEST(ask());
}

BOOST_AUTO_TEST_CASE(a_page_that_fails_fails_for_all_who_wait_for_it) {
  maker_of_pages service;
  service.asks("first");
  BOOST_REQUIRE(service.has_begun());
  for (int i = 0; i < 3; ++i) service.asks("fails", []() -> net::http_reply { throw std::runtime_error("no memory"); });
  service.may_go_on.set_value();
  service.lane.run();
  service.lane.restart();
  BOOST_TEST(service.failures == 3U);

  service.asks("fails");
  service.lane.run();
  BOOST_TEST(service.body(4) == "2");
}

BOOST_AUTO_TEST_CASE(a_page_that_is_not_begun_before_a_stop_fails_for_all_who_wait_for_it) {
  maker_of_pages service;
  service.asks("first");
  BOOST_REQUIRE(service.has_begun());
  for (int i = 0; i < 3; ++i) service.asks("metrics");
  service.beside->close();
  service.may_go_on.set_value();
  service.lane.run();

  BOOST_TEST(service.made == 1);
  BOOST_TEST(service.body(0) == "1");
  BOOST_TEST(service.failures == 3U);
}

BOOST_AUTO_TEST_SUITE_END()

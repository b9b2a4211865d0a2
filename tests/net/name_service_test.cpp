// Look-ups that hang keep nobody else waiting, and nobody waits for their end.
#include "net/name_service.hpp"

#include <algorithm>
#include <chrono>
#include <condition_variable>
#include <future>
#include <memory>
#include <mutex>
#include <new>
#include <optional>
#include <string>
#include <thread>
#include <vector>

#include <boost/asio/co_spawn.hpp>
#include <boost/asio/error.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/use_future.hpp>
#include <boost/test/unit_test.hpp>

#include "net/name_lookup.hpp"

BOOST_AUTO_TEST_SUITE(name_services)

namespace {

namespace asio = boost::asio;
using namespace kvc::net;
using namespace std::chrono_literals;
using clock = std::chrono::steady_clock;

const asio::ip::address there = asio::ip::make_address("192.0.2.7");

/// A name service on which names that begin with `hang` hang until it is released. Shared with the look-ups, which may outlive the test.
class slow_names {
 public:
  name_service::answer operator()(const std::string& host) {
    std::unique_lock holding(guard_);
    asked_.push_back(host);
    changed_.notify_all();
    if (host.starts_with("hang")) changed_.wait(holding, [&] { return is_released_; });
    ++ended_;
    changed_.notify_all();
    if (host == "nobody") return error_code(asio::error::host_not_found);
    return name_service::addresses{there};
  }
  /// Waits until so many look-ups have begun.
  bool reaches(std::size_t count) {
    std::unique_lock holding(guard_);
    return changed_.wait_for(holding, 20s, [&] { return asked_.size() >= count; });
  }
  bool release(std::size_t endings) {
    std::unique_lock holding(guard_);
    is_released_ = true;
    changed_.notify_all();
    return changed_.wait_for(holding, 20s, [&] { return ended_ >= endings; });
  }
  std::vector<std::string> asked() {
    const std::lock_guard holding(guard_);
    return asked_;
  }

 private:
  std::mutex guard_;
  std::condition_variable changed_;
  std::vector<std::string> asked_;
  std::size_t ended_ = 0;
  bool is_released_ = false;
};

struct names_fixture {
  explicit names_fixture(name_service::limits with = {.threads = 3, .pending = 4})
      : names([shared = system](const std::string& host) { return (*shared)(host); }, with) {}
  ~names_fixture() {
    (void)system->release(0);
    const auto deadline = clock::now() + 20s;
    while (names.threads() != 0 && clock::now() < deadline) std::this_thread::yield();
  }

  std::shared_ptr<slow_names> system = std::make_shared<slow_names>();
  name_service names;

  using outcome = result<std::vector<asio::ip::address>>;
  struct asker {
    explicit asker(name_service& from) : lookup(context.get_executor(), from) {}
    asio::io_context context;
    name_lookup lookup;
    std::future<outcome> answer;

    void ask(const std::string& host, clock::duration patience = 20s) {
      answer = asio::co_spawn(context, lookup.find(host, clock::now() + patience), asio::use_future);
      context.poll();
    }
    outcome wait() {
      context.run();
      return answer.get();
    }
  };
};

}  // namespace

BOOST_FIXTURE_TEST_CASE(a_name_that_hangs_keeps_no_other_from_being_found, names_fixture) {
  // The name of one server that is out of order must not close all others that are known by name.
  asker first(names);
  first.ask("hang.example", 50ms);
  BOOST_REQUIRE(system->reaches(1));

  for (const char* host : {"a", "b", "a"}) {
    asker other(names);
    other.ask(host);
    const auto found = other.wait();
    BOOST_REQUIRE(found.has_value());
    BOOST_TEST((found->front() == there));
  }
  asker unknown(names);
  unknown.ask("nobody");
  BOOST_TEST((unknown.wait().error() == asio::error::host_not_found));
  BOOST_TEST((first.wait().error() == errc::timed_out));
}

BOOST_FIXTURE_TEST_CASE(a_name_takes_one_thread_however_many_ask_for_it, names_fixture) {
  for (int i = 0; i < 10; ++i) {
    asker hasty(names);
    hasty.ask("hang.example", 1ms);
    BOOST_TEST((hasty.wait().error() == errc::timed_out));
  }
  asker patient(names);
  patient.ask("hang.example");
  BOOST_REQUIRE(system->reaches(1));
  BOOST_TEST(names.threads() == 1U);

  BOOST_REQUIRE(system->release(1));
  BOOST_TEST(patient.wait().has_value(), "who asks meanwhile gets the same answer");
  BOOST_TEST(system->asked().size() == 1U);
}

BOOST_FIXTURE_TEST_CASE(names_are_bounded_and_those_nobody_wants_make_room, names_fixture) {
  std::vector<std::unique_ptr<asker>> hanging;
  const auto hang = [&](const std::string& host) {
    hanging.push_back(std::make_unique<asker>(names));
    hanging.back()->ask(host);
  };
  for (const char* host : {"hang-1", "hang-2", "hang-3"}) hang(host);
  BOOST_REQUIRE(system->reaches(3));
  hang("hang-4");  // has to wait for a thread
  BOOST_TEST(names.threads() == 3U);

  asker fifth(names);
  fifth.ask("a");
  BOOST_TEST((fifth.wait().error() == errc::overloaded));
  hanging.back()->lookup.cancel();
  BOOST_TEST((hanging.back()->wait().error() == errc::cancelled));
  hanging.pop_back();
  asker sixth(names);
  sixth.ask("a");

  BOOST_REQUIRE(system->release(4));
  BOOST_TEST(sixth.wait().has_value());
  const auto asked = system->asked();
  BOOST_TEST((std::find(asked.begin(), asked.end(), "hang-4") == asked.end()), "nobody wanted it any more");
}

BOOST_FIXTURE_TEST_CASE(who_cannot_be_told_costs_nobody_else_the_answer, names_fixture) {
  // There may be no memory to tell it with; it happens on a thread of the process that nobody else looks after.
  const auto wanted = std::make_shared<int>(0);
  BOOST_REQUIRE(!names.ask("hang.example", wanted, [](const name_service::answer& /*found*/) { throw std::bad_alloc(); }));
  asker other(names);
  other.ask("hang.example");
  BOOST_REQUIRE(system->reaches(1));

  BOOST_REQUIRE(system->release(1));
  BOOST_TEST(other.wait().has_value());
}

BOOST_AUTO_TEST_CASE(neither_a_lane_nor_the_service_waits_for_a_look_up_to_end) {
  // A stop of the process must not take as long as the name service does.
  const auto system = std::make_shared<slow_names>();
  {
    name_service names([system](const std::string& host) { return (*system)(host); }, {});
    names_fixture::asker first(names);
    first.ask("hang.example");
    BOOST_REQUIRE(system->reaches(1));
  }  // with the question still open

  BOOST_TEST(system->release(1), "it ends behind everything's back");
}

BOOST_AUTO_TEST_SUITE_END()

// The whole service with engines that publish to it over real sockets, driven from the test's own thread.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include <boost/asio/io_context.hpp>
#include <boost/test/unit_test.hpp>

#include "tests/support/net/api_fixture.hpp"
#include "tests/support/net/eventually.hpp"

namespace kvc::test {

/// A service of two lanes and two engines, which come to lie on one each in the order they join.
struct engines_fixture {
  api_fixture service;
  boost::asio::io_context context;  ///< publishers live here and make progress inside `eventually`
  fake_publisher first{service.engine, context, {}};
  fake_publisher second{service.engine, context, {}};

  /// Registers a publisher's rank 0 in the partition (default, m, block size 4), and waits until its stream is whole.
  void join(const fake_publisher& publisher, const std::string& instance, const std::string& type = "vLLM", const std::string& more = "") {
    const auto answer =
        service.post("/register", R"({"endpoint":")" + publisher.endpoint() + R"(","replay_endpoint":")" + publisher.replay_endpoint() +
                                      R"(","type":")" + type + R"(","modelname":"m","instance_id":")" + instance +
                                      R"(","block_size":4,"dp_rank":0)" + more + "}");
    BOOST_REQUIRE(answer.status == 200);
    BOOST_REQUIRE(shows("/services?instance_id=" + instance, R"("state":"whole")"));
  }

  /// Waits until a page has a text.
  bool shows(const std::string& page, const std::string& text) {
    return eventually([&] { return service.get(page).body.find(text) != std::string::npos; });
  }
  [[nodiscard]] std::string row_of(const std::string& instance, const std::vector<std::uint32_t>& prompt, const std::string& more = "") {
    std::string body = R"({"model":"m","block_size":4,"instance_id":")" + instance + R"(")" + more + R"(,"token_ids":[)";
    for (const std::uint32_t token : prompt) body += std::to_string(token) + ",";
    body.back() = ']';
    return service.post("/query", body + "}").body;
  }
  /// Waits until the instance has so much of the prompt.
  bool reaches(const std::string& instance, const std::vector<std::uint32_t>& prompt, std::size_t tokens) {
    const std::string text = R"("longest_matched":)" + std::to_string(tokens) + ",";
    return eventually([&] { return row_of(instance, prompt).find(text) != std::string::npos; });
  }
  /// Runs the test's context until `holds`; false after 20 s.
  template <class Condition>
  bool eventually(Condition holds) {
    return kvc::test::run_until(context, holds);
  }
};

}  // namespace kvc::test

// The whole service with publishers that really publish, for tests of what it says of their streams.
#pragma once

#include <memory>
#include <stdexcept>
#include <string>

#include <boost/asio/io_context.hpp>
#include <boost/test/unit_test.hpp>

#include "tests/support/net/api_fixture.hpp"
#include "tests/support/net/eventually.hpp"
#include "tests/support/net/fake_publisher.hpp"

namespace kvc::test {

struct report_fixture : api_fixture {
  explicit report_fixture(const api_settings& settings = {}) : api_fixture(settings) {}

  boost::asio::io_context context;  ///< publishers live here and make progress inside `eventually`

  /// Runs the test's context until `holds`; false after 20 s.
  template <class Holds>
  bool eventually(Holds holds) {
    return run_until(context, holds);
  }

  /// Registers rank 0 of an instance in the partition (default, m, block size 4). `replay_endpoint` may be empty.
  void enrol_at(const std::string& endpoint, const std::string& replay_endpoint, const std::string& instance,
                const std::string& type = "vLLM", const std::string& more = "") {
    const std::string replay = replay_endpoint.empty() ? "null" : '"' + replay_endpoint + '"';
    BOOST_REQUIRE(post("/register", R"({"endpoint":")" + endpoint + R"(","replay_endpoint":)" + replay + R"(,"type":")" + type +
                                        R"(","modelname":"m","instance_id":")" + instance + R"(","block_size":4)" + more + "}")
                      .status == 200);
  }
  void enrol(const fake_publisher& who, const std::string& instance, const std::string& type = "vLLM", const std::string& more = "") {
    enrol_at(who.endpoint(), who.replay_endpoint(), instance, type, more);
  }

  /// What is known of an instance's only stream.
  [[nodiscard]] std::shared_ptr<const core::stream_status> status_of(const std::string& instance) const {
    const auto seen = fleet.view().get();
    for (const auto& each : *seen) {
      if (each->registration.worker.instance == instance) return each->status;
    }
    throw std::runtime_error("no such stream: " + instance);
  }
  bool reaches(const std::string& instance, core::stream_state wanted) {
    const auto status = status_of(instance);
    return eventually([&] { return status->state.load() == wanted; });
  }
};

}  // namespace kvc::test

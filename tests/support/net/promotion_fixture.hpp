// A store with an object on disk whose promotion a test asks for, and what is answered.
#pragma once

#include <string>

#include <boost/test/unit_test.hpp>

#include "tests/support/net/store_fixture.hpp"
#include "tests/support/net/stub_master.hpp"

namespace kvc::test {

/// A store with one object on local disk, which its master promotes when asked twice.
struct promotion_fixture : store_fixture {
  // What is answered.
  static constexpr const char* started = R"({"exists":1,"prefetch":"started"})";
  static constexpr const char* joined = R"({"exists":1,"prefetch":"joined"})";
  static constexpr const char* suppressed = R"({"exists":1,"prefetch":"suppressed"})";
  static constexpr const char* failed = R"({"exists":1,"prefetch":"failed"})";
  static constexpr const char* none = R"({"exists":1,"prefetch":"none"})";

  explicit promotion_fixture(const net::store_settings& settings = quick_stores()) : store_fixture(settings) {
    master.put("ssd", {.local_disk = true});
    open_pool();
    publish({listed("ssd", {core::replica_kind::local_disk}), listed("old", {core::replica_kind::disk}),
             listed("dram", {core::replica_kind::memory})});
    BOOST_REQUIRE(becomes(R"({"keys":["ssd","old","dram"]})", R"({"exists":[1,1,1]})"));
  }

  std::string prefetch(const std::string& more = "") { return exist(R"({"key":"ssd","prefetch":true)" + more + "}"); }
  double ended(const std::string& outcome) { return metric("kvc_prefetch_requests_total{outcome=\"" + outcome + "\"}"); }
  bool has_ended(const std::string& outcome) {
    return eventually([&] { return ended(outcome) >= 1; });
  }

  stub_master master;
};

}  // namespace kvc::test

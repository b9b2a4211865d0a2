// A pool whose store is asked about its objects all the time, for the tests of what is believed of stores.
#pragma once

#include <chrono>
#include <string>

#include "tests/support/net/store_fixture.hpp"
#include "tests/support/net/stub_master.hpp"

namespace kvc::test {

/// Everything known is old at once, and there is no want of calls.
inline net::store_settings watchful_stores() {
  net::store_settings settings = quick_stores();
  settings.reconcile_age = std::chrono::milliseconds(0);
  settings.reconcile_rate = 100'000;
  return settings;
}

/// A pool, and a store that a test may add beside it.
struct truth_fixture : store_fixture {
  truth_fixture() : store_fixture(watchful_stores()) { open_pool(); }

  double differences(const std::string& kind) { return metric("kvc_store_reconcile_total{difference=\"" + kind + "\"}"); }

  stub_master master;
};

}  // namespace kvc::test

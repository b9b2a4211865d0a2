// A fleet with one publisher whose stream is whole.
#pragma once

#include <boost/test/unit_test.hpp>

#include "tests/support/net/stream_fixture.hpp"

namespace kvc::test {

/// What most tests of a stream begin with.
struct joined_fixture : stream_fixture {
  fake_publisher engine_1{engine, context, {}};

  joined_fixture() {
    const auto added = await(fleet.add(registration(engine_1)));
    BOOST_REQUIRE(added);
    BOOST_REQUIRE(eventually([&] { return state() == core::stream_state::whole; }));
  }
};

}  // namespace kvc::test

// Boost.Test's runner, compiled once for all test programs.
#define BOOST_TEST_MODULE kv_conductor
#include <boost/test/included/unit_test.hpp>

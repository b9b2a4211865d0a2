#include "core/quota.hpp"

#include <cmath>
#include <limits>

#include <boost/test/unit_test.hpp>

namespace kvc::test {
BOOST_AUTO_TEST_SUITE(quota)

namespace {

using namespace kvc::core;

struct gib_row {
  double gib;
  double bytes;
  double back;  ///< what an answer says afterwards
};

}  // namespace

BOOST_AUTO_TEST_CASE(limits_are_whole_bytes_truncated_toward_zero) {
  // Clients see the limit recomputed from bytes; figures of spec coordinator-api section 2.
  const gib_row rows[] = {{0, 0, 0},
                          {10, 10'737'418'240.0, 10},
                          {1e-9, 1, 9.313225746154785e-10},
                          {1e-10, 0, 0},
                          {0.1, 107'374'182.0, 107'374'182.0 / 1'073'741'824.0},
                          {1e15, 1'073'741'824e15, 1e15}};
  for (const gib_row& each : rows) {
    BOOST_TEST_CONTEXT(each.gib) {
      const auto bytes = quota_bytes_of_gib(each.gib);

      BOOST_TEST_REQUIRE(bytes.has_value());
      BOOST_TEST(*bytes == each.bytes);
      BOOST_TEST(gib_of_bytes(*bytes) == each.back);
    }
  }
}

BOOST_AUTO_TEST_CASE(what_is_no_limit_is_refused) {
  // Documented as a bad request; a service that computes with it would fail later and elsewhere.
  using limits = std::numeric_limits<double>;
  for (const double each : {-1.0, -1e-300, limits::quiet_NaN(), limits::infinity(), -limits::infinity(), 1e300, limits::max()}) {
    BOOST_TEST((quota_bytes_of_gib(each).error() == make_error_code(errc::quota_limit_invalid)), each);
  }
}

BOOST_AUTO_TEST_CASE(a_salt_without_a_quota_has_the_default) {
  // 0 lets only listed tenants keep anything; no default exempts the others.
  quota_table quotas;
  BOOST_TEST(*quotas.limit_of("a") == 0.0);
  BOOST_TEST(!quotas.find("a").has_value());

  quotas.set_default_limit(std::nullopt);
  BOOST_TEST(!quotas.limit_of("a").has_value());
  quotas.set_default_limit(12.0);
  BOOST_TEST(*quotas.limit_of("a") == 12.0);
  BOOST_TEST(quotas.set("a", 5).has_value());
  BOOST_TEST(quotas.set("a", 6).has_value());
  BOOST_TEST(*quotas.limit_of("a") == 6.0);

  BOOST_TEST(quotas.remove("a"));
  BOOST_TEST(!quotas.remove("a"));
  BOOST_TEST(*quotas.limit_of("a") == 12.0);
}

BOOST_AUTO_TEST_CASE(quotas_are_bounded) {
  // Salts in a path are not checked: anybody could make them up without end.
  quota_table quotas({.quotas = 1});
  BOOST_TEST(quotas.set("a", 1).has_value());

  BOOST_TEST((quotas.set("b", 1).error() == make_error_code(errc::quotas_exhausted)));
  BOOST_TEST(quotas.set("a", 2).has_value());

  quota_table narrow({.salt_bytes = 10});
  BOOST_TEST(narrow.set("1234567", 1).has_value());
  BOOST_TEST(!narrow.set("1234", 1).has_value());
  BOOST_TEST(narrow.remove("1234567"));
  BOOST_TEST(narrow.set("1234", 1).has_value());
}

BOOST_AUTO_TEST_CASE(words_of_the_wire) {
  // Tiers are written in lower case, and one word stands for the empty salt.
  BOOST_TEST((parse_cache_tier("l2") == cache_tier::l2));
  BOOST_TEST((parse_cache_tier("l1") == cache_tier::l1));
  BOOST_TEST((parse_cache_tier("all") == cache_tier::all));
  BOOST_TEST(!parse_cache_tier("L2").has_value());
  BOOST_TEST(!parse_cache_tier("").has_value());
  BOOST_TEST(salt_of_segment("_default").empty());
  BOOST_TEST(salt_of_segment("default") == "default");
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace kvc::test

// The description of the pages about streams, held against the pages.
#include <set>
#include <string>
#include <string_view>
#include <utility>

#include <boost/json/array.hpp>
#include <boost/json/object.hpp>
#include <boost/test/unit_test.hpp>

#include "tests/support/net/coordinator_fixture.hpp"
#include "tests/support/net/store_fixture.hpp"

BOOST_AUTO_TEST_SUITE(pages_openapi)

namespace {

using namespace kvc::test;
using boost::json::value;

/// What schemas and pages have not in common, as paths.
struct comparison {
  const value& schemas;
  std::set<std::string> untold;  ///< shown and not described
  std::set<std::string> unseen;  ///< described and not shown

  [[nodiscard]] const value& resolved(const value& schema) const {
    const auto* const reference = schema.as_object().if_contains("$ref");
    if (reference == nullptr) return schema;
    const std::string_view path = reference->as_string();
    return resolved(schemas.at(path.substr(path.rfind('/') + 1)));
  }

  void compare(const value& page, const value& described, const std::string& path) {
    const auto& schema = resolved(described).as_object();
    if (page.is_array()) {
      for (const value& each : page.as_array()) compare(each, schema.at("items"), path);
      return;
    }
    const auto* const members = schema.if_contains("properties");
    if (!page.is_object() || members == nullptr) return;
    for (const auto& [name, shown] : page.as_object()) {
      const std::string inner = path + "." + std::string(std::string_view(name));
      const auto* const told = members->as_object().if_contains(name);
      if (told == nullptr) untold.insert(inner);
      if (told != nullptr) compare(shown, *told, inner);
    }
    for (const auto& [name, told] : members->as_object()) {
      if (!page.as_object().contains(name)) unseen.insert(path + "." + std::string(std::string_view(name)));
    }
  }
};

}  // namespace

BOOST_FIXTURE_TEST_CASE(every_member_of_a_page_is_described_and_none_that_is_not_there, store_fixture) {
  // An operator who writes an alarm has nothing else to look a member up in.
  open_pool();  // a stream that is shown with all there is
  const auto document = json_of(call("GET", "/openapi.json"));

  for (const std::string path : {"/services", "/workers", "/global_view", "/healthz", "/livez", "/health", "/readyz", "/ready"}) {
    const auto& answers = document.at("paths").at(path).at("get").at("responses").at("200").at("content").at("application/json");
    comparison between{document.at("components").at("schemas"), {}, {}};
    BOOST_TEST(between.resolved(answers.at("schema")).as_object().contains("properties"), path);
    between.compare(json_of(call("GET", path)), answers.at("schema"), path);
    for (const std::string& each : between.untold) BOOST_ERROR(each + " is not described");
    if (path.starts_with("/ready")) continue;  // says less when all is well
    for (const std::string& each : between.unseen) BOOST_ERROR(each + " is not there");
  }
}

BOOST_AUTO_TEST_SUITE_END()

#include "core/partition_map.hpp"

#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <random>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include <boost/test/unit_test.hpp>

#include "core/catalog.hpp"

BOOST_AUTO_TEST_SUITE(partition_map)

namespace {

using namespace kvc::core;
using kvc::core::partition_map;

using model = std::map<partition_key, std::shared_ptr<const partition_view>>;

/// Keys whose order is another one than that of their numbers.
partition_key key_of(std::uint32_t number) {
  return {.tenant = "t" + std::to_string(number % 3), .model = "m", .lora = std::to_string(number), .salt = "", .block_size = 16};
}

std::shared_ptr<const partition_view> view_of(const std::shared_ptr<partition>& home) {
  auto made = std::make_shared<partition_view>();
  made->partition = home;
  return made;
}

/// The same entries, in the same order, and each of them to be found.
void compare(const partition_map& real, const model& wanted) {
  BOOST_REQUIRE(real.size() == wanted.size());
  BOOST_REQUIRE(real.empty() == wanted.empty());
  auto at = wanted.begin();
  for (const auto& [key, each] : real) {
    BOOST_REQUIRE(at != wanted.end());
    BOOST_REQUIRE((key == at->first));
    BOOST_REQUIRE(each == at->second);
    BOOST_REQUIRE(real.find(key)->second == each);
    ++at;
  }
  BOOST_REQUIRE((at == wanted.end()));
}

BOOST_AUTO_TEST_CASE(is_an_ordered_map_whose_copies_stay_as_they_were) {
  // It grows and shrinks several times, over many parts; now and then a reader takes a copy and keeps it.
  constexpr std::uint32_t numbers = 600;
  std::mt19937_64 random(20'251'129);
  std::vector<std::shared_ptr<partition>> homes;
  for (std::uint32_t i = 0; i < numbers; ++i) homes.push_back(std::make_shared<partition>(key_of(i), 7));
  partition_map real;
  model wanted;
  std::vector<std::pair<partition_map, model>> kept;
  for (std::uint32_t step = 0; step < 12'000; ++step) {
    const bool grows = step / 1'500 % 2 == 0;
    const auto number = static_cast<std::uint32_t>(random() % numbers);
    const auto& home = homes[number];
    if (random() % 10 < (grows ? 8U : 1U)) {
      const auto view = view_of(home);
      real.set(view);
      wanted[home->key()] = view;
    } else {
      real.erase(home->key());
      wanted.erase(home->key());
    }
    BOOST_REQUIRE((real.find(home->key()) == real.end()) == !wanted.contains(home->key()));
    if (step % 97 == 0) compare(real, wanted);
    if (step % 971 == 0) kept.emplace_back(real, wanted);
  }
  compare(real, wanted);
  for (const auto& [copy, then] : kept) compare(copy, then);

  while (!wanted.empty()) {
    real.erase(wanted.begin()->first);
    wanted.erase(wanted.begin());
    compare(real, wanted);
  }
}

BOOST_AUTO_TEST_CASE(what_is_not_there_is_not_found) {
  partition_map all;
  BOOST_TEST((all.begin() == all.end()));
  BOOST_TEST((all.find(key_of(1)) == all.end()));
  all.erase(key_of(1));
  for (std::uint32_t i = 0; i < 200; i += 2) all.set(view_of(std::make_shared<partition>(key_of(i), 7)));
  for (std::uint32_t i = 1; i < 200; i += 2) BOOST_TEST((all.find(key_of(i)) == all.end()));
  BOOST_TEST((all.find({.tenant = "", .model = "", .lora = "", .salt = "", .block_size = 0}) == all.end()));   // before the first
  BOOST_TEST((all.find({.tenant = "z", .model = "", .lora = "", .salt = "", .block_size = 0}) == all.end()));  // behind the last
  BOOST_CHECK_THROW((void)all.at(key_of(1)), std::out_of_range);
  BOOST_TEST((all.at(key_of(2))->partition->key() == key_of(2)));
}

}  // namespace

BOOST_AUTO_TEST_SUITE_END()

// Lists that are written in turns while what they are about changes: whoever was there all the time is in them once, as it was at some
// moment, and nobody is in them who never was.
//
// KVC_PROPERTY_STREAMS sets how many lists are made of each kind, KVC_PROPERTY_SEED the first seed.
#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstdint>
#include <map>
#include <optional>
#include <random>
#include <set>
#include <sstream>
#include <string>
#include <string_view>
#include <tuple>
#include <utility>
#include <vector>

#include <boost/json/array.hpp>
#include <boost/json/parse.hpp>
#include <boost/json/value.hpp>
#include <boost/test/unit_test.hpp>

#include "net/api_instances.hpp"
#include "net/api_quota.hpp"
#include "net/coordinator_metrics.hpp"
#include "net/http_body.hpp"
#include "tests/support/net/lone_coordinator.hpp"
#include "tests/support/setting.hpp"

BOOST_AUTO_TEST_SUITE(home_listing_lives)

namespace {

namespace asio = boost::asio;
namespace json = boost::json;
using namespace kvc;
using clock = std::chrono::steady_clock;

constexpr double gib = 1'073'741'824.0;

/// The whole document of a reply, however it is sent.
asio::awaitable<std::string> all_of(test::lone_coordinator& by, net::http_reply reply) {
  std::string text = std::move(reply.body);
  while (reply.stream) {
    std::string piece;
    const auto progress = co_await reply.stream->next(by.home, piece);
    text += piece;
    if (progress != net::http_body::progress::piece) break;
  }
  co_return text;
}

/// What is common to both lists.
class listing_life {
 public:
  explicit listing_life(std::uint64_t seed) : random(seed), at(net::coordinator_settings{.blend_max_chunks = 1}) {}
  virtual ~listing_life() = default;

  /// Empty when the list is right.
  std::string play() {
    for (std::uint64_t left = 50 + random() % 400; left != 0; --left) change();
    begin();
    std::string text;
    at.spawn(write(text));
    // Some lists are long enough to be sent in pieces; what happens between two turns is nothing, one thing or many.
    const std::uint64_t busy = 1 + random() % 40;
    while (at.under_way != 0) {
      at.turn();
      for (std::uint64_t left = random() % busy; left != 0; --left) change();
    }
    if (at.failure) return "it throws";
    return complaint(text);
  }

 protected:
  virtual void change() = 0;
  virtual void begin() = 0;
  virtual asio::awaitable<net::http_reply> asked() = 0;
  virtual std::string complaint(const std::string& text) const = 0;

  std::mt19937_64 random;
  test::lone_coordinator at;

 private:
  asio::awaitable<void> write(std::string& into) {
    net::http_reply reply = co_await asked();
    into = co_await all_of(at, std::move(reply));
  }
};

/// Usage and quotas: of each salt the rows it could have had since the list was begun; one that is not listed has none.
class usage_life final : public listing_life {
 public:
  using listing_life::listing_life;

 private:
  using row = std::pair<std::optional<double>, std::uint64_t>;
  struct salt_story {
    std::map<std::string, std::uint64_t> objects;
    std::optional<double> quota;
    std::set<row> rows;
    bool was_always_listed = false;  ///< since the list was begun
  };

  static row row_of(const salt_story& story) {
    std::uint64_t bytes = 0;
    for (const auto& [hash, size] : story.objects) bytes += size;
    return {story.quota, bytes};
  }
  static bool is_listed(const row& one) { return one.first || one.second != 0; }

  void change() override {
    // Long ones, as quotas may have, so that lists are long; objects are told of under short ones.
    const std::uint64_t number = random() % 400;
    const bool is_long = number % 2 == 0;
    const std::string salt = std::to_string(number * 7'919 % 1'000) + (is_long ? std::string(6'000, 'x') : "");
    salt_story& story = stories_[salt];
    if (is_long || random() % 3 == 0) {
      if (random() % 3 == 0) {
        at.context.tables.quotas.remove(salt);
        story.quota.reset();
      } else {
        story.quota = static_cast<double>(random() % 1'000);
        (void)at.context.tables.quotas.set(salt, *story.quota);
      }
    } else {
      const std::string hash(1, static_cast<char>(random() % 3));
      const bool is_store = random() % 2 == 0;
      const std::uint64_t bytes = random() % 3;  // nothing, at times
      const core::usage_event event{.what = is_store ? core::usage_event::kind::store : core::usage_event::kind::remove,
                                    .key = {.hash = hash, .model = "m", .kv_rank = 0, .object_group = 0, .salt = salt},
                                    .bytes = bytes};
      at.context.tables.usage.apply({&event, 1});
      if (is_store) {
        story.objects[hash] = bytes;
      } else {
        story.objects.erase(hash);
      }
    }
    note(story);
  }
  static void note(salt_story& story) {
    story.rows.insert(row_of(story));
    story.was_always_listed = story.was_always_listed && is_listed(row_of(story));
  }
  void begin() override {
    for (auto& [salt, story] : stories_) {
      story.rows.clear();
      story.was_always_listed = true;
      note(story);
      total_ += row_of(story).second;
    }
    // The list begins with its first turn.
  }
  asio::awaitable<net::http_reply> asked() override {
    total_ = 0;
    for (auto& [salt, story] : stories_) total_ += row_of(story).second;
    const net::http_request request;
    co_return co_await net::list_usage_reply(at.context, at.home, request);
  }
  std::string complaint(const std::string& text) const override {
    const json::value list = json::parse(text);
    if (std::llround(list.at("total_gb").to_number<double>() * gib) != static_cast<long long>(total_))
      return "the total is not that of the beginning";
    std::optional<std::string> last;
    std::set<std::string> seen;
    for (const json::value& each : list.at("by_cache_salt").as_array()) {
      const std::string salt(each.at("cache_salt").as_string());
      if (last && *last >= salt) return "out of order: " + salt;
      last = salt;
      seen.insert(salt);
      const auto story = stories_.find(salt);
      if (story == stories_.end()) return "nobody's: " + salt;
      row told{std::nullopt, static_cast<std::uint64_t>(std::llround(each.at("usage_gb").to_number<double>() * gib))};
      if (each.at("quota_exists").as_bool()) told.first = std::round(each.at("quota_limit_gb").to_number<double>() * gib);
      if (!is_listed(told) || !story->second.rows.contains(told)) {
        return "never so: " + salt.substr(0, 10) + " " + std::to_string(told.first.value_or(-1)) + " " + std::to_string(told.second);
      }
    }
    for (const auto& [salt, story] : stories_) {
      if (story.was_always_listed && !seen.contains(salt)) return "left out: " + salt;
    }
    return {};
  }

  std::map<std::string, salt_story> stories_;
  std::uint64_t total_ = 0;
};

/// Servers: by id the ports they had since the list was begun, 0 while they were not registered.
class servers_life : public listing_life {
 public:
  using listing_life::listing_life;

 private:
  void change() override {
    const std::string id = "s" + std::to_string(random() % 120);
    std::set<std::uint16_t>& ports = ports_[id];
    if (random() % 3 == 0) {
      at.context.tables.servers.remove(id);
      ports.insert(0);
      std::erase(order_, id);
      return;
    }
    const auto port = static_cast<std::uint16_t>(1 + random() % 60'000);
    core::mp_server server{
        .instance_id = id, .ip = std::string(15'000, 'i'), .http_port = port, .metadata = {{"a", "b"}}, .p2p_advertised_url = {}};
    (void)at.context.tables.servers.add(std::move(server), clock::now(), std::chrono::system_clock::now());
    ports.insert(port);
    if (std::ranges::find(order_, id) == order_.end()) order_.push_back(id);
  }
  void begin() override {
    for (auto& [id, ports] : ports_) {
      const core::mp_member* const member = at.context.tables.servers.find(id);
      ports = {member == nullptr ? std::uint16_t{0} : member->server.http_port};
    }
    order_at_begin_ = order_;
  }
  asio::awaitable<net::http_reply> asked() override { co_return co_await net::list_instances_reply(at.context, at.home); }
  std::string complaint(const std::string& text) const override {
    const json::value list = json::parse(text);
    std::vector<std::string> told;
    for (const json::value& each : list.at("instances").as_array()) {
      const std::string id(each.at("instance_id").as_string());
      if (std::ranges::find(told, id) != told.end()) return "told twice: " + id;
      told.push_back(id);
      const auto ports = ports_.find(id);
      if (ports == ports_.end() || !ports->second.contains(each.at("http_port").to_number<std::uint16_t>())) return "never so: " + id;
    }
    // Who was there all the time is in the list, in the order of first registration.
    std::vector<std::string> stayed = order_at_begin_;
    std::erase_if(stayed, [&](const std::string& id) { return ports_.at(id).contains(0); });
    std::erase_if(told, [&](const std::string& id) { return std::ranges::find(stayed, id) == stayed.end(); });
    return told == stayed ? std::string() : "somebody is left out, or out of order";
  }

  std::map<std::string, std::set<std::uint16_t>> ports_;
  std::vector<std::string> order_;
  std::vector<std::string> order_at_begin_;
};

/// The page of metrics, in which no series may be twice: who reads it refuses all of it then, or keeps either.
class metrics_life final : public servers_life {
 public:
  using servers_life::servers_life;

 private:
  asio::awaitable<net::http_reply> asked() override {
    net::http_reply reply;
    reply.body = co_await net::coordinator_metrics(at.context);
    co_return reply;
  }
  std::string complaint(const std::string& text) const override {
    std::set<std::string> series;
    std::istringstream lines(text);
    for (std::string line; std::getline(lines, line);) {
      if (!line.starts_with('#') && !series.insert(line.substr(0, line.rfind(' '))).second) return "twice: " + line;
    }
    return series.size() > 50 ? std::string() : "no page of metrics";
  }
};

template <class Life>
void play_all() {
  const std::uint64_t first = test::setting("KVC_PROPERTY_SEED", 909);
  const std::uint64_t lists = test::setting("KVC_PROPERTY_STREAMS", 25);
  BOOST_TEST_MESSAGE("seeds from " << first << ", " << lists << " lists");
  for (std::uint64_t seed = first; seed < first + lists; ++seed) {
    const std::string wrong = Life(seed).play();
    BOOST_REQUIRE_MESSAGE(wrong.empty(), "seed " << seed << ": " << wrong.substr(0, 200));
  }
}

}  // namespace

BOOST_AUTO_TEST_CASE(usage_is_told_of_every_salt_that_stays) {
  play_all<usage_life>();
}

BOOST_AUTO_TEST_CASE(servers_are_told_once_each) {
  play_all<servers_life>();
}

BOOST_AUTO_TEST_CASE(no_series_is_on_the_page_of_metrics_twice) {
  play_all<metrics_life>();
}

BOOST_AUTO_TEST_SUITE_END()

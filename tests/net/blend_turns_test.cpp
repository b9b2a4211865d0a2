// Publications, removals and queries of several clients at the same time, in slices on the coordinator's lane: each is answered as if it
// were alone, since each client has a model and object keys of its own.
//
// KVC_PROPERTY_STREAMS sets how many fleets of clients there are, KVC_PROPERTY_SEED the first seed.
#include <algorithm>
#include <array>
#include <cstdint>
#include <map>
#include <random>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <boost/test/unit_test.hpp>

#include "net/api_blend.hpp"
#include "tests/support/net/lone_coordinator.hpp"
#include "tests/support/setting.hpp"

BOOST_AUTO_TEST_SUITE(blend_turns)

namespace {

namespace asio = boost::asio;
using namespace kvc;

constexpr std::size_t length = 3;  ///< tokens per chunk
using chunk = std::array<std::uint64_t, length>;

/// One of those who publish, and what of it is in the directory by a plain map.
class client {
 public:
  client(test::lone_coordinator& at, std::string model, std::uint64_t seed) : at_(at), model_(std::move(model)), random_(seed) {}

  /// Some requests, one after the other.
  asio::awaitable<void> live() {
    for (int i = 0; i < 12; ++i) {
      const std::uint64_t what = random_() % 8;
      if (what < 3) co_await publish();
      if (what == 3) co_await take_back();
      if (what > 3) co_await match();
    }
  }
  asio::awaitable<void> leave() {
    std::vector<std::string> keys;
    for (std::size_t i = 0; i < most_keys; ++i) keys.push_back(key(i));
    co_await take_back(keys);
  }
  [[nodiscard]] bool is_answered_well() const { return is_answered_well_; }

 private:
  static constexpr std::size_t most_keys = 30;

  [[nodiscard]] std::string key(std::size_t number) const { return (number % 2 == 0 ? "0a" : "key of ") + model_ + std::to_string(number); }
  [[nodiscard]] std::vector<std::uint64_t> some_tokens(std::size_t most) {
    std::vector<std::uint64_t> tokens(random_() % (most + 1));
    const std::uint64_t words = random_() % 2 == 0 ? 3 : 40;
    for (auto& each : tokens) each = random_() % words;
    return tokens;
  }
  void check(const net::http_reply& reply, const std::string& wanted) {
    is_answered_well_ = is_answered_well_ && reply.status == 200 && reply.body == wanted;
  }

  asio::awaitable<void> publish() {
    std::vector<std::string> names;
    std::vector<net::chunk_range> ranges(1 + random_() % 3);
    for (net::chunk_range& each : ranges) {
      each.tokens = some_tokens(random_() % 4 == 0 ? 5'000 : 30);  // more than are published in one turn
      each.old_st_base = random_() % 1'000;
    }
    for (const net::chunk_range& each : ranges) {
      for (std::size_t i = 0; i < each.tokens.size() / length; ++i) names.push_back(key(random_() % most_keys));
    }
    std::size_t inserted = 0;
    std::size_t next = 0;
    for (net::chunk_range& each : ranges) {
      each.scope = model_;
      const std::size_t chunks = each.tokens.size() / length;
      const bool is_told_wrong = random_() % 10 == 0;  // a key too few or too many, and then nothing of it counts
      for (std::size_t i = 0; i < chunks; ++i, ++next) {
        chunk content;
        std::copy_n(each.tokens.begin() + static_cast<std::ptrdiff_t>(i * length), length, content.begin());
        each.object_keys.push_back(names[next]);
        if (!is_told_wrong) inserted += held_.try_emplace(content, names[next], each.old_st_base + i * length).second ? 1 : 0;
      }
      if (is_told_wrong) each.object_keys.push_back("one more");
    }
    check(co_await net::publish_chunks_reply(at_.context, at_.home, ranges), R"({"inserted":)" + std::to_string(inserted) + "}");
  }

  asio::awaitable<void> take_back() {
    std::vector<std::string> keys(random_() % 4);
    for (std::string& each : keys) each = key(random_() % most_keys);
    co_await take_back(keys);
  }
  asio::awaitable<void> take_back(const std::vector<std::string>& keys) {
    net::removal_request wanted;
    wanted.object_keys.assign(keys.begin(), keys.end());
    const std::set<std::string> gone(keys.begin(), keys.end());
    const std::size_t removed = std::erase_if(held_, [&](const auto& each) { return gone.contains(each.second.first); });
    check(co_await net::remove_chunks_reply(at_.context, at_.home, wanted), R"({"removed":)" + std::to_string(removed) + "}");
  }

  asio::awaitable<void> match() {
    const std::vector<std::uint64_t> tokens = some_tokens(random_() % 4 == 0 ? 60'000 : 100);  // more than are looked at in one turn
    std::string wanted;
    std::set<std::string> told;
    for (std::size_t at = 0; at + length <= tokens.size(); at += at_.context.settings.blend_probe_stride) {
      chunk content;
      std::copy_n(tokens.begin() + static_cast<std::ptrdiff_t>(at), length, content.begin());
      const auto found = held_.find(content);
      if (found == held_.end() || !told.insert(found->second.first).second) continue;
      wanted += (wanted.empty() ? R"({"object_key":")" : R"(,{"object_key":")") + found->second.first + R"(","old_st":)" +
                std::to_string(found->second.second) + R"(,"cur_st":)" + std::to_string(at) + "}";
    }
    net::match_request asked{.scope = model_, .tokens = {}};
    if (random_() % 2 == 0) {
      asked.tokens = tokens;
    } else {
      asked.tokens = std::vector<std::uint32_t>(tokens.begin(), tokens.end());
    }
    check(co_await net::match_chunks_reply(at_.context, at_.home, asked), R"({"matches":[)" + wanted + "]}");
  }

  test::lone_coordinator& at_;
  std::string model_;
  std::mt19937_64 random_;
  std::map<chunk, std::pair<std::string, std::uint64_t>> held_;  ///< to its key and place
  bool is_answered_well_ = true;
};

}  // namespace

BOOST_AUTO_TEST_CASE(clients_of_different_models_do_not_notice_each_other) {
  const std::uint64_t first = test::setting("KVC_PROPERTY_SEED", 31);
  const std::uint64_t fleets = test::setting("KVC_PROPERTY_STREAMS", 12);
  BOOST_TEST_MESSAGE("seeds from " << first << ", " << fleets << " fleets");
  for (std::uint64_t seed = first; seed < first + fleets; ++seed) {
    net::coordinator_settings settings;
    settings.blend_chunk_size = length;
    settings.blend_probe_stride = 1 + seed % 3;
    settings.blend_max_chunks = 400'000;  // nobody makes room for anybody
    test::lone_coordinator coordinator(settings);
    std::vector<client> clients;
    for (std::uint64_t i = 0; i < 4; ++i) clients.emplace_back(coordinator, "m" + std::to_string(i), seed * 10 + i);
    for (client& each : clients) coordinator.spawn(each.live());
    coordinator.turns_until_idle();
    for (client& each : clients) coordinator.spawn(each.leave());
    coordinator.turns_until_idle();

    BOOST_REQUIRE_MESSAGE(!coordinator.failure, "seed " << seed);
    for (const client& each : clients) BOOST_REQUIRE_MESSAGE(each.is_answered_well(), "seed " << seed);
    BOOST_REQUIRE(coordinator.context.tables.blend.size() == 0U);
    BOOST_REQUIRE(coordinator.context.tables.blend.objects() == 0U);
  }
}

BOOST_AUTO_TEST_SUITE_END()

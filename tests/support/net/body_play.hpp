// Bodies of one route of the coordinator, made, spoiled, judged and read: what tests of bodies share.
#pragma once

#include <array>
#include <cstdint>
#include <functional>
#include <optional>
#include <random>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <boost/json/serialize.hpp>
#include <boost/json/value.hpp>
#include <boost/test/unit_test.hpp>

#include "net/coordinator_reading.hpp"
#include "tests/support/net/body_model.hpp"
#include "tests/support/setting.hpp"

namespace kvc::test {

inline const body_judge::place root_of_body{"body"};

/// What a reader has of a body, in one form for the model and for what was read. One that begins with `400 ` is a refusal that is no 422.
using outcome = std::string;

/// A route: how a sound body looks, what it means or what is wrong with it, and what our reader has of it.
struct body_route {
  const char* name;
  net::coordinator_endpoint endpoint;
  told_value (*make)(std::mt19937_64&);
  outcome (*judge)(body_judge&, const told_value&);
  /// May find faults that reading alone does not, and puts the reply into the second.
  outcome (*show)(net::coordinator_reading&, std::optional<net::http_reply>&);
};

template <std::size_t n>
told_value one_of(std::mt19937_64& random, const std::array<std::string_view, n>& texts) {
  return told_value::of_text(texts[random() % n]);
}
inline told_value some_number(std::mt19937_64& random) {
  return told_value::of_number(std::to_string(random() % 1'000));
}
inline told_value some_word(std::mt19937_64& random) {
  return one_of<5>(random, {"a", "model", " b ", "", "\xC3\xA9"});
}
inline told_value some_list(std::mt19937_64& random, std::uint64_t longest, const std::function<told_value(std::mt19937_64&)>& make) {
  std::vector<told_value> all(random() % (longest + 1));
  for (told_value& each : all) each = make(random);
  return told_value::of_list(std::move(all));
}

inline std::string shown(std::string_view text) {
  return boost::json::serialize(boost::json::value(text));
}

/// Calls `see(element, its place)` for each of a list that may be left out.
inline void each_of(body_judge& judge, const told_value& object, const char* name, const body_judge::place& where,
                    const std::function<void(const told_value&, const body_judge::place&)>& see) {
  const told_value* const list = object.member(name);
  const body_judge::place at = body_judge::inside(where, name);
  if (list == nullptr || !judge.list(*list, at)) return;
  for (std::size_t i = 0; i < list->elements.size(); ++i) see(list->elements[i], body_judge::inside(at, i));
}

/// The tier a body names: `l2` unless it says so; empty after a fault.
inline std::string judge_tier(body_judge& judge, const told_value& body) {
  const told_value* const tier = body.member("tier");
  if (tier == nullptr) return "l2";
  return judge.word(*tier, body_judge::inside(root_of_body, "tier"), {"l1", "l2", "all"}, "'l1', 'l2' or 'all'").value_or("");
}

/// One body; what is different from what the model says, if anything.
inline std::string difference_of(const body_route& asked, const told_value& body, const std::string& text) {
  body_judge judge;
  const outcome wanted = asked.judge(judge, body);
  net::coordinator_reading read;
  std::optional<net::http_reply> refused = net::read_coordinator_body(asked.endpoint, text, read);
  outcome got;
  if (!refused) got = asked.show(read, refused);
  if (!judge.faults.empty()) {
    if (!refused)
      return "taken as " + got + ", but there is " + judge.faults[0].type + " at " + boost::json::serialize(judge.faults[0].place);
    return refused->status == 422 ? judge.difference(refused->body) : "status " + std::to_string(refused->status);
  }
  if (refused) got = std::to_string(refused->status) + " " + refused->body;
  const bool is_refusal = wanted.starts_with("400 ");
  const bool is_right = is_refusal ? got.starts_with("400 ") && got.find(wanted.substr(4)) != std::string::npos : got == wanted;
  return is_right ? std::string() : "is " + got + ", wanted " + wanted;
}

/// Bodies of a route, a third of them sound.
inline void play_bodies(const body_route& asked) {
  const std::uint64_t first = setting("KVC_PROPERTY_SEED", 404);
  const std::uint64_t bodies = setting("KVC_PROPERTY_STREAMS", 1'500);
  BOOST_TEST_MESSAGE(asked.name << ": seeds from " << first << ", " << bodies << " bodies");
  for (std::uint64_t seed = first; seed < first + bodies; ++seed) {
    std::mt19937_64 random(seed);
    told_value body = asked.make(random);
    if (random() % 3 != 0) spoil(body, random, 2 + static_cast<unsigned>(random() % 20));
    if (random() % 50 == 0) body = random_value(random);
    constexpr std::array<writing, 3> ways{writing::dense, writing::spaced, writing::odd};
    const std::string text = written(body, ways[random() % ways.size()], random);
    const std::string different = difference_of(asked, body, text);
    BOOST_REQUIRE_MESSAGE(different.empty(), asked.name << " seed " << seed << ": " << text << "\n" << different);
  }
}

}  // namespace kvc::test

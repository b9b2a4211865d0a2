// Bodies of every route, sound ones and spoiled ones, in every way they can be written: what is told of their faults, and what is taken of
// them, is what a model of the contract says.
//
// KVC_PROPERTY_STREAMS sets how many bodies each route gets, KVC_PROPERTY_SEED the seed of the first.
#include <array>
#include <cctype>
#include <cstdint>
#include <optional>
#include <random>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

#include <boost/test/unit_test.hpp>

#include "net/coordinator_reading.hpp"
#include "net/usage_scan.hpp"
#include "tests/support/net/body_play.hpp"
#include "tests/support/setting.hpp"

BOOST_AUTO_TEST_SUITE(coordinator_bodies_lives)

namespace {

using namespace kvc;
using namespace kvc::test;
using place = body_judge::place;

/// The bytes that hex spells: of either case, blanks between the pairs.
std::optional<std::string> bytes_of_hex(const std::string& hex) {
  constexpr std::string_view digits = "0123456789abcdef";
  std::string bytes;
  for (std::size_t i = 0; i < hex.size(); ++i) {
    if (std::isspace(static_cast<unsigned char>(hex[i])) != 0) continue;
    if (i + 1 == hex.size()) return std::nullopt;
    const std::size_t high = digits.find(static_cast<char>(std::tolower(static_cast<unsigned char>(hex[i]))));
    const std::size_t low = digits.find(static_cast<char>(std::tolower(static_cast<unsigned char>(hex[++i]))));
    if (high == std::string_view::npos || low == std::string_view::npos) return std::nullopt;
    bytes += static_cast<char>(high * 16 + low);
  }
  return bytes;
}

outcome shown_key(std::string_view hash, std::string_view model, std::int64_t rank, std::uint64_t group, std::string_view salt) {
  std::string text;
  for (const char each : hash) text += std::to_string(static_cast<unsigned char>(each)) + ".";
  return text + shown(model) + std::to_string(rank) + "/" + std::to_string(group) + shown(salt);
}

std::optional<outcome> judge_key(body_judge& judge, const told_value& value, const place& where) {
  if (!judge.object(value, where)) return std::nullopt;
  const auto text = [&](const char* name, bool must) -> std::optional<std::string> {
    const told_value* const member = must ? judge.required(value, name, where) : value.member(name);
    if (member != nullptr) return judge.text(*member, body_judge::inside(where, name));
    return must ? std::nullopt : std::optional<std::string>("");
  };
  const auto hex = text("chunk_hash_hex", true);
  const auto model = text("model_name", true);
  std::optional<std::int64_t> rank;
  if (const auto* member = judge.required(value, "kv_rank", where)) rank = judge.whole(*member, body_judge::inside(where, "kv_rank"));
  std::optional<std::int64_t> group = 0;
  if (const auto* member = value.member("object_group_id")) group = judge.whole(*member, body_judge::inside(where, "object_group_id"));
  const auto salt = text("cache_salt", false);
  if (!hex || !model || !rank || !group || !salt) return std::nullopt;
  const auto hash = bytes_of_hex(*hex);
  const bool is_salt = salt->find_first_of(std::string("@/\\\0", 4)) == std::string::npos;
  if (*group >= 0 && hash && is_salt && model->find('@') == std::string::npos) {
    return shown_key(*hash, *model, *rank, static_cast<std::uint64_t>(*group), *salt);
  }
  judge.refuse_value(where, value);
  return std::nullopt;
}

told_value some_key(std::mt19937_64& random) {
  told_value key = told_value::of_object({{"chunk_hash_hex", one_of<5>(random, {"aa", "AB cd", "", "0123456789abcdefAB", " ab\t01 "})},
                                          {"model_name", some_word(random)},
                                          {"kv_rank", told_value::of_number("16777472")}});
  if (random() % 2 == 0) key.members.emplace_back("object_group_id", some_number(random));
  if (random() % 2 == 0) key.members.emplace_back("cache_salt", some_word(random));
  return key;
}

std::string word_of(core::usage_event::kind what) {
  using enum core::usage_event::kind;
  return what == store ? "store" : what == lookup ? "lookup" : "delete";
}
outcome shown_event(const core::usage_event& each) {
  return word_of(each.what) + ":" + shown_key(each.key.hash, each.key.model, each.key.kv_rank, each.key.object_group, each.key.salt) + "=" +
         std::to_string(each.bytes) + ";";
}

told_value make_usage(std::mt19937_64& random) {
  told_value body = told_value::of_object({{"instance_id", some_word(random)}, {"seq", told_value::of_number("1")}});
  body.members.emplace_back(
      "events", some_list(random, 3, [](std::mt19937_64& bits) {
        return told_value::of_object(
            {{"type", one_of<3>(bits, {"store", "lookup", "delete"})}, {"key", some_key(bits)}, {"bytes", some_number(bits)}});
      }));
  if (random() % 2 == 0) body.members.emplace_back("tier", told_value::of_text("l2"));
  return body;
}

outcome judge_usage(body_judge& judge, const told_value& body) {
  if (!judge.object(body, root_of_body)) return {};
  outcome all;
  if (const auto* id = judge.required(body, "instance_id", root_of_body)) {
    all += shown(judge.text(*id, body_judge::inside(root_of_body, "instance_id")).value_or(""));
  }
  if (const auto* seq = judge.required(body, "seq", root_of_body)) {
    all += std::to_string(judge.whole(*seq, body_judge::inside(root_of_body, "seq"), 1).value_or(0)) + ";";
  }
  const auto* events = judge.required(body, "events", root_of_body);
  const place at = body_judge::inside(root_of_body, "events");
  if (events != nullptr && judge.list(*events, at)) {
    for (std::size_t i = 0; i < events->elements.size(); ++i) {
      const told_value& event = events->elements[i];
      const place here = body_judge::inside(at, i);
      if (!judge.object(event, here)) continue;
      std::optional<std::string> type;
      if (const auto* word = judge.required(event, "type", here)) {
        type = judge.word(*word, body_judge::inside(here, "type"), {"store", "lookup", "delete"}, "'store', 'lookup' or 'delete'");
      }
      std::optional<outcome> key;
      if (const auto* value = judge.required(event, "key", here)) key = judge_key(judge, *value, body_judge::inside(here, "key"));
      std::optional<std::int64_t> bytes;
      if (const auto* value = judge.required(event, "bytes", here)) bytes = judge.whole(*value, body_judge::inside(here, "bytes"), 0);
      if (type && key && bytes) all += *type + ":" + *key + "=" + std::to_string(*bytes) + ";";
    }
  }
  const std::string tier = judge_tier(judge, body);
  return tier == "l2" ? all : "400 tier '" + tier + "' not supported; only 'l2'";
}

outcome show_usage(net::coordinator_reading& read, std::optional<net::http_reply>&) {
  const auto& batch = std::get<net::usage_batch>(read.what);
  outcome all = shown(batch.instance_id) + std::to_string(batch.number.get()) + ";";
  for (const core::usage_event& each : batch.events) all += shown_event(each);
  return all;
}

told_value make_batches(std::mt19937_64& random) {
  return told_value::of_object(
      {{"batches", some_list(random, 2, [](std::mt19937_64& bits) {
          told_value batch = told_value::of_object({{"instance_id", some_word(bits)},
                                                    {"incarnation", some_number(bits)},
                                                    {"seq", told_value::of_number("3")},
                                                    {"event_type", one_of<4>(bits, {"store", "access", "delete", "config"})}});
          if (bits() % 3 != 0) batch.members.emplace_back("tier", one_of<2>(bits, {"l2", "l1"}));
          batch.members.emplace_back("entries", some_list(bits, 2, [](std::mt19937_64& more) {
                                       return told_value::of_object({{"key", some_key(more)}, {"size_bytes", some_number(more)}});
                                     }));
          return batch;
        })}});
}

void judge_entries(body_judge& judge, const told_value& batch, const std::string& type, const place& here, outcome& all) {
  const told_value* const entries = batch.member("entries");
  const place at = body_judge::inside(here, "entries");
  if (entries == nullptr || entries->what == told_value::kind::nothing || !judge.list(*entries, at)) return;
  for (std::size_t i = 0; i < entries->elements.size(); ++i) {
    const told_value& entry = entries->elements[i];
    const place where = body_judge::inside(at, i);
    if (!judge.object(entry, where)) continue;
    std::optional<outcome> key;
    if (const auto* value = judge.required(entry, "key", where)) key = judge_key(judge, *value, body_judge::inside(where, "key"));
    // Only a store has to tell a size.
    const told_value* size = entry.member("size_bytes");
    if (type != "store" && size != nullptr && size->what == told_value::kind::nothing) size = nullptr;
    std::optional<std::int64_t> bytes = 0;
    if (type == "store") size = judge.required(entry, "size_bytes", where);
    if (size != nullptr) bytes = judge.whole(*size, body_judge::inside(where, "size_bytes"), 0);
    const std::string word = type == "access" ? "lookup" : type;
    if (key && bytes) all += word + ":" + *key + "=" + std::to_string(*bytes) + ";";
  }
}

outcome judge_batches(body_judge& judge, const told_value& body) {
  if (!judge.object(body, root_of_body)) return {};
  outcome all;
  const told_value* const batches = judge.required(body, "batches", root_of_body);
  const place at = body_judge::inside(root_of_body, "batches");
  if (batches == nullptr || !judge.list(*batches, at)) return {};
  for (std::size_t i = 0; i < batches->elements.size(); ++i) {
    const told_value& batch = batches->elements[i];
    const place here = body_judge::inside(at, i);
    if (!judge.object(batch, here)) continue;
    if (const auto* id = judge.required(batch, "instance_id", here)) {
      all += shown(judge.text(*id, body_judge::inside(here, "instance_id")).value_or(""));
    }
    if (const auto* number = judge.required(batch, "incarnation", here)) {
      all += std::to_string(judge.whole(*number, body_judge::inside(here, "incarnation"), 0).value_or(0)) + ",";
    }
    if (const auto* number = judge.required(batch, "seq", here)) {
      all += std::to_string(judge.whole(*number, body_judge::inside(here, "seq"), 1).value_or(0)) + ";";
    }
    std::optional<std::string> type;
    if (const auto* word = judge.required(batch, "event_type", here)) {
      type = judge.word(*word, body_judge::inside(here, "event_type"), {"store", "access", "delete", "config"},
                        "'store', 'access', 'delete' or 'config'");
    }
    const told_value* const tier = batch.member("tier");
    std::optional<std::string> of = "l2";
    if (tier != nullptr && tier->what != told_value::kind::nothing) of = judge.text(*tier, body_judge::inside(here, "tier"));
    if ((!of || of == "l2") && type != "config") judge_entries(judge, batch, type.value_or(""), here, all);
  }
  return all;
}

outcome show_batches(net::coordinator_reading& read, std::optional<net::http_reply>&) {
  outcome all;
  for (const net::event_batch& each : std::get<net::event_batches>(read.what).batches) {
    all += shown(each.instance_id) + std::to_string(each.incarnation) + "," + std::to_string(each.number.get()) + ";";
    for (const core::usage_event& event : each.events) all += shown_event(event);
  }
  return all;
}

told_value make_ranges(std::mt19937_64& random) {
  told_value body = told_value::of_object();
  if (random() % 10 == 0) return body;
  body.members.emplace_back(
      "ranges", some_list(random, 3, [](std::mt19937_64& bits) {
        told_value range = told_value::of_object({{"model_scope", some_word(bits)}, {"old_st_base", some_number(bits)}});
        if (bits() % 4 != 0) range.members.emplace_back("tokens", some_list(bits, 40, some_number));
        if (bits() % 4 != 0) range.members.emplace_back("object_keys", some_list(bits, 4, some_word));
        return range;
      }));
  return body;
}

outcome judge_ranges(body_judge& judge, const told_value& body) {
  if (!judge.object(body, root_of_body)) return {};
  outcome all;
  each_of(judge, body, "ranges", root_of_body, [&](const told_value& range, const place& where) {
    if (!judge.object(range, where)) return;
    if (const auto* scope = judge.required(range, "model_scope", where)) {
      all += shown(judge.text(*scope, body_judge::inside(where, "model_scope")).value_or(""));
    }
    each_of(judge, range, "tokens", where, [&](const told_value& each, const place& at) {
      if (each.text == "9223372036854775808") {  // fits the 64 bits of a token
        all += each.text + ",";
      } else {
        all += std::to_string(static_cast<std::uint64_t>(judge.whole(each, at).value_or(0))) + ",";
      }
    });
    each_of(judge, range, "object_keys", where,
            [&](const told_value& each, const place& at) { all += shown(judge.text(each, at).value_or("")); });
    if (const auto* base = judge.required(range, "old_st_base", where)) {
      all += "@" + std::to_string(judge.whole(*base, body_judge::inside(where, "old_st_base"), 0).value_or(0));
    }
  });
  return all;
}

outcome show_ranges(net::coordinator_reading& read, std::optional<net::http_reply>&) {
  outcome all;
  for (const net::chunk_range& each : std::get<std::vector<net::chunk_range>>(read.what)) {
    all += shown(each.scope);
    for (const std::uint64_t token : each.tokens) all += std::to_string(token) + ",";
    for (const std::string_view key : each.object_keys) all += shown(key);
    all += "@" + std::to_string(each.old_st_base);
  }
  return all;
}

/// A body as it is read.
struct json_tree_of {
  explicit json_tree_of(std::string body) : text(std::move(body)), failed(tree.parse(text).has_value()) {}
  net::json_tree tree;
  std::string text;
  bool failed;
};

constexpr body_route usage{"usage", net::coordinator_endpoint::usage_events, make_usage, judge_usage, show_usage};
constexpr body_route batches{"batches", net::coordinator_endpoint::event_batches, make_batches, judge_batches, show_batches};
constexpr body_route ranges{"ranges", net::coordinator_endpoint::publish_chunks, make_ranges, judge_ranges, show_ranges};

}  // namespace

BOOST_AUTO_TEST_CASE(events_are_read_as_the_contract_says) {
  play_bodies(usage);
}

BOOST_AUTO_TEST_CASE(batches_with_an_incarnation_are_read_as_the_contract_says) {
  play_bodies(batches);
}

BOOST_AUTO_TEST_CASE(chunks_are_read_as_the_contract_says) {
  play_bodies(ranges);
}

BOOST_AUTO_TEST_CASE(words_for_numbers_are_words) {
  // With the sign of another number, or another word beside it, such a word was read as a number of some sort.
  constexpr std::string_view none[] = {"-NaN",       "+Infinity", "1NaN",       "NaN1", "Infinity5", "--Infinity", "-1Infinity",
                                       "Infinitye9", "NaNNaN",    "1.Infinity", "nan",  "Inf",       "infinity"};
  for (const std::string_view word : none) {
    json_tree_of both(R"({"a":)" + std::string(word) + "}");
    BOOST_TEST(both.failed, word);
  }
  json_tree_of sound(R"({"\"NaN\\":"NaN \" Infinity","a":[NaN,-Infinity ,Infinity],"b":NaN})");
  BOOST_REQUIRE(!sound.failed);
  BOOST_TEST((net::find_member(sound.tree.root(), "\"NaN\\").text() == "NaN \" Infinity"));
  BOOST_TEST(net::find_member(sound.tree.root(), "a").length() == 3U);
}

BOOST_AUTO_TEST_CASE(what_is_read_in_one_pass_is_read_alike_with_care) {
  // A byte of a plain body is another one, or is missing: the quick readers may give up, and may take nothing that the careful ones do not.
  const std::uint64_t first = setting("KVC_PROPERTY_SEED", 77);
  const std::uint64_t bodies = setting("KVC_PROPERTY_STREAMS", 3'000);
  BOOST_TEST_MESSAGE("seeds from " << first << ", " << bodies << " bodies");
  std::uint64_t taken = 0;
  for (std::uint64_t seed = first; seed < first + bodies; ++seed) {
    std::mt19937_64 random(seed);
    const body_route& asked = random() % 2 == 0 ? usage : ranges;
    std::string body = written(asked.make(random), random() % 2 == 0 ? writing::dense : writing::spaced, random);
    for (std::uint64_t changes = random() % 3; changes != 0; --changes) {
      constexpr std::string_view letters = "{}[]:,\"\\ \n0129-+.eEtnul\t\x7f\xC3";
      const std::size_t at = random() % body.size();
      if (random() % 3 == 0) {
        body.erase(at, 1 + random() % 3);
      } else {
        body.insert(at, 1, letters[random() % letters.size()]);
      }
      if (body.empty()) body = " ";
    }
    net::coordinator_reading quick;
    std::optional<net::http_reply> none;
    outcome by_quick;
    if (&asked == &usage) {
      if (!net::scan_usage_batch(body, quick.what.emplace<net::usage_batch>())) continue;
      by_quick = show_usage(quick, none);
    } else {
      if (!net::scan_chunk_ranges(body, quick.what.emplace<std::vector<net::chunk_range>>())) continue;
      by_quick = show_ranges(quick, none);
    }
    ++taken;
    net::coordinator_reading careful;
    net::field_faults faults;
    BOOST_REQUIRE_MESSAGE(!careful.tree.parse(body), "seed " << seed << ": " << body);
    outcome by_care;
    if (&asked == &usage) {
      net::read_usage_batch(careful.tree.root(), careful.what.emplace<net::usage_batch>(), faults);
      by_care = show_usage(careful, none);
    } else {
      net::read_chunk_ranges(careful.tree.root(), careful.what.emplace<std::vector<net::chunk_range>>(), faults);
      by_care = show_ranges(careful, none);
    }
    BOOST_REQUIRE_MESSAGE(faults.empty(), "seed " << seed << ": " << body);
    BOOST_REQUIRE_MESSAGE(by_quick == by_care, "seed " << seed << ": " << body << "\n" << by_quick << "\n" << by_care);
  }
  BOOST_TEST(taken > bodies / 10);
}

BOOST_AUTO_TEST_SUITE_END()

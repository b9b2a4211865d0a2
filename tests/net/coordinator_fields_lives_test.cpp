// Bodies of the routes that are answered by what single fields say: membership, quotas, prefetches, and those of /blend without chunks. As
// in coordinator_bodies_lives_test.
#include <array>
#include <chrono>
#include <cmath>
#include <cstdint>
#include <cstring>
#include <limits>
#include <map>
#include <optional>
#include <random>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

#include <boost/json/object.hpp>
#include <boost/json/parse.hpp>
#include <boost/json/serialize.hpp>
#include <boost/test/unit_test.hpp>

#include "net/api_instances.hpp"
#include "net/api_quota.hpp"
#include "net/coordinator_reading.hpp"
#include "tests/support/net/body_play.hpp"
#include "tests/support/net/heard_log.hpp"

BOOST_AUTO_TEST_SUITE(coordinator_fields_lives)

namespace {

using namespace kvc;
using namespace kvc::test;
using place = body_judge::place;
using endpoint = net::coordinator_endpoint;

place at_member(const char* name) {
  return body_judge::inside(root_of_body, name);
}

/// A text that may be left out.
std::string optional_text(body_judge& judge, const told_value& body, const char* name) {
  const told_value* const member = body.member(name);
  return member == nullptr ? std::string() : judge.text(*member, at_member(name)).value_or("");
}
std::string required_text(body_judge& judge, const told_value& body, const char* name) {
  const told_value* const member = judge.required(body, name, root_of_body);
  return member == nullptr ? std::string() : judge.text(*member, at_member(name)).value_or("");
}

std::string without_blanks(std::string text) {
  const auto is_blank = [](char each) { return std::string_view(" \t\n\r").find(each) != std::string_view::npos; };
  while (!text.empty() && is_blank(text.back())) text.pop_back();
  while (!text.empty() && is_blank(text.front())) text.erase(0, 1);
  return text;
}

told_value make_instance(std::mt19937_64& random) {
  told_value body = told_value::of_object(
      {{"ip", one_of<4>(random, {"10.0.0.1", " host\t", "x", "\xC3\xA9"})}, {"http_port", told_value::of_number("9090")}});
  if (random() % 2 == 0) body.members.emplace_back("instance_id", one_of<3>(random, {"id", " id ", "\n"}));
  if (random() % 2 == 0) {
    told_value said = told_value::of_object();
    for (std::uint64_t left = random() % 4; left != 0; --left) {
      said.members.emplace_back(std::string(1, static_cast<char>('a' + random() % 3)), some_word(random));
    }
    body.members.emplace_back("metadata", said);
  }
  if (random() % 2 == 0) body.members.emplace_back("p2p_advertised_url", some_word(random));
  if (random() % 2 == 0) body.members.emplace_back("mq_port", some_number(random));
  return body;
}

outcome judge_instance(body_judge& judge, const told_value& body) {
  if (!judge.object(body, root_of_body)) return {};
  boost::json::object all;
  if (const told_value* const ip = judge.required(body, "ip", root_of_body)) {
    const auto text = judge.text(*ip, at_member("ip"));
    const std::string host = without_blanks(text.value_or(""));
    if (text && host.empty()) {
      judge.refuse("string_too_short", at_member("ip"), "String should have at least 1 character", *ip,
                   boost::json::value{{"min_length", 1}});
    }
    all["ip"] = host;
  }
  if (const told_value* const port = judge.required(body, "http_port", root_of_body)) {
    all["http_port"] = judge.whole(*port, at_member("http_port"), 1, 65'535).value_or(0);
  }
  all["instance_id"] = without_blanks(optional_text(judge, body, "instance_id"));
  boost::json::object said;
  if (const told_value* const metadata = body.member("metadata")) {
    const place where = at_member("metadata");
    if (metadata->what != told_value::kind::object) {
      judge.refuse("dict_type", where, "Input should be a valid dictionary", *metadata);
    } else {
      std::vector<std::string> names;  // each once, where it came first, with what came last
      for (const auto& [name, value] : metadata->members) {
        if (std::find(names.begin(), names.end(), name) == names.end()) names.push_back(name);
      }
      for (const std::string& name : names) {
        said[name] = judge.text(*metadata->member(name), body_judge::inside(where, boost::json::value(name))).value_or("");
      }
    }
  }
  all["metadata"] = said;
  all["p2p_advertised_url"] = without_blanks(optional_text(judge, body, "p2p_advertised_url"));
  std::int64_t queue = 0;
  if (const told_value* const port = body.member("mq_port")) queue = judge.whole(*port, at_member("mq_port"), 0, 65'535).value_or(0);
  all["mq_port"] = queue;
  return boost::json::serialize(all);
}

outcome show_instance(net::coordinator_reading& read, std::optional<net::http_reply>& refused) {
  const heard_log quiet;
  net::coordinator_tables tables(net::coordinator_settings{.blend_max_chunks = 1}, 1);
  net::http_reply reply = net::add_instance_reply(tables, std::get<core::mp_server>(read.what), 1, 2, std::chrono::steady_clock::now());
  if (reply.status != 200) {
    refused = std::move(reply);
    return {};
  }
  const core::mp_server& server = tables.servers.all().begin()->second.server;
  boost::json::object all;
  all["ip"] = server.ip;
  all["http_port"] = server.http_port;
  all["instance_id"] = server.instance_id.starts_with("mp-") ? "" : server.instance_id;
  boost::json::object said;
  for (const auto& [name, value] : server.metadata) {
    if (said.contains(name)) return "a name twice: " + name;
    said[name] = value;
  }
  all["metadata"] = said;
  all["p2p_advertised_url"] = server.p2p_advertised_url;
  all["mq_port"] = server.mq_port;
  return boost::json::serialize(all);
}

told_value make_quota(std::mt19937_64& random) {
  told_value body = told_value::of_object({{"limit_gb", random() % 2 == 0 ? some_number(random) : told_value::of_number("2.5")}});
  if (random() % 2 == 0) body.members.emplace_back("tier", one_of<3>(random, {"l2", "l2", "all"}));
  return body;
}

constexpr const char* no_limit = "400 invalid quota limit";

/// Bytes; nothing after a fault, less than 0 for what is no limit.
std::optional<double> judge_limit(body_judge& judge, const told_value& value, const char* name) {
  const auto limit = judge.real(value, at_member(name));
  if (!limit) return std::nullopt;
  const double bytes = std::trunc(*limit * 1'073'741'824.0);
  if (!std::isfinite(*limit) || (*limit >= 0 && !std::isfinite(bytes))) return -1;
  if (*limit >= 0) return bytes;
  judge.refuse("greater_than_equal", at_member(name), "Input should be greater than or equal to 0", value, boost::json::value{{"ge", 0}});
  return std::nullopt;
}

std::string shown_bytes(double bytes) {
  return boost::json::serialize(boost::json::value(bytes));
}

outcome judge_quota(body_judge& judge, const told_value& body) {
  if (!judge.object(body, root_of_body)) return {};
  std::optional<double> bytes;
  if (const told_value* const limit = judge.required(body, "limit_gb", root_of_body)) bytes = judge_limit(judge, *limit, "limit_gb");
  const std::string tier = judge_tier(judge, body);
  if (tier != "l2") return "400 tier '" + tier + "' not supported; only 'l2'";
  return bytes.value_or(0) < 0 ? outcome(no_limit) : shown_bytes(bytes.value_or(0));
}

outcome show_quota(net::coordinator_reading& read, std::optional<net::http_reply>& refused) {
  const heard_log quiet;
  net::coordinator_tables tables(net::coordinator_settings{.blend_max_chunks = 1}, 1);
  net::http_reply reply = net::set_quota_reply(tables, "salt", std::get<net::quota_order>(read.what));
  if (reply.status == 200) return shown_bytes(tables.quotas.find("salt").value());
  if (!tables.quotas.all().empty()) return "refused and set";
  refused = std::move(reply);
  return {};
}

told_value make_default(std::mt19937_64& random) {
  return told_value::of_object({{"default_limit_gb", random() % 2 == 0 ? some_number(random) : told_value{}}});
}

outcome judge_default(body_judge& judge, const told_value& body) {
  if (!judge.object(body, root_of_body)) return {};
  const told_value* const limit = judge.required(body, "default_limit_gb", root_of_body);
  if (limit == nullptr || limit->what == told_value::kind::nothing) return "none";
  const double bytes = judge_limit(judge, *limit, "default_limit_gb").value_or(0);
  return bytes < 0 ? outcome(no_limit) : shown_bytes(bytes);
}

outcome show_default(net::coordinator_reading& read, std::optional<net::http_reply>& refused) {
  const heard_log quiet;
  net::coordinator_tables tables(net::coordinator_settings{.blend_max_chunks = 1}, 1);
  net::http_reply reply = net::set_default_quota_reply(tables, std::get<net::default_quota_order>(read.what));
  if (reply.status == 200) return tables.quotas.default_limit() ? shown_bytes(*tables.quotas.default_limit()) : "none";
  refused = std::move(reply);
  return {};
}

told_value make_removal(std::mt19937_64& random) {
  return told_value::of_object({{"object_keys", some_list(random, 4, some_word)}});
}

outcome judge_removal(body_judge& judge, const told_value& body) {
  if (!judge.object(body, root_of_body)) return {};
  outcome all;
  each_of(judge, body, "object_keys", root_of_body,
          [&](const told_value& each, const place& at) { all += shown(judge.text(each, at).value_or("")); });
  return all;
}

outcome show_removal(net::coordinator_reading& read, std::optional<net::http_reply>&) {
  outcome all;
  for (const std::string_view each : std::get<net::removal_request>(read.what).object_keys) all += shown(each);
  return all;
}

/// Little-endian tokens as base64, by the book (RFC 4648).
std::string base64_of(const std::vector<std::uint64_t>& tokens, std::size_t width) {
  constexpr std::string_view alphabet = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
  std::string bits;
  for (const std::uint64_t each : tokens) {
    for (std::size_t byte = 0; byte < width; ++byte) {
      for (int bit = 7; bit >= 0; --bit) bits += (each >> (8 * byte + static_cast<std::size_t>(bit)) & 1) != 0 ? '1' : '0';
    }
  }
  std::string text;
  while (bits.size() % 6 != 0) bits += '0';
  for (std::size_t i = 0; i < bits.size(); i += 6) text += alphabet[std::stoul(bits.substr(i, 6), nullptr, 2)];
  while (text.size() % 4 != 0) text += '=';
  return text;
}

/// What is asked with, to be told from any other text.
std::map<std::string, std::vector<std::uint64_t>> packed;

told_value make_match(std::mt19937_64& random) {
  told_value body = told_value::of_object({{"model_scope", some_word(random)}});
  const std::size_t width = random() % 2 == 0 ? 4 : 8;
  if (random() % 8 == 0) return body;
  std::vector<std::uint64_t> tokens(random() % 6);
  for (std::uint64_t& each : tokens) each = width == 4 ? random() & 0xFFFF'FFFF : random();
  std::string text = base64_of(tokens, width);
  packed[text] = tokens;
  if (random() % 5 == 0) text.insert(random() % (text.size() + 1), 1, "A=-\n/"[random() % 5]);
  body.members.emplace_back(width == 4 ? "tokens_b64" : "tokens_u64_b64", told_value::of_text(text));
  return body;
}

outcome judge_match(body_judge& judge, const told_value& body) {
  if (!judge.object(body, root_of_body)) return {};
  outcome all = shown(required_text(judge, body, "model_scope"));
  const told_value* const narrow = body.member("tokens_b64");
  const told_value* const wide = body.member("tokens_u64_b64");
  if (narrow != nullptr && wide != nullptr) judge.refuse_value(root_of_body, body);
  if ((narrow != nullptr) == (wide != nullptr)) return all;
  const place where = at_member(narrow != nullptr ? "tokens_b64" : "tokens_u64_b64");
  const told_value& value = narrow != nullptr ? *narrow : *wide;
  const auto text = judge.text(value, where);
  if (!text || text->empty()) return all;
  if (*text == "AAAAAQ==" && narrow != nullptr) return all + "16777216,";
  const auto known = packed.find(*text);
  if (known == packed.end()) {
    judge.refuse_value(where, value);
    return all;
  }
  for (const std::uint64_t each : known->second) all += std::to_string(each) + ",";
  return all;
}

outcome show_match(net::coordinator_reading& read, std::optional<net::http_reply>&) {
  const auto& wanted = std::get<net::match_request>(read.what);
  outcome all = shown(wanted.scope);
  std::visit(
      [&all](const auto& tokens) {
        for (const auto each : tokens) all += std::to_string(each) + ",";
      },
      wanted.tokens);
  return all;
}

told_value make_prefetch(std::mt19937_64& random) {
  told_value body = told_value::of_object(
      {{"instance_id", some_word(random)}, {"model_name", some_word(random)}, {"world_size", told_value::of_number("2")}});
  if (random() % 2 == 0) body.members.emplace_back("token_ids", some_list(random, 9, some_number));
  if (random() % 2 == 0) body.members.emplace_back("cache_salt", some_word(random));
  return body;
}

outcome judge_prefetch(body_judge& judge, const told_value& body) {
  if (!judge.object(body, root_of_body)) return {};
  const std::string id = required_text(judge, body, "instance_id");
  boost::json::object sent;
  sent["model_name"] = required_text(judge, body, "model_name");
  if (const told_value* const size = judge.required(body, "world_size", root_of_body)) {
    sent["world_size"] = judge.whole(*size, at_member("world_size"), 1).value_or(1);
  }
  boost::json::array tokens;
  each_of(judge, body, "token_ids", root_of_body,
          [&](const told_value& each, const place& at) { tokens.emplace_back(judge.whole(each, at).value_or(0)); });
  sent["token_ids"] = tokens;
  sent["cache_salt"] = optional_text(judge, body, "cache_salt");
  return shown(id) + boost::json::serialize(sent);
}

outcome show_prefetch(net::coordinator_reading& read, std::optional<net::http_reply>&) {
  const auto& wanted = std::get<net::prefetch_order>(read.what);
  return shown(wanted.instance_id) + boost::json::serialize(boost::json::parse(wanted.body));
}

}  // namespace

BOOST_AUTO_TEST_CASE(registrations_are_read_as_the_contract_says) {
  play_bodies({"registrations", endpoint::add_instance, make_instance, judge_instance, show_instance});
}

BOOST_AUTO_TEST_CASE(quotas_are_read_as_the_contract_says) {
  play_bodies({"quotas", endpoint::set_quota, make_quota, judge_quota, show_quota});
  play_bodies({"default limits", endpoint::set_default_quota, make_default, judge_default, show_default});
}

BOOST_AUTO_TEST_CASE(prompts_and_removals_are_read_as_the_contract_says) {
  play_bodies({"removals", endpoint::remove_chunks, make_removal, judge_removal, show_removal});
  play_bodies({"prompts", endpoint::match_chunks, make_match, judge_match, show_match});
}

BOOST_AUTO_TEST_CASE(prefetches_are_read_as_the_contract_says) {
  play_bodies({"prefetches", endpoint::submit_prefetch, make_prefetch, judge_prefetch, show_prefetch});
}

BOOST_AUTO_TEST_SUITE_END()

#include "perf/sim_conductor.hpp"

#include <bit>
#include <charconv>
#include <cstddef>
#include <utility>

#include <boost/asio/use_awaitable.hpp>
#include <boost/json/array.hpp>
#include <boost/json/object.hpp>
#include <boost/json/parse.hpp>
#include <boost/json/serialize.hpp>
#include <boost/json/value.hpp>

#include "net/msgpack_tape.hpp"

namespace kvc::sim {
namespace {

namespace json = boost::json;

constexpr std::string_view json_type = "application/json";
constexpr std::string_view msgpack_type = "application/msgpack";

std::string little_endian(std::span<const std::uint32_t> tokens) {
  std::string bytes;
  bytes.reserve(tokens.size() * 4);
  for (const auto token : tokens) {
    for (unsigned shift = 0; shift < 32; shift += 8) bytes.push_back(static_cast<char>(token >> shift & 0xFFU));
  }
  return bytes;
}

/// A number of a row, under its name; 0 when it is absent or null.
std::uint64_t number_in(const json::object& row, std::string_view name, std::uint64_t otherwise) {
  const auto* const found = row.if_contains(json::string_view(name.data(), name.size()));
  if (found == nullptr) return otherwise;
  if (const auto* whole = found->if_uint64()) return *whole;
  if (const auto* whole = found->if_int64()) return static_cast<std::uint64_t>(*whole);
  return otherwise;
}

std::string text_in(const json::object& row, std::string_view name) {
  const auto* const found = row.if_contains(json::string_view(name.data(), name.size()));
  if (found == nullptr || !found->is_string()) return {};
  return std::string(found->as_string().data(), found->as_string().size());
}

}  // namespace

std::string query_body(const options& chosen, std::span<const std::uint32_t> prompt, std::string_view adapter, std::string_view salt) {
  std::string body;
  if (chosen.wire == query_form::msgpack) {
    const std::string bytes = little_endian(prompt);
    body.reserve(bytes.size() + 128);
    net::msgpack_writer to(body);
    to.map(4U + (adapter.empty() ? 0U : 1U) + (salt.empty() ? 0U : 1U));
    const auto add = [&to](std::string_view name, std::string_view value) {
      if (value.empty()) return;
      to.string(name);
      to.string(value);
    };
    add("lora_name", adapter);
    add("additional_salt", salt);
    to.string("model");
    to.string(chosen.model);
    to.string("tenant_id");
    to.string(chosen.tenant);
    to.string("block_size");
    to.unsigned_integer(chosen.block_size);
    to.string("token_ids");
    to.binary(std::as_bytes(std::span(bytes)));
    return body;
  }
  body.reserve(prompt.size() * 7 + 128);
  body += "{\"model\":" + json::serialize(json::string_view(chosen.model));
  body += ",\"tenant_id\":" + json::serialize(json::string_view(chosen.tenant));
  if (!adapter.empty()) body += ",\"lora_name\":" + json::serialize(json::string_view(adapter.data(), adapter.size()));
  if (!salt.empty()) body += ",\"additional_salt\":" + json::serialize(json::string_view(salt.data(), salt.size()));
  body += ",\"block_size\":" + std::to_string(chosen.block_size) + ",\"token_ids\":[";
  char digits[16];
  for (std::size_t i = 0; i < prompt.size(); ++i) {
    if (i > 0) body.push_back(',');
    body.append(digits, std::to_chars(digits, digits + sizeof(digits), prompt[i]).ptr);
  }
  body += "]}";
  return body;
}

bool read_services(std::string_view body, const std::string& tenant, std::vector<stream_row>& into, std::string& wrong) {
  into.clear();
  boost::system::error_code failed;
  const json::value parsed = json::parse(json::string_view(body.data(), body.size()), failed);
  const auto* const answer = failed ? nullptr : parsed.if_object();
  const auto* const member = answer == nullptr ? nullptr : answer->if_contains("services");
  const auto* const list = member == nullptr ? nullptr : member->if_array();
  if (list == nullptr) {
    wrong = "/services did not answer a list of services";
    return false;
  }
  for (const auto& each : *list) {
    const auto* const row = each.if_object();
    if (row == nullptr || text_in(*row, "tenant_id") != tenant) continue;
    stream_row& stream = into.emplace_back();
    stream.instance = text_in(*row, "instance_id");
    stream.rank = static_cast<std::uint32_t>(number_in(*row, "dp_rank", 0));
    // "None yet" is told as null, or as the largest number; both become 0 batches.
    stream.applied = number_in(*row, "last_seqno", ~std::uint64_t{0}) + 1;
    stream.missing = number_in(*row, "missing", 0);
    stream.unproven = number_in(*row, "unproven_absences", 0);
    stream.orphans = number_in(*row, "orphans", 0);
    stream.state = text_in(*row, "state");
    const auto* const counted = row->if_contains("blocks");
    const auto* const media = counted == nullptr ? nullptr : counted->if_object();
    if (media == nullptr) continue;
    for (const auto& one : *media) {
      const std::string name(one.key().data(), one.key().size());
      stream.blocks[name] = number_in(*media, name, 0);
    }
  }
  return true;
}

std::optional<std::uint64_t> read_blocks_held(std::string_view body) {
  boost::system::error_code failed;
  const json::value parsed = json::parse(json::string_view(body.data(), body.size()), failed);
  const auto* const answer = failed ? nullptr : parsed.if_object();
  const auto* const member = answer == nullptr ? nullptr : answer->if_contains("partitions");
  const auto* const list = member == nullptr ? nullptr : member->if_array();
  if (list == nullptr) return std::nullopt;
  std::uint64_t blocks = 0;
  for (const auto& each : *list) {
    if (const auto* row = each.if_object()) blocks += number_in(*row, "blocks", 0);
  }
  return blocks;
}

conductor::conductor(asio::any_io_executor executor, const options& chosen)
    : chosen_(chosen), client_(std::move(executor), chosen.server_host, chosen.server_port) {}

asio::awaitable<reply> conductor::call(std::string_view method, std::string target, std::string body,
                                       std::chrono::steady_clock::duration patience, std::string_view type) {
  reply out;
  const std::string what = std::string(method) + " " + target.substr(0, target.find('?'));
  auto answered = co_await client_.call(method, std::move(target), std::move(body), patience, type);
  if (!answered) {
    out.error = what + " at " + chosen_.server_host + ":" + std::to_string(chosen_.server_port) + ": " + answered.error().message();
    co_return out;
  }
  out.body = std::move(answered->body);
  if (answered->status != 200) {
    out.error = what + " answered " + std::to_string(answered->status) + ": " + out.body.substr(0, 300);
  }
  co_return out;
}

asio::awaitable<std::string> conductor::enroll(enrolment who) {
  json::object body;
  body["endpoint"] = who.endpoint;
  if (!who.replay_endpoint.empty()) body["replay_endpoint"] = who.replay_endpoint;
  body["type"] = who.type;
  if (!who.after_loss.empty()) body["after_loss"] = who.after_loss;
  if (who.bind) body["bind"] = true;
  if (who.is_private_pool) body["shared"] = false;
  body["modelname"] = chosen_.model;
  body["tenant_id"] = chosen_.tenant;
  body["instance_id"] = who.instance;
  body["block_size"] = chosen_.block_size;
  body["dp_rank"] = who.rank;
  std::string text = json::serialize(body);
  reply got = co_await call("POST", "/register", std::move(text), answer_patience, json_type);
  co_return got.error;
}

asio::awaitable<std::string> conductor::withdraw(std::string instance, std::chrono::steady_clock::duration patience) {
  json::object body;
  body["tenant_id"] = chosen_.tenant;
  body["instance_id"] = instance;
  std::string text = json::serialize(body);
  reply got = co_await call("POST", "/unregister", std::move(text), patience, json_type);
  co_return got.error;
}

asio::awaitable<reply> conductor::ask(std::string body) {
  const std::string_view type = chosen_.wire == query_form::json ? json_type : msgpack_type;
  reply got = co_await call("POST", "/query", std::move(body), answer_patience, type);
  co_return got;
}

asio::awaitable<reply> conductor::get(std::string target) {
  reply got = co_await call("GET", std::move(target), std::string(), answer_patience, json_type);
  co_return got;
}

}  // namespace kvc::sim

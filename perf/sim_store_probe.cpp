#include "perf/sim_store_probe.hpp"

#include <algorithm>
#include <utility>

#include <boost/json/array.hpp>
#include <boost/json/object.hpp>
#include <boost/json/parse.hpp>
#include <boost/json/value.hpp>

#include "net/answer_writer.hpp"

namespace kvc::sim {
namespace {

namespace json = boost::json;

const json::array* list_in(const json::value& tree, std::string_view name) {
  const json::object* object = tree.if_object();
  const json::value* found = object == nullptr ? nullptr : object->if_contains(json::string_view(name.data(), name.size()));
  return found == nullptr ? nullptr : found->if_array();
}

json::value parsed(std::string_view body) {
  boost::system::error_code failed;
  json::value tree = json::parse(json::string_view(body.data(), body.size()), failed);
  return failed ? json::value() : tree;
}

}  // namespace

std::string store_publisher_body(const store_options& chosen, std::string_view instance, std::string_view endpoint,
                                 std::string_view replay_endpoint) {
  std::string text;
  net::answer_writer out(text, net::wire_form::json);
  out.object();
  out.member("endpoint", endpoint);
  if (!replay_endpoint.empty()) out.member("replay_endpoint", replay_endpoint);
  out.member("type", "Mooncake");
  out.member("modelname", chosen.model);
  out.member("instance_id", instance);
  out.member("tenant_id", chosen.tenant);
  out.member("block_size", chosen.block_size);
  out.member("backend_id", chosen.backend);
  out.member("dp_rank", std::uint32_t{0});
  out.end_object();
  return text;
}

std::string store_executor_body(const store_options& chosen, std::string_view url) {
  std::string text;
  net::answer_writer out(text, net::wire_form::json);
  out.object();
  out.member("backend_id", chosen.backend);
  out.member("type", "mooncake_master");
  out.member("url", url);
  out.end_object();
  return text;
}

std::string exist_body(const store_options& chosen, std::span<const std::string> keys, bool with_prefetch) {
  std::string text;
  net::answer_writer out(text, net::wire_form::json);
  out.object();
  out.member("backend_id", chosen.backend);
  out.member("tenant_id", chosen.tenant);
  if (with_prefetch) out.member("prefetch", true);
  out.key("keys");
  out.list();
  for (const std::string& each : keys) out.text(each);
  out.end_list();
  out.end_object();
  return text;
}

std::optional<exist_answer> read_exist(std::string_view body, std::size_t keys, bool with_prefetch) {
  const json::value tree = parsed(body);
  exist_answer answer;
  const json::array* exists = list_in(tree, "exists");
  if (exists == nullptr || exists->size() != keys) return std::nullopt;
  for (const json::value& each : *exists) {
    boost::system::error_code failed;
    answer.exists.push_back(each.to_number<std::int64_t>(failed));
    if (failed) return std::nullopt;
  }
  if (!with_prefetch) return answer;
  const json::array* outcomes = list_in(tree, "prefetch");
  if (outcomes == nullptr || outcomes->size() != keys) return std::nullopt;
  for (const json::value& each : *outcomes) {
    if (!each.is_string()) return std::nullopt;
    const auto word = std::ranges::find(store_outcome_words, std::string_view(each.as_string().data(), each.as_string().size()));
    if (word == store_outcome_words.end()) return std::nullopt;
    answer.outcomes.push_back(static_cast<std::size_t>(word - store_outcome_words.begin()));
  }
  return answer;
}

std::uint64_t read_applied(std::string_view body, std::string_view instance) {
  const json::value tree = parsed(body);
  const json::array* rows = list_in(tree, "services");
  if (rows == nullptr) return 0;
  for (const json::value& each : *rows) {
    const json::object* row = each.if_object();
    const json::value* who = row == nullptr ? nullptr : row->if_contains("instance_id");
    if (who == nullptr || !who->is_string() || std::string_view(who->as_string().data(), who->as_string().size()) != instance) continue;
    const json::value* last = row->if_contains("last_seqno");
    boost::system::error_code failed;
    const auto number = last == nullptr ? 0 : last->to_number<std::uint64_t>(failed);
    return failed || last == nullptr ? 0 : number + 1;
  }
  return 0;
}

bool can_be_looked_up(std::string_view key) noexcept {
  return std::ranges::none_of(key, [](char letter) {
    return static_cast<unsigned char>(letter) <= ' ' || letter == 0x7F || letter == '#' || letter == '&' || letter == ',';
  });
}

}  // namespace kvc::sim

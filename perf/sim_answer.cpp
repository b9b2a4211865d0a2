#include "perf/sim_answer.hpp"

#include <algorithm>
#include <charconv>
#include <cstddef>
#include <span>
#include <utility>

#include <boost/json/object.hpp>
#include <boost/json/parse.hpp>
#include <boost/json/value.hpp>

#include "net/msgpack_tape.hpp"

namespace kvc::sim {
namespace {

namespace json = boost::json;
using net::tape_node;

constexpr std::string_view instance_prefix = "sim-";

bool parse_index(std::string_view text, std::uint32_t& into) {
  const auto [end, failed] = std::from_chars(text.data(), text.data() + text.size(), into);
  return failed == std::errc() && end == text.data() + text.size();
}

bool json_number(const json::value& from, std::uint64_t& into) {
  if (const auto* whole = from.if_uint64()) {
    into = *whole;
    return true;
  }
  const auto* whole = from.if_int64();
  if (whole == nullptr || *whole < 0) return false;
  into = static_cast<std::uint64_t>(*whole);
  return true;
}

std::string_view view(json::string_view text) {
  return {text.data(), text.size()};
}

}  // namespace

std::string instance_name(std::uint32_t index) {
  return std::string(instance_prefix) + std::to_string(index);
}

answer_reader::answer_reader(std::uint32_t engines, std::uint32_t ranks, std::string tenant)
    : rank_count_(ranks), tenant_(std::move(tenant)), rows_(engines) {}

answer_row* answer_reader::row_of(std::string_view instance) {
  std::uint32_t index = 0;
  if (!instance.starts_with(instance_prefix) || !parse_index(instance.substr(instance_prefix.size()), index)) return nullptr;
  return index < rows_.size() ? &rows_[index] : nullptr;
}

void answer_reader::put(answer_row& row, std::string_view member, std::uint64_t tokens) const {
  if (member == "longest_matched") {
    row.longest = tokens;
  } else if (member == "GPU") {
    row.gpu = tokens;
  } else {
    row.elsewhere = std::max(row.elsewhere, tokens);
  }
}

void answer_reader::put_rank(answer_row& row, std::string_view rank, std::uint64_t tokens) const {
  std::uint32_t index = 0;
  if (!parse_index(rank, index) || index >= rank_count_) return;
  row.ranks[index] = tokens;
  ++row.ranks_told;
}

std::string answer_reader::read(std::string_view body, query_form form) {
  for (auto& row : rows_) {
    row.present = false;
    row.longest = row.gpu = row.elsewhere = 0;
    row.ranks.assign(rank_count_, 0);
    row.ranks_told = 0;
  }
  return form == query_form::json ? read_json(body) : read_msgpack(body);
}

std::string answer_reader::read_json(std::string_view body) {
  boost::system::error_code failed;
  const json::value parsed = json::parse(json::string_view(body.data(), body.size()), failed);
  if (failed) return "the answer is not JSON: " + failed.message();
  const auto* const tenants = parsed.if_object();
  if (tenants == nullptr) return "the answer is not an object";
  const auto* const mine = tenants->if_contains(tenant_);
  if (mine == nullptr) return {};
  const auto* const instances = mine->if_object();
  if (instances == nullptr) return "the tenant's answer is not an object";
  for (const auto& [instance, value] : *instances) {
    answer_row* const row = row_of(view(instance));
    const auto* const members = value.if_object();
    if (row == nullptr || members == nullptr) continue;
    row->present = true;
    for (const auto& [name, content] : *members) {
      std::uint64_t tokens = 0;
      if (const auto* ranks = content.if_object(); ranks != nullptr && name == "DP") {
        for (const auto& [rank, depth] : *ranks) {
          if (json_number(depth, tokens)) put_rank(*row, view(rank), tokens);
        }
      } else if (json_number(content, tokens)) {
        put(*row, view(name), tokens);
      }
    }
  }
  return {};
}

std::string answer_reader::read_msgpack(std::string_view body) {
  net::msgpack_tape tape;
  if (const auto failed = tape.parse(std::as_bytes(std::span(body)))) return "the answer is not MessagePack: " + failed.message();
  const auto& nodes = tape.nodes();
  // Calls `with(key, index of value)` for every pair of the map at `map`; does nothing for other values.
  const auto each_pair = [&nodes](std::size_t map, const auto& with) {
    if (nodes[map].what != tape_node::kind::map) return;
    std::size_t at = map + 1;
    for (std::uint32_t pair = 0; pair < nodes[map].length; ++pair) {
      const std::size_t value = nodes[at].next;
      if (nodes[at].what == tape_node::kind::string) with(nodes[at].text(), value);
      at = nodes[value].next;
    }
  };
  if (nodes.front().what != tape_node::kind::map) return "the answer is not a map";
  each_pair(0, [&](std::string_view tenant, std::size_t instances) {
    if (tenant != tenant_) return;
    each_pair(instances, [&](std::string_view instance, std::size_t members) {
      answer_row* const row = row_of(instance);
      if (row == nullptr) return;
      row->present = true;
      each_pair(members, [&](std::string_view name, std::size_t content) {
        if (name == "DP") {
          each_pair(content, [&](std::string_view rank, std::size_t depth) {
            if (nodes[depth].is_integer()) put_rank(*row, rank, nodes[depth].bits);
          });
        } else if (nodes[content].is_integer()) {
          put(*row, name, nodes[content].bits);
        }
      });
    });
  });
  return {};
}

}  // namespace kvc::sim

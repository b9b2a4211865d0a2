#include "net/coordinator_tier.hpp"

#include <array>
#include <string>

#include "net/coordinator_reply.hpp"
#include "net/field_reading.hpp"

namespace kvc::net {
namespace {

using core::cache_tier;

constexpr std::array<std::string_view, 3> words{"l1", "l2", "all"};
constexpr std::array<cache_tier, 3> tiers{cache_tier::l1, cache_tier::l2, cache_tier::all};
constexpr std::string_view expected = "'l1', 'l2' or 'all'";

}  // namespace

std::optional<cache_tier> read_body_tier(const tape_value& body, const field_place& root, field_faults& faults) {
  const tape_value value = find_member(body, "tier");
  if (!value.is_present()) return cache_tier::l2;
  const auto word = read_word(value, words, expected, field_place(root, "tier"), faults);
  if (!word) return std::nullopt;
  return tiers[*word];
}

std::optional<http_reply> refuse_query_tier(const http_request& request) {
  const std::string* word = nullptr;
  for (const auto& [name, value] : request.query) {
    if (name == "tier") word = &value;
  }
  if (word == nullptr) return std::nullopt;
  const std::optional<cache_tier> tier = core::parse_cache_tier(*word);
  if (tier == cache_tier::l2) return std::nullopt;
  if (tier) return wrong_tier_reply(*tier);
  field_faults faults;
  const field_place root("query");
  faults.add_text("enum", field_place(root, "tier"), "Input should be " + std::string(expected), *word,
                  fault_context{"expected", 0, expected});
  return faults_reply(faults);
}

http_reply wrong_tier_reply(cache_tier tier) {
  return detail_reply(400, "tier '" + std::string(core::to_string(tier)) + "' not supported; only 'l2'");
}

}  // namespace kvc::net

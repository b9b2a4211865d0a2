// Queries for a prompt of tokens, in JSON.
#pragma once

#include <cstdint>
#include <numeric>
#include <string>
#include <vector>

namespace kvc::test {

/// Ten blocks of four tokens.
inline std::vector<std::uint32_t> ten_blocks() {
  std::vector<std::uint32_t> tokens(40);
  std::iota(tokens.begin(), tokens.end(), 100U);
  return tokens;
}

/// As a JSON list.
template <class Number>
std::string listed(const std::vector<Number>& numbers) {
  std::string text = "[";
  for (const Number each : numbers) text += (text.size() > 1 ? "," : "") + std::to_string(each);
  return text + "]";
}

/// Of the partition that api_fixture registers in; `more` members follow, each behind a comma.
inline std::string query_for(const std::vector<std::uint32_t>& tokens, const std::string& more = "") {
  return R"({"model":"m","block_size":4,"token_ids":)" + listed(tokens) + more + "}";
}

}  // namespace kvc::test

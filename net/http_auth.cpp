#include "net/http_auth.hpp"

#include <algorithm>
#include <cctype>

namespace kvc::net {
namespace {

bool is_same(std::string_view left, std::string_view right) {
  if (left.size() != right.size()) return false;
  unsigned difference = 0;
  for (std::size_t i = 0; i < left.size(); ++i) {
    difference |= static_cast<unsigned>(static_cast<unsigned char>(left[i]) ^ static_cast<unsigned char>(right[i]));
  }
  return difference == 0;
}

bool is_any_of(std::string_view token, std::span<const std::string> known) {
  bool found = false;
  for (const std::string& each : known) found = is_same(token, each) || found;  // all of them, so that time tells nothing
  return found;
}

/// The token of `Bearer <token>`; empty when it is another scheme. The scheme's name is case-insensitive (RFC 7235, section 2.1).
std::string_view bearer_token(std::string_view authorization) {
  constexpr std::string_view scheme = "bearer ";
  if (authorization.size() <= scheme.size()) return {};
  const auto same_letter = [](char left, char right) { return std::tolower(static_cast<unsigned char>(left)) == right; };
  if (!std::ranges::equal(authorization.substr(0, scheme.size()), scheme, same_letter)) return {};
  authorization.remove_prefix(scheme.size());
  while (authorization.starts_with(' ')) authorization.remove_prefix(1);
  return authorization;
}

}  // namespace

checked check_access(access wanted, std::string_view authorization, std::span<const std::string> tokens,
                     std::span<const std::string> read_tokens) {
  if (wanted == access::open || (tokens.empty() && read_tokens.empty())) return {};
  const std::string_view token = bearer_token(authorization);
  if (token.empty()) return refusal{refusal_kind::unauthorized, "this route needs an Authorization header with a bearer token"};
  if (is_any_of(token, tokens)) return {};
  if (!is_any_of(token, read_tokens)) return refusal{refusal_kind::unauthorized, "the bearer token is not known"};
  if (wanted == access::write) return refusal{refusal_kind::forbidden, "this token may read but not change anything"};
  return {};
}

}  // namespace kvc::net

#include "net/chunk_range.hpp"

#include "net/plain_json.hpp"

namespace kvc::net {
namespace {

bool scan_range(plain_json& at, chunk_range& into) {
  enum : unsigned { scope, base, tokens, keys };  // the first two are required
  members_seen seen;
  const bool is_read = at.object([&](std::string_view name) {
    if (name == "model_scope") return seen.add(scope) && at.text(into.scope);
    if (name == "tokens") return seen.add(tokens) && at.whole_numbers(into.tokens);
    if (name == "object_keys") return seen.add(keys) && at.list([&] { return at.text(into.object_keys.emplace_back()); });
    std::int64_t number = 0;
    if (name != "old_st_base" || !seen.add(base) || !at.whole(number) || number < 0) return false;
    into.old_st_base = static_cast<std::uint64_t>(number);
    return true;
  });
  return is_read && seen.has_first(2);
}

}  // namespace

bool scan_chunk_ranges(std::string_view body, std::vector<chunk_range>& into) {
  constexpr std::size_t bytes_per_token = 7;  // of six digits, as most of a large vocabulary are
  plain_json at(body);
  members_seen seen;
  const bool is_read = at.object([&](std::string_view name) {
    if (name != "ranges" || !seen.add(0)) return false;
    return at.list([&] {
      chunk_range& range = into.emplace_back();
      if (into.size() == 1) range.tokens.reserve(body.size() / bytes_per_token);
      return scan_range(at, range);
    });
  });
  return is_read && at.is_at_end();
}

}  // namespace kvc::net

#include "net/master_answers.hpp"

#include <algorithm>
#include <array>
#include <charconv>

#include "net/json_tree.hpp"
#include "net/mp_text.hpp"

namespace kvc::net {
namespace {

using kind = tape_value::kind;

constexpr std::size_t most_replicas = 64;  ///< of one object and kind; a master that tells more is not believed the rest

struct list_name {
  std::string_view name;
  core::replica_kind kind;
};
constexpr std::array lists{
    list_name{"values", core::replica_kind::memory},
    list_name{"disk_values", core::replica_kind::disk},
    list_name{"local_disk_values", core::replica_kind::local_disk},
};

/// The first of several members that is there: spellings differ by version.
template <std::size_t N>
tape_value first_member(const tape_value& object, const std::array<std::string_view, N>& names) {
  for (const std::string_view each : names) {
    const tape_value found = find_member(object, each);
    if (found.has_value()) return found;
  }
  return {};
}

std::string location_in(const tape_value& descriptor) {
  constexpr std::array<std::string_view, 8> names{"transport_endpoint_", "transport_endpoint", "endpoint", "location",
                                                  "file_path_",          "file_path",          "segment",  "segment_name"};
  if (descriptor.is(kind::string)) return std::string(descriptor.text());
  const tape_value found = first_member(descriptor, names);
  return found.is(kind::string) ? std::string(found.text()) : std::string();
}

std::uint64_t size_in(const tape_value& descriptor) {
  constexpr std::array<std::string_view, 6> names{"size_", "size", "object_size", "object_size_", "file_size", "bytes"};
  const tape_value found = first_member(descriptor, names);
  return found.is(kind::unsigned_integer) ? found.node().bits : 0;
}

/// A copy is complete unless the master says another word about it.
core::replica_state state_in(const tape_value& descriptor) {
  constexpr std::array<std::string_view, 2> names{"status", "state"};
  const tape_value found = first_member(descriptor, names);
  const bool is_other = found.is(kind::string) && found.text() != "COMPLETE" && found.text() != "complete";
  return is_other ? core::replica_state::in_flight : core::replica_state::complete;
}

/// What the master says instead of places: there is no such object, or nothing of it is complete yet, or something we do not know.
placement read_absence(const tape_value& entry) {
  constexpr std::array<std::string_view, 3> names{"error", "error_code", "reason"};
  constexpr std::int64_t object_not_found = -704;  // the store's own numbers
  constexpr std::int64_t not_ready = -703;
  const tape_value error = first_member(entry, names);
  std::string word;
  if (error.is_integer()) word = std::to_string(static_cast<std::int64_t>(error.node().bits));
  if (error.is(kind::string)) word = error.text();
  std::ranges::transform(word, word.begin(),
                         [](char letter) { return letter >= 'A' && letter <= 'Z' ? static_cast<char>(letter + 32) : letter; });
  std::erase_if(word, [](char letter) { return letter == '_' || letter == ' '; });
  const auto says = [&word](std::string_view text, std::int64_t number) {
    return word.find(text) != std::string::npos || word.find(std::to_string(number)) != std::string::npos;
  };
  placement found;
  if (says("notready", not_ready)) {
    found.is_known = true;
    found.replicas.push_back({core::replica_kind::memory, core::replica_state::in_flight, {}});
  } else {
    found.is_known = word.empty() || says("notfound", object_not_found);
  }
  return found;
}

placement read_one(const tape_value& entry) {
  placement found;
  if (!entry.is(kind::map)) return found;
  const tape_value ok = find_member(entry, "ok");
  const bool is_refused = ok.is(kind::boolean) && ok.node().bits == 0;
  if (is_refused) return read_absence(entry);
  for (const list_name& list : lists) {
    const tape_value values = find_member(entry, list.name);
    if (!values.has_value()) continue;
    if (!values.is(kind::array)) return {};
    found.is_known = true;
    if (values.length() == 0) continue;
    tape_value each = values.first();
    const std::size_t some = std::min<std::size_t>(values.length(), most_replicas);
    for (std::size_t i = 0;;) {
      found.replicas.push_back({list.kind, state_in(each), location_in(each)});
      found.bytes = std::max(found.bytes, size_in(each));
      if (++i == some) break;
      each = each.next();
    }
  }
  return found;
}

void append_tenant(std::string& target, std::string_view tenant) {
  if (tenant.empty() || tenant == "default") return;
  target += "&tenant_id=";
  target += percent_encoded(tenant);
}

}  // namespace

bool goes_alone(std::string_view key) noexcept {
  return key.find(',') != std::string_view::npos;
}

std::string locate_target(std::string_view path, const std::vector<std::string>& keys, std::string_view tenant) {
  std::string target(path);
  target += "/batch_query_keys?keys=";
  for (std::size_t i = 0; i < keys.size(); ++i) {
    if (i != 0) target += ',';
    target += percent_encoded(keys[i]);
  }
  append_tenant(target, tenant);
  return target;
}

std::deque<std::vector<std::size_t>> lists_by_bytes(const std::vector<std::string>& keys, std::span<const std::size_t> places,
                                                    std::size_t most_bytes) {
  std::deque<std::vector<std::size_t>> made;
  std::size_t bytes = 0;
  for (const std::size_t each : places) {
    const std::size_t mine = percent_encoded(keys[each]).size() + 1;
    if (made.empty() || bytes + mine > most_bytes) {
      made.emplace_back();
      bytes = 0;
    }
    made.back().push_back(each);
    bytes += mine;
  }
  return made;
}

std::optional<std::string> touch_target(std::string_view path, std::string_view key, std::string_view tenant) {
  const auto breaks_it = [](char letter) {
    return static_cast<unsigned char>(letter) <= ' ' || letter == 0x7F || letter == '#' || letter == '&';
  };
  if (std::ranges::any_of(key, breaks_it)) return std::nullopt;
  std::string target(path);
  target += "/query_key?key=";
  target += key;
  append_tenant(target, tenant);
  return target;
}

std::optional<std::vector<placement>> read_placements(std::string_view body, const std::vector<std::string>& keys) {
  json_tree tree;
  if (tree.parse(body) || !tree.root().is(kind::map)) return std::nullopt;
  const tape_value around = find_member(tree.root(), "data");
  const tape_value entries = around.has_value() ? around : tree.root();
  if (!is_answer_to(entries, keys.size())) return std::nullopt;
  const tape_value success = find_member(tree.root(), "success");
  if (success.is(kind::boolean) && success.node().bits == 0) return std::nullopt;
  std::vector<placement> found;
  found.reserve(keys.size());
  for (const std::string& key : keys) found.push_back(read_one(find_member(entries, key)));
  return found;
}

placement read_single(unsigned status, std::string_view body) {
  placement found;
  if (status == 404) {
    // In the store's own word: whoever has no such route, or stands before a store that is away, says 404 of anything.
    const auto says = [body](std::string_view word) { return body.find(word) != std::string_view::npos; };
    const bool is_coming = says("NOT_READY") || says("-703");
    found.is_known = is_coming || says("NOT_FOUND") || says("-704");
    if (is_coming) found.replicas.push_back({core::replica_kind::memory, core::replica_state::in_flight, {}});
    return found;
  }
  if (status != 200) return found;
  json_tree tree;
  while (!body.empty()) {
    const std::string_view line = body.substr(0, body.find('\n'));
    body.remove_prefix(std::min(body.size(), line.size() + 1));
    if (line.empty()) continue;
    if (tree.parse(line) || !tree.root().is(kind::map)) return {};
    if (found.replicas.size() == most_replicas) break;
    found.replicas.push_back({core::replica_kind::memory, state_in(tree.root()), location_in(tree.root())});
    found.bytes = std::max(found.bytes, size_in(tree.root()));
  }
  found.is_known = true;
  found.tells_memory_only = true;
  return found;
}

std::uint64_t read_watermark_rejections(std::string_view page) {
  double sum = 0;
  while (!page.empty()) {
    const std::size_t end = std::min(page.find('\n'), page.size());
    const std::string_view line = page.substr(0, end);
    page.remove_prefix(std::min(end + 1, page.size()));
    if (line.starts_with('#') || line.find("watermark") == std::string_view::npos || line.find("reject") == std::string_view::npos)
      continue;
    const std::size_t space = line.rfind(' ');
    if (space == std::string_view::npos) continue;
    double value = 0;
    const char* const last = line.data() + line.size();
    const auto [stop, failed] = std::from_chars(line.data() + space + 1, last, value);
    if (failed == std::errc() && value > 0 && value < 1e18) sum += value;
  }
  return static_cast<std::uint64_t>(std::min(sum, 1e18));
}

}  // namespace kvc::net

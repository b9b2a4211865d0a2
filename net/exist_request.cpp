#include "net/exist_request.hpp"

#include <string>

#include "net/field_rules.hpp"
#include "net/plain_json.hpp"

namespace kvc::net {
namespace {

using kind = tape_node::kind;

bool scan_word(plain_json& at, std::string_view word) {
  for (const char letter : word) {
    if (!at.take(letter)) return false;
  }
  return true;
}

bool scan_boolean(plain_json& at, bool& into) {
  into = scan_word(at, "t");
  return into ? scan_word(at, "rue") : scan_word(at, "false");
}

checked too_many(std::size_t most_keys) {
  return refusal{refusal_kind::out_of_range, "keys holds more than " + std::to_string(most_keys) + " keys; ask in several requests",
                 "keys"};
}

std::string_view text_of(const field_rules& rules, member which) {
  const tape_node* const node = rules.value(which);
  return node == nullptr ? std::string_view() : node->text();
}

}  // namespace

bool scan_exist(std::string_view body, std::size_t most_keys, exist_request& into) {
  enum : unsigned { key, keys, tenant, backend, prefetch, preferred, wait };
  bool has_list = false;
  into.clear();
  plain_json at(body);
  members_seen seen;
  const bool is_read = at.object([&](std::string_view name) {
    if (name == "keys") {
      has_list = true;
      return seen.add(keys) && at.list([&] { return into.keys.size() < most_keys && at.text(into.keys.emplace_back()); });
    }
    if (name == "key") {
      into.is_single = true;
      return seen.add(key) && at.text(into.keys.emplace_back());
    }
    if (name == "tenant_id") return seen.add(tenant) && at.text(into.tenant);
    if (name == "backend_id") return seen.add(backend) && at.text(into.backend);
    if (name == "prefetch") return seen.add(prefetch) && scan_boolean(at, into.prefetch);
    if (name == "preferred") return seen.add(preferred) && at.text(into.preferred);
    std::int64_t number = 0;
    if (name != "wait_ms" || !seen.add(wait) || !at.whole(number) || number < 0) return false;
    into.wait_ms = static_cast<std::uint64_t>(number);
    return into.wait_ms <= longest_exist_wait_ms;
  });
  if (!is_read || !at.is_at_end() || into.tenant.size() > max_identity_bytes || into.backend.size() > max_identity_bytes ||
      into.preferred.size() > max_identity_bytes) {
    return false;
  }
  if (into.tenant.empty()) into.tenant = "default";
  return into.is_single != has_list;
}

checked read_exist(const request_document& document, std::size_t most_keys, exist_request& into) {
  into.clear();
  field_rules rules(document, document.items().front());
  std::string checked_text;
  for (const member each : {member::tenant_id, member::backend_id, member::preferred}) rules.text(each, checked_text);
  rules.boolean(member::prefetch, into.prefetch);
  rules.number(member::wait_ms, 0, longest_exist_wait_ms, into.wait_ms);
  if (rules.wrong()) return rules.wrong();
  if (const std::string_view tenant = text_of(rules, member::tenant_id); !tenant.empty()) into.tenant = tenant;
  into.backend = text_of(rules, member::backend_id);
  into.preferred = text_of(rules, member::preferred);

  const tape_node* const single = rules.value(member::key);
  const tape_node* const list = rules.value(member::keys);
  if ((single == nullptr) == (list == nullptr)) {
    rules.refuse(single == nullptr ? refusal_kind::missing : refusal_kind::invalid_value, "send either key or keys", "keys");
  } else if (single != nullptr) {
    into.is_single = true;
    into.keys.push_back(single->what == kind::string ? single->text() : std::string_view());
  } else if (list->what != kind::array) {
    rules.refuse(refusal_kind::invalid_type, "keys must be a list of strings", "keys");
  } else if (list->length > most_keys) {
    return too_many(most_keys);
  } else {
    const tape_node* const nodes = document.nodes();
    for (const tape_node* each = list + 1; each < nodes + list->next; each = nodes + each->next) {
      into.keys.push_back(each->what == kind::string ? each->text() : std::string_view());
    }
  }
  return rules.wrong();
}

}  // namespace kvc::net

#include "net/store_registration.hpp"

#include <array>
#include <optional>

#include "net/field_rules.hpp"

namespace kvc::net {
namespace {

constexpr std::array<std::string_view, 3> type_names{"mooncake_master", "lmcache", "webhook"};
constexpr std::uint64_t most_ranks = 65'536;
constexpr std::uint16_t master_admin_port = 9003;  ///< of today's release

}  // namespace

std::string_view to_string(store_type type) noexcept {
  return type_names[static_cast<std::size_t>(type)];
}

checked read_store(const request_document& document, const request_item& item, store_registration& out) {
  field_rules rules(document, item);
  rules.required_text(member::backend_id, "backend_id", out.backend);
  std::string type;
  rules.required_text(member::type, "type", type);
  rules.required_text(member::url, "url", out.url_text);
  rules.number(member::world_size, 1, most_ranks, out.world_size);
  if (rules.wrong()) return rules.wrong();
  std::optional<store_type> known;
  for (std::size_t i = 0; i < type_names.size(); ++i) {
    if (type == type_names[i]) known = static_cast<store_type>(i);
  }
  if (!known) {
    rules.refuse(refusal_kind::invalid_value, "type must be mooncake_master, lmcache or webhook", "type");
    return rules.wrong();
  }
  out.type = *known;
  // Other stores' paths are what their routes are appended to.
  std::optional<store_url> url = parse_store_url(out.url_text, out.type == store_type::webhook ? path_end::kept : path_end::stripped);
  if (!url) {
    rules.refuse(refusal_kind::invalid_value, "url must be http://host:port, with or without a path", "url");
    return rules.wrong();
  }
  // A master's address without a port means its admin port, not the web's.
  const bool has_port =
      out.url_text.find(':', out.url_text.rfind(']') == std::string::npos ? 7 : out.url_text.rfind(']')) != std::string::npos;
  if (!has_port && out.type == store_type::mooncake_master) url->port = master_admin_port;
  out.url = *std::move(url);
  return {};
}

}  // namespace kvc::net

#include "net/api_types.hpp"

#include <algorithm>
#include <arpa/inet.h>
#include <array>
#include <charconv>
#include <limits>
#include <utility>

#include "net/endpoint_host.hpp"
#include "net/field_rules.hpp"

namespace kvc::net {
namespace {

constexpr std::uint64_t max_u32 = std::numeric_limits<std::uint32_t>::max();
constexpr std::uint64_t max_u64 = std::numeric_limits<std::uint64_t>::max();
constexpr std::uint64_t max_prefetch_blocks = 65'536;
constexpr std::uint64_t most_shards = 16'384;  // of a block; what core::pool_layouts takes
constexpr std::size_t longest_ipc_path = 107;  // sun_path of a local socket, without its final zero

void read_tenant(field_rules& rules, std::string& tenant) {
  rules.text(member::tenant_id, tenant);
  if (tenant.empty()) tenant = "default";
}

/// `lora_name`, or its deprecated alias `lora_id`; saying both is a contradiction waiting to happen.
void read_adapter(field_rules& rules, std::string& adapter) {
  std::string alias;
  rules.text(member::lora_name, adapter);
  rules.text_or_number(member::lora_id, alias);
  if (adapter.empty()) {
    adapter = std::move(alias);
  } else if (!alias.empty()) {
    rules.refuse(refusal_kind::invalid_value, "lora_id is a deprecated alias of lora_name; send one of them", "lora_id");
  }
}

void read_partition(field_rules& rules, std::string_view model_name, core::partition_key& key) {
  rules.required_text(member::model, model_name, key.model);
  read_adapter(rules, key.lora);
  read_tenant(rules, key.tenant);
  rules.text(member::additional_salt, key.salt);
  std::uint64_t block_size = 0;
  rules.required_number(member::block_size, "block_size", 1, max_u32, block_size);
  key.block_size = static_cast<std::uint32_t>(block_size);
}

void read_endpoint(field_rules& rules, member which, bool is_required, std::string& endpoint) {
  if (is_required) {
    rules.required_text(which, "endpoint", endpoint);
  } else {
    rules.text(which, endpoint);
  }
  if (rules.wrong() || endpoint.empty() || is_endpoint(endpoint)) return;
  const std::string name = rules.name_of(which);
  rules.refuse(refusal_kind::invalid_value,
               name + " must be tcp://host:port, tcp://[v6]:port or ipc://path of at most " + std::to_string(longest_ipc_path) + " bytes",
               name);
}

/// Names of interfaces can be bound, names of hosts cannot. An interface with a dot in its name has a number behind it (a VLAN's).
bool is_host_name(std::string_view name) noexcept {
  const std::size_t dot = name.rfind('.');
  return name == "localhost" || (dot != std::string_view::npos && name.find_first_not_of("0123456789", dot + 1) != std::string_view::npos);
}

/// Whether an endpoint is that of every address, under one of the names that engines are told to bind.
bool is_everywhere(std::string_view endpoint) noexcept {
  constexpr std::array<std::string_view, 5> names{"*", "0.0.0.0", "[::]", "[0:0:0:0:0:0:0:0]", "[::0]"};
  constexpr std::string_view transport = "tcp://";
  if (!endpoint.starts_with(transport)) return false;
  return std::ranges::find(names, endpoint.substr(transport.size(), endpoint.rfind(':') - transport.size())) != names.end();
}

/// Nobody can be connected to at every address, which is what engines are told to bind and what is copied from their configuration.
void read_meeting_point(field_rules& rules, const core::registration& wanted) {
  const auto refuse = [&](std::string_view name, std::string_view otherwise) {
    rules.refuse(refusal_kind::invalid_value,
                 std::string(name) + " names no host to connect to; say the host on which the publisher runs" + std::string(otherwise),
                 std::string(name));
  };
  if (!wanted.bind && is_everywhere(wanted.endpoint)) refuse("endpoint", ", or bind: true when it connects to us");
  if (is_everywhere(wanted.replay_endpoint)) refuse("replay_endpoint", "");
  if (wanted.bind && is_host_name(name_in_endpoint(wanted.endpoint))) {
    rules.refuse(refusal_kind::invalid_value,
                 "endpoint is to be bound here, which takes an address or an interface of this host, or *, and no name of a host",
                 "endpoint");
  }
}

checked must_be_object(const request_item& item) {
  if (item.is_object) return {};
  return refusal{refusal_kind::invalid_type, "a query must be an object"};
}

}  // namespace

namespace {

/// An address, a zone behind it perhaps.
bool is_ipv6(std::string_view text) noexcept {
  const std::size_t zone = text.find('%');
  if (zone != std::string_view::npos && zone + 1 == text.size()) return false;
  std::array<char, INET6_ADDRSTRLEN> address{};
  const std::string_view digits = text.substr(0, zone);
  if (digits.empty() || digits.size() >= address.size()) return false;
  std::ranges::copy(digits, address.begin());
  in6_addr parsed{};
  return inet_pton(AF_INET6, address.data(), &parsed) == 1;
}

}  // namespace

bool is_endpoint(std::string_view endpoint) noexcept {
  const bool is_printable = std::ranges::all_of(endpoint, [](char letter) { return letter > ' ' && letter < 0x7F; });
  if (!is_printable) return false;
  if (endpoint.starts_with("ipc://")) {
    const std::size_t path = endpoint.size() - 6;
    return path > 0 && path <= longest_ipc_path;
  }
  if (!endpoint.starts_with("tcp://")) return false;
  endpoint.remove_prefix(6);
  const std::size_t colon = endpoint.rfind(':');
  if (colon == std::string_view::npos || colon == 0) return false;
  const std::string_view host = endpoint.substr(0, colon);
  const std::string_view digits = endpoint.substr(colon + 1);
  if (host.front() == '[') {
    if (host.back() != ']' || !is_ipv6(host.substr(1, host.size() - 2))) return false;
  } else if (host.find_first_of(":/[]@?#;") != std::string_view::npos) {
    return false;
  }
  std::uint32_t port = 0;
  const auto [end, failed] = std::from_chars(digits.data(), digits.data() + digits.size(), port);
  return failed == std::errc{} && end == digits.data() + digits.size() && port >= 1 && port <= 65'535;
}

checked read_query(const request_document& document, const request_item& item, query_kind wanted, query_request& out) {
  if (checked wrong = must_be_object(item)) return wrong;
  field_rules rules(document, item);
  read_partition(rules, "model", out.partition);
  rules.text(member::instance_id, out.instance);

  std::string hash_kind;
  rules.text(member::hash_kind, hash_kind);
  out.by_names = hash_kind == "engine";
  if (!out.by_names && !hash_kind.empty() && hash_kind != "sequence") {
    rules.refuse(refusal_kind::invalid_value, "hash_kind must be sequence or engine", "hash_kind");
  }

  out.by_hash = wanted == query_kind::hashes || (wanted == query_kind::either && !item.tokens.present && item.hashes.present);
  if (out.by_hash) {
    rules.required_list(item.hashes, "seq_hashes", "a list of 64-bit integers, or of their decimal or 0x texts");
    if (!rules.wrong()) out.hashes = document.hashes_of(item);
  } else {
    rules.required_list(
        item.tokens, "token_ids",
        item.tokens.name == "token_ids_b64" ? "base64 of little-endian u32 values" : "a list of integers between 0 and 4294967295");
    if (!rules.wrong()) out.tokens = document.tokens_of(item);
    rules.extra_keys(out.partition.lora, out.partition.salt, out.extra_keys);
    if (out.by_names) {
      rules.refuse(refusal_kind::invalid_value, "hash_kind engine says what seq_hashes are; token_ids are tokens of any engine",
                   "hash_kind");
    }
  }

  std::vector<std::string> list;
  if (rules.texts(member::instance_ids, list)) out.instances = std::move(list);
  list.clear();
  if (rules.texts(member::media, list)) out.media = std::move(list);
  rules.number(member::min_match, 0, max_u64, out.min_match);
  std::uint64_t top_k = 0;
  if (rules.number(member::top_k, 1, max_u64, top_k)) out.top_k = top_k;
  rules.boolean(member::detail, out.detail);
  rules.boolean(member::prefetch, out.prefetch);
  rules.text(member::preferred, out.preferred);
  rules.number(member::prefetch_max_blocks, 1, max_prefetch_blocks, out.prefetch_max_blocks);
  if (out.prefetch && out.instance.empty() && out.preferred.empty()) {
    rules.refuse(refusal_kind::missing, "prefetch needs instance_id or preferred: whose memory is meant", "instance_id");
  }
  return rules.wrong();
}

checked read_registration(const request_document& document, const request_item& item, std::uint64_t default_seed,
                          const core::medium_table& media, registration_request& out) {
  core::registration& wanted = out.registration;
  field_rules rules(document, item);
  read_endpoint(rules, member::endpoint, true, wanted.endpoint);
  read_endpoint(rules, member::replay_endpoint, false, wanted.replay_endpoint);

  std::string type;
  bool is_known = true;
  rules.required_text(member::type, "type", type);
  wanted.type = core::parse_publisher_type(type, is_known);
  if (!is_known) out.warnings.push_back("type " + type + " is not known; the stream's messages will decide its dialect");
  const bool is_pool = wanted.type == core::publisher_type::mooncake;

  read_partition(rules, "modelname", wanted.partition);
  rules.required_text(member::instance_id, "instance_id", wanted.worker.instance);
  std::uint64_t rank = 0;
  rules.number(member::dp_rank, 0, max_u32, rank);
  wanted.worker.tenant = wanted.partition.tenant;
  wanted.worker.rank = core::dp_rank(static_cast<std::uint32_t>(rank));
  wanted.worker.kind = is_pool ? core::publisher_class::pool : core::publisher_class::engine;

  rules.text(member::topic, wanted.topic);
  rules.boolean(member::bind, wanted.bind);
  read_meeting_point(rules, wanted);
  wanted.hash_seed = default_seed;
  rules.number(member::hash_seed, 0, max_u64, wanted.hash_seed);
  std::string medium;
  rules.text(member::medium, medium);
  rules.text(member::backend_id, wanted.backend_id);
  wanted.copy_counting = core::counts_copies(wanted.type);
  rules.boolean(member::copy_counting, wanted.copy_counting);
  wanted.shared = is_pool;
  rules.boolean(member::shared, wanted.shared);
  std::uint64_t shards = 0;
  rules.number(member::shards, 1, most_shards, shards);
  wanted.shards = static_cast<std::uint32_t>(shards);
  rules.boolean(member::expect_idle, wanted.expects_idle);
  std::string after_loss;
  rules.text(member::after_loss, after_loss);
  wanted.after_loss = core::parse_loss_policy(after_loss);
  if (!after_loss.empty() && !wanted.after_loss) {
    rules.refuse(refusal_kind::invalid_value, "after_loss must be drop or keep", "after_loss");
  }
  if (wanted.shared && !is_pool) {
    rules.refuse(refusal_kind::invalid_value, "only a Mooncake pool can be shared between instances", "shared");
  }
  if (wanted.shards != 0 && !is_pool) {
    rules.refuse(refusal_kind::invalid_value, "only a Mooncake pool has blocks in shards", "shards");
  }
  if (rules.wrong()) return rules.wrong();
  wanted.medium = is_pool ? core::medium_id::cpu : core::medium_id::gpu;
  if (!medium.empty() && !media.find(medium, wanted.medium)) out.new_medium = std::move(medium);
  return {};
}

checked read_unregistration(const request_document& document, const request_item& item, unregistration& out) {
  field_rules rules(document, item);
  rules.required_text(member::instance_id, "instance_id", out.instance);
  read_tenant(rules, out.tenant);
  std::uint64_t rank = 0;
  if (rules.number(member::dp_rank, 0, max_u32, rank)) out.rank = core::dp_rank(static_cast<std::uint32_t>(rank));
  std::string type;
  rules.text(member::type, type);
  bool is_known = false;
  const core::publisher_type parsed = core::parse_publisher_type(type, is_known);
  if (is_known && parsed != core::publisher_type::automatic) {
    const bool is_pool = parsed == core::publisher_type::mooncake;
    out.kind = is_pool ? core::publisher_class::pool : core::publisher_class::engine;
  }
  return rules.wrong();
}

}  // namespace kvc::net

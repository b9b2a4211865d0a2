#include "net/api_instances.hpp"

#include <cstddef>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <vector>

#include "core/text_spread.hpp"
#include "net/answer_writer.hpp"
#include "net/coordinator_reply.hpp"
#include "net/field_reading.hpp"
#include "net/home_listing.hpp"
#include "net/log.hpp"

namespace kvc::net {
namespace {

constexpr whole_range ports{.least = 1, .most = 65'535};
constexpr std::size_t most_text_bytes = std::size_t{64} << 10;  ///< of what a server says about itself: all of it is listed in one turn
constexpr std::uint32_t most_metadata = 4'096;                  ///< entries of it
constexpr whole_range ports_or_none{.least = 0, .most = 65'535};

/// An optional text without the blanks around it; empty when it is absent or wrong.
std::string optional_text(const tape_value& body, std::string_view name, const field_place& root, field_faults& faults) {
  const tape_value value = find_member(body, name);
  if (!value.is_present()) return {};
  const auto text = read_text(value, field_place(root, name), faults);
  return text ? std::string(stripped(*text)) : std::string();
}

void read_ip(const tape_value& body, const field_place& root, field_faults& faults, core::mp_server& server) {
  const auto value = require_member(body, "ip", root, faults);
  if (!value) return;
  const field_place where(root, "ip");
  const auto text = read_text(*value, where, faults);
  if (!text) return;
  server.ip = stripped(*text);
  if (server.ip.empty()) {
    faults.add("string_too_short", where, "String should have at least 1 character", *value, fault_context{"min_length", 1});
  }
}

/// Answers how many bytes of text there are, names of what is at fault included; of more than may be said some are not looked at.
std::size_t read_metadata(const tape_value& body, const field_place& root, field_faults& faults, core::mp_server& server) {
  const tape_value value = find_member(body, "metadata");
  if (!value.is_present()) return 0;
  const field_place where(root, "metadata");
  if (!value.is(tape_node::kind::map)) {
    faults.add("dict_type", where, "Input should be a valid dictionary", value);
    return 0;
  }
  if (value.length() > most_metadata) {
    faults.add("too_long", where, "Dictionary should have at most " + std::to_string(most_metadata) + " items", value,
               fault_context{"max_length", most_metadata});
    return 0;
  }
  // Of a name that comes twice the last value counts, at the place of the first, and what it was before is nobody's fault.
  std::vector<std::pair<std::string_view, tape_value>> told;
  std::unordered_map<std::string_view, std::size_t, core::text_spread> places;  // of names in the list
  tape_value key = value.length() == 0 ? tape_value() : value.first();
  for (std::size_t i = 0; i < value.length(); ++i) {
    const tape_value each = key.next();
    const auto [known, is_new] = places.emplace(key.text(), told.size());
    if (is_new) {
      told.emplace_back(key.text(), each);
    } else {
      told[known->second].second = each;
    }
    if (i + 1 < value.length()) key = each.next();
  }
  std::size_t bytes = 0;
  for (const auto& [name, each] : told) {
    bytes += name.size() + (each.is(tape_node::kind::string) ? each.length() : 0);
    if (bytes > most_text_bytes) break;  // which `check_length` tells; a fault would tell all of the name
    if (const auto text = read_text(each, field_place(where, name), faults)) server.metadata.emplace_back(name, *text);
  }
  return bytes;
}

/// `bytes`: of all that it says.
void check_length(const tape_value& body, const field_place& root, field_faults& faults, std::size_t bytes) {
  if (bytes > most_text_bytes) {
    faults.add("value_error", root, "Value error, a registration may have at most " + std::to_string(most_text_bytes) + " bytes of text",
               body, fault_context{"error"});
  }
}

void write_member(answer_writer& out, const core::mp_member& each) {
  const std::chrono::duration<double> since_epoch = each.registered_at.time_since_epoch();
  out.object(7);
  out.member("instance_id", each.server.instance_id);
  out.member("ip", each.server.ip);
  out.member("http_port", each.server.http_port);
  out.key("registration_time");
  out.real(since_epoch.count());
  out.key("metadata");
  out.object(each.server.metadata.size());
  for (const auto& [name, value] : each.server.metadata) out.member(name, value);
  out.end_object();
  out.member("p2p_advertised_url", each.server.p2p_advertised_url);
  out.member("mq_port", each.server.mq_port);
  out.end_object();
}

/// The list of servers.
class server_list final : public home_listing {
 public:
  explicit server_list(coordinator_context& context) : home_listing(context), out_(text_, wire_form::json) {}

  [[nodiscard]] asio::awaitable<bool> write_some(std::string& into, std::size_t bytes) override;

 private:
  std::string text_;  ///< what `out_` writes into
  answer_writer out_;
  std::optional<std::uint64_t> last_;  ///< number of the server that was told of last
  std::uint64_t newest_ = 0;           ///< behind it nobody is told of: who leaves and comes back meanwhile would be told of twice
};

asio::awaitable<bool> server_list::write_some(std::string& into, std::size_t bytes) {
  const auto& servers = context().tables.servers.all();
  if (!last_) {
    last_ = 0;  // nobody's
    newest_ = context().tables.servers.newest();
    out_.object(1);
    out_.key("instances");
    out_.list();
  }
  const auto is_there = [&](const auto& each) { return each != servers.end() && each->first <= newest_; };
  auto next = servers.upper_bound(*last_);
  for (std::size_t turn_ends = bytes_per_turn; is_there(next) && text_.size() < bytes; ++next) {
    if (text_.size() >= turn_ends) {
      turn_ends = text_.size() + bytes_per_turn;
      co_await yield_home(context());
      next = servers.upper_bound(*last_);
      if (!is_there(next)) break;
    }
    write_member(out_, next->second);
    last_ = next->first;
  }
  const bool is_done = !is_there(next);
  if (is_done) {
    out_.end_list();
    out_.end_object();
  }
  into = std::exchange(text_, {});
  co_return is_done;
}

}  // namespace

// Fields in the order in which their faults are told.
void read_instance(const tape_value& body, core::mp_server& into, field_faults& faults) {
  const field_place root("body");
  if (!check_object(body, root, faults)) return;
  read_ip(body, root, faults, into);
  if (const auto port = require_member(body, "http_port", root, faults)) {
    into.http_port = static_cast<std::uint16_t>(read_whole(*port, field_place(root, "http_port"), faults, ports).value_or(0));
  }
  into.instance_id = optional_text(body, "instance_id", root, faults);
  const std::size_t said = read_metadata(body, root, faults, into);
  into.p2p_advertised_url = optional_text(body, "p2p_advertised_url", root, faults);
  if (const tape_value port = find_member(body, "mq_port"); port.is_present()) {
    into.mq_port = static_cast<std::uint16_t>(read_whole(port, field_place(root, "mq_port"), faults, ports_or_none).value_or(0));
  }
  check_length(body, root, faults, said + into.instance_id.size() + into.ip.size() + into.p2p_advertised_url.size());
}

http_reply add_instance_reply(coordinator_tables& tables, core::mp_server server, std::uint64_t high, std::uint64_t low,
                              std::chrono::steady_clock::time_point now) {
  if (server.instance_id.empty()) server.instance_id = core::made_up_instance_id(high, low);
  const std::string id = server.instance_id;
  const std::string ip = server.ip;
  const std::uint16_t port = server.http_port;
  const core::result<bool> replaced = tables.servers.add(std::move(server), now, std::chrono::system_clock::now());
  if (!replaced) return overloaded_reply(replaced.error().message());
  ++(*replaced ? tables.counters.re_registrations : tables.counters.registrations);
  log::info(log::module::fleet, "mp server registered", {{"instance", id}, {"ip", ip}, {"port", port}, {"again", *replaced}});
  http_reply reply;
  answer_writer out(reply.body, wire_form::json);
  out.object(2);
  out.member("instance_id", id);
  out.member("re_registered", *replaced);
  out.end_object();
  return reply;
}

http_reply heartbeat_reply(coordinator_tables& tables, std::string_view instance_id, std::chrono::steady_clock::time_point now) {
  if (!tables.servers.heartbeat(instance_id, now)) {
    ++tables.counters.unknown_heartbeats;
    return error_reply(404, "unknown instance ID; re-register");
  }
  ++tables.counters.heartbeats;
  http_reply reply;
  answer_writer out(reply.body, wire_form::json);
  out.object(1);
  out.member("instance_id", instance_id);
  out.end_object();
  return reply;
}

http_reply remove_instance_reply(coordinator_tables& tables, std::string_view instance_id) {
  if (tables.servers.remove(instance_id)) {
    ++tables.counters.deregistrations;
    log::info(log::module::fleet, "mp server deregistered", {{"instance", instance_id}});
  }
  return no_content_reply();
}

asio::awaitable<http_reply> list_instances_reply(coordinator_context& context, lane& here) {
  http_reply reply = co_await listing_reply(context, here, std::make_shared<server_list>(context));
  co_return reply;
}

}  // namespace kvc::net

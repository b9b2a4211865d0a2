#include "net/api_prefetch.hpp"

#include <exception>
#include <limits>
#include <memory>
#include <optional>
#include <stop_token>
#include <string>
#include <utility>

#include "net/answer_writer.hpp"
#include "net/coordinator_reply.hpp"
#include "net/field_reading.hpp"
#include "net/label_text.hpp"
#include "net/mp_text.hpp"
#include "net/wanted_call.hpp"

namespace kvc::net {
namespace {

using steady = std::chrono::steady_clock;

constexpr std::size_t most_submitted_bytes = std::size_t{256} << 10;  ///< of what a server answers
constexpr std::size_t most_polled_bytes = std::size_t{1} << 20;       ///< the same: it may list the chunks
constexpr std::size_t most_told_bytes = 1'024;                        ///< of a server's answer, in ours

/// What a server answered; absent: there is no such server.
using relayed = std::optional<result<http_client::answer>>;

/// Home lane. `method` is a literal.
asio::awaitable<relayed> relay(coordinator_context& context, std::string_view instance_id, std::string_view method, std::string target,
                               std::string body, std::size_t most_bytes, std::stop_token client_left,
                               steady::time_point latest = mp_caller::never) {
  const core::mp_member* member = context.tables.servers.find(instance_id);
  if (member == nullptr) co_return std::nullopt;
  ++context.tables.counters.prefetches;
  auto call = context.calls.call(member->server.ip, member->server.http_port, method, std::move(target), std::move(body),
                                 as_duration(context.settings.call_timeout), most_bytes, latest);
  std::exception_ptr failure;
  result<http_client::answer> answer = error_code(errc::cancelled);
  try {
    answer = co_await make_wanted_call(context.home, "prefetch relay", std::move(call), std::move(client_left));
  } catch (...) {
    failure = std::current_exception();
  }
  if (!answer) ++context.tables.counters.prefetches_failed;
  if (failure) std::rethrow_exception(failure);
  co_return relayed(std::move(answer));
}

// An id that nobody has registered may be as long as a body: it need not be escaped and sent back whole.
http_reply no_such_server(std::string_view instance_id) {
  return detail_reply(404, "no MP server registered with instance_id='" + label_text(instance_id) + "'");
}

http_reply failed_call(std::string_view what, std::string_view instance_id, const std::string& why) {
  return detail_reply(502, "prefetch " + std::string(what) + " '" + std::string(instance_id) + "' failed: " + why);
}

/// What the client is told of a server's 2xx. A member of another type than it should have is a 500, as in the other service.
http_reply submitted_reply(std::string_view instance_id, std::string_view answered) {
  json_tree tree;
  if (tree.parse(answered) || !tree.root().is(tape_node::kind::map)) return detail_reply(500, "the MP server's answer is not understood");
  const tape_value id = find_member(tree.root(), "request_id");
  const tape_value chunks = find_member(tree.root(), "chunks");
  const tape_value status = find_member(tree.root(), "status");
  field_faults unheard;
  const auto count = chunks.is_present() ? read_whole(chunks, field_place("chunks"), unheard, {.least = 0}) : std::int64_t{0};
  const bool is_sound = (!id.is_present() || id.is(tape_node::kind::string)) && count.has_value() &&
                        (!status.is_present() || status.is(tape_node::kind::string));
  if (!is_sound) return detail_reply(500, "the MP server's answer is not understood");
  http_reply reply;
  answer_writer out(reply.body, wire_form::json);
  out.object(4);
  out.member("instance_id", instance_id);
  out.member("request_id", id.is_present() ? id.text() : std::string_view());
  out.key("chunks");
  out.signed_number(*count);
  out.member("status", status.is_present() ? status.text() : std::string_view("submitted"));
  out.end_object();
  return reply;
}

}  // namespace

void read_prefetch(const tape_value& body, prefetch_order& wanted, field_faults& faults) {
  const field_place root("body");
  if (!check_object(body, root, faults)) return;
  answer_writer out(wanted.body, wire_form::json);
  out.object(4);
  if (const auto id = require_member(body, "instance_id", root, faults)) {
    wanted.instance_id = read_text(*id, field_place(root, "instance_id"), faults).value_or(std::string_view());
  }
  if (const auto model = require_member(body, "model_name", root, faults)) {
    out.member("model_name", read_text(*model, field_place(root, "model_name"), faults).value_or(std::string_view()));
  }
  constexpr whole_range from_one{.least = 1, .most = std::numeric_limits<std::int64_t>::max()};
  if (const auto size = require_member(body, "world_size", root, faults)) {
    out.key("world_size");
    out.signed_number(read_whole(*size, field_place(root, "world_size"), faults, from_one).value_or(1));
  }
  out.key("token_ids");
  out.list();
  const tape_value list = find_member(body, "token_ids");
  const field_place where(root, "token_ids");
  const bool is_list = list.is_present() && check_list(list, where, faults);
  if (is_list && list.length() > most_prefetched_tokens) {
    faults.add("too_long", where,
               "List should have at most " + std::to_string(most_prefetched_tokens) + " items after validation, not " +
                   std::to_string(list.length()),
               list, fault_context{"max_length", most_prefetched_tokens});
  } else if (is_list && list.length() != 0) {
    tape_value each = list.first();
    for (std::uint32_t i = 0;;) {
      out.signed_number(read_whole(each, field_place(where, i), faults).value_or(0));
      if (++i == list.length()) break;
      each = each.next();
    }
  }
  out.end_list();
  std::string_view salt;
  if (const tape_value value = find_member(body, "cache_salt"); value.is_present()) {
    salt = read_text(value, field_place(root, "cache_salt"), faults).value_or(std::string_view());
  }
  out.member("cache_salt", salt);
  if (faults.empty()) out.end_object();  // else members are missing, and nobody wants the text
}

asio::awaitable<http_reply> submit_prefetch_reply(coordinator_context& context, lane& here, prefetch_order wanted,
                                                  std::stop_token client_left, steady::time_point latest) {
  const std::string_view id = wanted.instance_id;
  const relayed answer = co_await on_home(context, here, [&] {
    return relay(context, id, "POST", "/cache/prefetches", std::move(wanted.body), most_submitted_bytes, client_left, latest);
  });
  if (!answer) co_return no_such_server(id);
  if (!*answer) co_return failed_call("submit to", id, answer->error().message());
  const http_client::answer& got = **answer;
  if (got.status / 100 != 2) {
    co_return failed_call("submit to", id, "HTTP " + std::to_string(got.status) + ": " + got.body.substr(0, most_told_bytes));
  }
  co_return submitted_reply(id, got.body);
}

asio::awaitable<http_reply> poll_prefetch_reply(coordinator_context& context, lane& here, const http_request& request,
                                                std::string_view instance_id, std::string_view request_id) {
  relayed answer = co_await on_home(context, here, [&] {
    return relay(context, instance_id, "GET", "/cache/prefetches/" + percent_encoded(request_id), std::string(), most_polled_bytes,
                 request.client_left);
  });
  if (!answer) co_return no_such_server(instance_id);
  if (!*answer) co_return failed_call("status from", instance_id, answer->error().message());
  http_client::answer& got = **answer;
  if (got.status < 200) co_return failed_call("status from", instance_id, "HTTP " + std::to_string(got.status));
  auto tree = std::make_unique<json_tree>();
  const bool is_json = co_await read_server_json(context, *tree, got.body);
  drop_tree(context, std::move(tree), got.body.size());
  if (!is_json) co_return detail_reply(got.status, got.body);
  co_return json_reply(std::move(got.body), got.status);
}

}  // namespace kvc::net

#include "net/coordinator_service.hpp"

#include <chrono>
#include <cstdint>
#include <optional>
#include <utility>
#include <variant>

#include <boost/asio/post.hpp>

#include "net/api_blend.hpp"
#include "net/api_instances.hpp"
#include "net/api_prefetch.hpp"
#include "net/api_quota.hpp"
#include "net/api_usage_events.hpp"
#include "net/coordinator_context.hpp"
#include "net/coordinator_loops.hpp"
#include "net/coordinator_metrics.hpp"
#include "net/coordinator_reading.hpp"
#include "net/coordinator_reply.hpp"
#include "net/coordinator_router.hpp"
#include "net/http_auth.hpp"
#include "net/log.hpp"

namespace kvc::net {
namespace {

using steady = std::chrono::steady_clock;
using enum coordinator_endpoint;

constexpr std::chrono::seconds relay_spare{5};
constexpr std::chrono::seconds longest_reading{60};  ///< of a prefetch, behind the bodies of others; the call has its time after that

/// A relayed call has the time of one until it has a connection, and again over that.
seconds_setting longest_relay(const coordinator_settings& settings) {
  return 2 * settings.call_timeout;
}

/// Whether a request is answered in one go on the home lane, in microseconds.
bool is_short(coordinator_endpoint asked) {
  switch (asked) {
    case add_instance:
    case remove_instance:
    case heartbeat:
    case read_usage:
    case set_quota:
    case remove_quota:
    case read_default_quota:
    case set_default_quota: return true;
    case list_instances:
    case list_usage:
    case usage_events:
    case publish_chunks:
    case remove_chunks:
    case match_chunks:
    case submit_prefetch:
    case poll_prefetch:
    case coordinator_endpoint::event_batches: return false;
  }
  return false;
}

bool has_body(coordinator_endpoint asked) {
  switch (asked) {
    case add_instance:
    case set_quota:
    case set_default_quota:
    case usage_events:
    case publish_chunks:
    case remove_chunks:
    case match_chunks:
    case submit_prefetch:
    case coordinator_endpoint::event_batches: return true;
    default: return false;
  }
}

/// Whether a body decides if its request is answered in one go: those of batches, which are short as a rule and may be very long.
bool is_short_by_body(coordinator_endpoint asked) {
  return asked == usage_events || asked == publish_chunks;
}

/// Reads the body of a request in a turn of the lane, or aside.
asio::awaitable<std::optional<http_reply>> read_body(coordinator_context& context, coordinator_endpoint asked, std::string_view body,
                                                     coordinator_reading& into) {
  if (body.size() <= most_read_in_a_turn(asked)) co_return read_coordinator_body(asked, body, into);
  auto refused = co_await context.aside.run([&] { return read_coordinator_body(asked, body, into); });
  co_return refused;
}

/// Reads a prefetch and passes it on. What it was read from is given back first, as a call takes its time and many may wait: the tree by
/// the piece of work that has made it, since behind it in line there may be others that each make one.
asio::awaitable<http_reply> pass_on_prefetch(coordinator_context& context, lane& here, const http_request& request) {
  const steady::time_point latest = steady::now() + longest_reading + as_duration(longest_relay(context.settings));
  prefetch_order wanted;
  const auto read = [&]() -> std::optional<http_reply> {
    coordinator_reading from;
    if (auto refused = read_coordinator_body(submit_prefetch, request.body, from)) return refused;
    wanted = std::get<prefetch_order>(std::move(from.what));
    return std::nullopt;
  };
  std::optional<http_reply> refused = co_await context.aside.run_if(request.body.size() > most_read_in_a_turn(submit_prefetch), read);
  if (refused) co_return *std::move(refused);
  if (request.kept_body != nullptr) std::string().swap(*request.kept_body);  // an assignment would keep the memory
  http_reply reply = co_await submit_prefetch_reply(context, here, std::move(wanted), request.client_left, latest);
  co_return reply;
}

/// Home lane.
http_reply answer_short(coordinator_context& context, const coordinator_routed& found, const http_request& request,
                        coordinator_reading& read) {
  coordinator_tables& tables = context.tables;
  const std::string_view segment = found.segments[0];
  switch (found.route->endpoint) {
    case add_instance: {
      const std::uint64_t high = context.random();
      const std::uint64_t low = context.random();
      return add_instance_reply(tables, std::get<core::mp_server>(std::move(read.what)), high, low, steady::now());
    }
    case remove_instance: return remove_instance_reply(tables, segment);
    case heartbeat: return heartbeat_reply(tables, segment, steady::now());
    case read_usage: return read_usage_reply(tables, segment, request);
    case set_quota: return set_quota_reply(tables, segment, std::get<quota_order>(read.what));
    case remove_quota: return remove_quota_reply(tables, segment, request);
    case read_default_quota: return read_default_quota_reply(tables);
    case set_default_quota: return set_default_quota_reply(tables, std::get<default_quota_order>(read.what));
    default: return no_route_reply({});  // not reached: everything else is waited for
  }
}

bool changes_quotas(coordinator_endpoint asked) {
  return asked == set_quota || asked == remove_quota || asked == set_default_quota;
}

/// The same; and what changes quotas is on the disk before the answer says so.
asio::awaitable<http_reply> answer_short_later(coordinator_context& context, const coordinator_routed& found, const http_request& request,
                                               coordinator_reading& read) {
  http_reply reply = answer_short(context, found, request, read);
  if (!changes_quotas(found.route->endpoint) || !is_success(reply.status)) co_return reply;
  const auto failed = co_await context.saved_quotas.save(context.tables.quotas);
  if (!failed) co_return reply;
  log::error(log::module::fleet, "cannot write the quotas", {{"file", context.settings.quota_file}, {"reason", *failed}});
  co_return detail_reply(500, "the change holds until this process ends, but could not be written to the quota file: " + *failed);
}

/// Does what a request says that may have to wait.
asio::awaitable<http_reply> carry_out(coordinator_context& context, lane& here, const coordinator_routed& found,
                                      const http_request& request, coordinator_reading& read) {
  http_reply reply;
  switch (found.route->endpoint) {
    case list_instances: reply = co_await list_instances_reply(context, here); break;
    case list_usage: reply = co_await list_usage_reply(context, here, request); break;
    case usage_events: reply = co_await record_usage_events(context, here, std::get<usage_batch>(read.what)); break;
    case coordinator_endpoint::event_batches:
      reply = co_await record_event_batches(context, here, std::get<net::event_batches>(read.what));
      break;
    case publish_chunks: reply = co_await publish_chunks_reply(context, here, std::get<std::vector<chunk_range>>(read.what)); break;
    case remove_chunks: reply = co_await remove_chunks_reply(context, here, std::get<removal_request>(read.what)); break;
    case match_chunks: reply = co_await match_chunks_reply(context, here, std::get<match_request>(read.what)); break;
    case poll_prefetch: reply = co_await poll_prefetch_reply(context, here, request, found.segments[0], found.segments[1]); break;
    default: reply = co_await on_home(context, here, [&] { return answer_short_later(context, found, request, read); });
  }
  co_return reply;
}

}  // namespace

struct coordinator_service::state {
  state(runtime& all, coordinator_settings settings) : lanes(all), context(all.at(all.size() - 1), std::move(settings)) {}

  runtime& lanes;
  coordinator_context context;
};

coordinator_service::coordinator_service(runtime& lanes, coordinator_settings settings)
    : state_(std::make_unique<state>(lanes, std::move(settings))) {
  if (state_->context.settings.enable_startup_resync) state_->context.tables.resync = core::resync_fsm::phase::waiting;
}
coordinator_service::~coordinator_service() = default;

std::optional<std::string> coordinator_service::load_quotas() {
  coordinator_context& context = state_->context;
  return context.saved_quotas.load(context.tables.quotas);
}

void coordinator_service::start() {
  coordinator_context& context = state_->context;
  asio::post(context.home.context, [&context] {
    const coordinator_settings& wanted = context.settings;
    if (wanted.health_check_interval.count() > 0) context.home.tasks.spawn("coordinator sweep", sweep_loop(context));
    if (wanted.enable_startup_resync) context.home.tasks.spawn("coordinator resync", resync_once(context));
    if (wanted.eviction_check_interval.count() > 0) context.home.tasks.spawn("coordinator eviction", eviction_loop(context));
  });
}

http_plan coordinator_service::plan(const http_request& head) {
  const coordinator_settings& settings = state_->context.settings;
  http_plan planned;
  planned.reads_any_type = true;
  planned.idle_timeout = std::chrono::duration_cast<std::chrono::milliseconds>(std::chrono::seconds(settings.timeout_keep_alive));
  const coordinator_routed found = find_coordinator_route(head.method, head.path);
  if (found.route == nullptr) {
    planned.refusal = no_route_reply(found.allowed);
    return planned;
  }
  planned.counter = core::route::coordinator;
  planned.handler = static_cast<std::uint8_t>(found.route->endpoint);
  const coordinator_endpoint asked = found.route->endpoint;
  const bool is_kept = changes_quotas(asked) && state_->context.saved_quotas.is_used();
  planned.waits = state_->lanes.size() > 1 || !(is_short(asked) || is_short_by_body(asked)) || is_kept;
  if (asked == submit_prefetch || asked == poll_prefetch) {
    // A relayed request ends at its own deadline, which clients know as a 502.
    planned.patience = std::chrono::duration_cast<std::chrono::milliseconds>(longest_relay(settings)) + relay_spare;
    if (asked == submit_prefetch) planned.patience += longest_reading;
    planned.ends_with_client = true;
  }
  const access needed = found.route->changes ? access::write : access::read;
  const checked denied = check_access(needed, head.authorization, settings.auth_tokens, settings.auth_read_tokens);
  if (denied) planned.refusal = denied->kind == refusal_kind::forbidden ? forbidden_reply() : unauthorized_reply();
  return planned;
}

asio::awaitable<std::string> coordinator_service::metrics(lane& here) {
  return on_home(state_->context, here, [&context = state_->context] { return coordinator_metrics(context); });
}

bool coordinator_service::has_to_wait(lane& /*here*/, const http_request& request, const http_plan& plan) noexcept {
  const auto asked = static_cast<coordinator_endpoint>(plan.handler);
  if (!is_short_by_body(asked)) return has_body(asked) && request.body.size() > most_read_in_a_turn(asked);
  if (asked == usage_events && state_->context.event_turns.are_taken()) return true;  // perhaps by the same sender
  const bool is_bounded = asked != publish_chunks || is_published_in_a_turn(request.body.size(), state_->context.settings.blend_chunk_size);
  return !is_bounded || request.body.size() > most_read_in_a_turn(asked);
}

http_reply coordinator_service::answer_now(lane&, const http_request& request, const http_plan&) {
  coordinator_context& context = state_->context;
  const coordinator_routed found = find_coordinator_route(request.method, request.path);
  const coordinator_endpoint asked = found.route->endpoint;
  coordinator_reading read;
  if (!has_body(asked)) return answer_short(context, found, request, read);
  if (auto refused = read_coordinator_body(asked, request.body, read)) return *std::move(refused);
  if (asked == usage_events) return record_usage_events_now(context, std::get<usage_batch>(read.what));
  if (asked == publish_chunks) return publish_chunks_now(context, std::get<std::vector<chunk_range>>(read.what));
  return answer_short(context, found, request, read);
}

asio::awaitable<http_reply> coordinator_service::answer(lane& here, const http_request& request, const http_plan&) {
  coordinator_context& context = state_->context;
  const coordinator_routed found = find_coordinator_route(request.method, request.path);
  const coordinator_endpoint asked = found.route->endpoint;
  if (asked == submit_prefetch) co_return co_await pass_on_prefetch(context, here, request);
  auto read = std::make_unique<coordinator_reading>();
  std::optional<http_reply> refused;
  if (has_body(asked)) refused = co_await read_body(context, asked, request.body, *read);
  http_reply reply;
  if (refused) {
    reply = *std::move(refused);
  } else {
    reply = co_await carry_out(context, here, found, request, *read);
  }
  if (request.body.size() > most_read_in_a_turn(asked)) context.aside.drop(std::move(read));  // giving it back takes its time as well
  co_return reply;
}

}  // namespace kvc::net

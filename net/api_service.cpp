#include "net/api_service.hpp"

#include <algorithm>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "net/answer_writer.hpp"
#include "net/api_batch.hpp"
#include "net/api_dump.hpp"
#include "net/api_inspect.hpp"
#include "net/api_query.hpp"
#include "net/api_registry.hpp"
#include "net/api_types.hpp"
#include "net/http_auth.hpp"
#include "net/http_reply.hpp"
#include "net/http_router.hpp"
#include "net/long_prompt.hpp"
#include "net/metrics.hpp"
#include "net/named_prompt.hpp"
#include "net/openapi.hpp"
#include "net/query_prefetch.hpp"
#include "net/request_document.hpp"
#include "net/worker_report.hpp"

namespace kvc::net {
namespace {

using steady = std::chrono::steady_clock;

constexpr std::size_t most_reserved = 64U << 10;  ///< bytes of an answer, before it is known how long it gets

/// Whether an answer is about the whole fleet, so that it takes as long as that is large.
bool is_about_all(endpoint which) {
  return which == endpoint::services || which == endpoint::workers || which == endpoint::global_view || which == endpoint::metrics;
}

/// One name for all requests for the same page. Whoever may read at all reads the same.
std::string page_name(const http_request& request, const http_plan& plan) {
  const auto asked = static_cast<endpoint>(plan.handler);
  const bool has_choice = asked == endpoint::services || asked == endpoint::workers;
  std::string name{static_cast<char>(plan.handler), static_cast<char>(request.answer_form)};
  if (has_choice) name += request.parameter("instance_id");
  return name;
}

bool is_query(endpoint which) {
  return which == endpoint::query || which == endpoint::query_by_hash;
}

/// Whether a body may ask by the names of engines, which has to wait for other lanes. Whatever else is found waits as well, for nothing.
bool may_tell_names(const http_request& request) {
  const std::string_view body = request.body;
  if (request.body_form == wire_form::msgpack) return body.find("engine") != std::string_view::npos;
  return body.find("\"engine\"") != std::string_view::npos || body.find('\\') != std::string_view::npos;  // escapes may spell any word
}

/// A query's body, read.
struct read_body {
  request_document document;
  query_request query;
  std::vector<core::seq_hash> blocks;    ///< that the query tells by name
  std::vector<core::local_hash> locals;  ///< of a long prompt
  checked wrong;

  void read(const http_request& request, bool by_hash) {
    wrong = document.read(request.body, request.body_form, request_document::shape::single);
    if (wrong) return;
    wrong = read_query(document, document.items().front(), by_hash ? query_kind::hashes : query_kind::tokens, query);
  }
};

}  // namespace

struct api_service::scratch {
  request_document document;
  query_scratch query;
  std::size_t answer_bytes = 0;  ///< of the last answer: the next one is about as long
};

api_service::api_service(api_context context) : context_(std::move(context)) {
  for (std::size_t i = 0; i < context_.lanes.size(); ++i) scratches_.push_back(std::make_unique<scratch>());
}
api_service::~api_service() = default;

checked api_service::denied_change(const http_request& request) const {
  return check_access(access::write, request.authorization, context_.auth_tokens, context_.auth_read_tokens);
}

http_plan api_service::plan(const http_request& head) {
  http_plan planned;
  const routed found = find_route(head.method, head.path);
  if (found.entry == nullptr) {
    const refusal unknown{refusal_kind::unknown_path, "there is no such path"};
    planned.refusal = found.path_exists ? wrong_method_reply(found.allowed, head.answer_form) : reply_with(unknown, head.answer_form);
    return planned;
  }
  planned.counter = found.entry->counter;
  planned.handler = static_cast<std::uint8_t>(found.entry->endpoint);
  const endpoint asked = found.entry->endpoint;
  planned.waits = asked == endpoint::query_batch || found.entry->access == access::write || is_about_all(asked);
  const checked denied = check_access(found.entry->access, head.authorization, context_.auth_tokens, context_.auth_read_tokens);
  if (denied) planned.refusal = reply_with(*denied, head.answer_form);
  return planned;
}

bool api_service::has_to_wait(lane&, const http_request& request, const http_plan& plan) {
  const auto asked = static_cast<endpoint>(plan.handler);
  if (!is_query(asked)) return false;
  return request.body.size() > most_read_by_lane || (asked == endpoint::query_by_hash && may_tell_names(request));
}

http_reply api_service::answer_query_request(lane& here, const http_request& request, bool by_hash) {
  request_document& document = scratches_[here.index()]->document;
  checked wrong = document.read(request.body, request.body_form, request_document::shape::single);
  query_request query;
  if (!wrong) wrong = read_query(document, document.items().front(), by_hash ? query_kind::hashes : query_kind::tokens, query);
  if (wrong) return reply_with(*wrong, request.answer_form);
  return answer_query(here, request, query);
}

http_reply api_service::answer_query(lane& here, const http_request& request, const query_request& query) {
  // Whoever may only look may not have objects moved either.
  const checked denied = query.prefetch ? denied_change(request) : checked();
  if (denied) return reply_with(*denied, request.answer_form);
  scratch& reused = *scratches_[here.index()];
  std::string body;
  body.reserve(reused.answer_bytes);
  answer_writer out(body, request.answer_form);
  const query_source source{here.partitions.get(), context_.media, here.counters, steady::now()};
  net::answer_query(query, source, reused.query, out);
  reused.answer_bytes = std::min(body.size() + body.size() / 8, most_reserved);
  if (query.prefetch) prefetch_behind(context_.prefetches, here, query, source, reused.query);
  read_again_behind(context_.prefetches, here, query, source, reused.query);
  return ok_reply(std::move(body), request.answer_form);
}

asio::awaitable<http_reply> api_service::answer_waiting_query(lane& here, const http_request& request, bool by_hash) {
  const bool is_long = request.body.size() > most_read_by_lane;
  auto body = std::make_unique<read_body>();
  (void)co_await beside_.run_if(is_long, [&] { return body->read(request, by_hash), true; });
  if (!body->wrong && body->query.by_names) body->wrong = co_await find_named_blocks(here, body->query, body->blocks);
  if (!body->wrong) co_await hash_in_turns(here, body->query, body->locals);
  http_reply reply = body->wrong ? reply_with(*body->wrong, request.answer_form) : answer_query(here, request, body->query);
  if (is_long) beside_.drop(std::move(body));  // giving it back takes its time as well
  co_return reply;
}

http_reply api_service::answer_now(lane& here, const http_request& request, const http_plan& plan) {
  const steady::time_point now = steady::now();
  switch (static_cast<endpoint>(plan.handler)) {
    case endpoint::query: return answer_query_request(here, request, false);
    case endpoint::query_by_hash: return answer_query_request(here, request, true);
    case endpoint::services: return list_services(context_, request, now);
    case endpoint::workers: return list_workers(context_, request, now);
    case endpoint::global_view: return list_partitions(context_, request);
    case endpoint::dump: return dump_blocks(context_, dumps_, request);
    case endpoint::alive: return say_alive(request);
    case endpoint::health: return say_health(context_, request, now);
    case endpoint::ready: return say_ready(context_, request, now);
    case endpoint::metrics: return metrics_reply(context_, now);
    case endpoint::openapi: return openapi_reply(context_.version);
    case endpoint::docs: return docs_reply();
    case endpoint::query_batch:
    case endpoint::register_publisher:
    case endpoint::unregister_publisher: break;
  }
  return reply_with(refusal{refusal_kind::unsupported, "this route has to be waited for"}, request.answer_form);
}

asio::awaitable<http_reply> api_service::answer_batch(lane& here, const http_request& request) {
  const bool is_long = request.body.size() > most_read_by_lane;
  // A copy of a long body would take milliseconds of the lane, and be there twice for as long as the answer is written.
  std::string body_text = request.kept_body != nullptr ? std::exchange(*request.kept_body, {}) : std::string(request.body);
  auto batch = std::make_shared<batch_answer>(context_, std::move(body_text), request.answer_form, denied_change(request));
  const checked unreadable = co_await beside_.run_if(is_long, [&] { return batch->read(request.body_form); });
  if (unreadable) co_return reply_with(*unreadable, request.answer_form);
  std::string body;
  if (co_await batch->write_some(here, body, batch_answer::longest_whole)) co_return ok_reply(std::move(body), request.answer_form);
  batch->begin_with(std::move(body));
  co_return stream_reply(std::move(batch), request.answer_form);
}

asio::awaitable<http_reply> api_service::answer(lane& here, const http_request& request, const http_plan& plan) {
  const auto asked = static_cast<endpoint>(plan.handler);
  if (asked == endpoint::query_batch) co_return co_await answer_batch(here, request);
  if (is_query(asked)) co_return co_await answer_waiting_query(here, request, asked == endpoint::query_by_hash);
  if (is_about_all(asked)) {
    // Making one touches nothing of the lane's.
    std::optional<http_reply> page = co_await pages_.ask(page_name(request, plan), [&] { return answer_now(here, request, plan); });
    if (page) co_return std::move(*page);
    co_return reply_with(refusal{refusal_kind::overloaded, "too many pages are being made or written; try again"}, request.answer_form);
  }
  const wire_form form = request.answer_form;
  const bool is_long = request.body.size() > most_read_by_lane;
  const auto own = is_long ? std::make_unique<request_document>() : nullptr;
  request_document& document = is_long ? *own : scratches_[here.index()]->document;  // the latter not used after the first wait
  const checked unreadable =
      co_await beside_.run_if(is_long, [&] { return document.read(request.body, request.body_form, request_document::shape::single); });
  if (unreadable) co_return reply_with(*unreadable, form);
  if (asked == endpoint::register_publisher) {
    registration_request wanted;
    const checked wrong = read_registration(document, document.items().front(), context_.hash_seed, context_.media, wanted);
    if (wrong) co_return reply_with(*wrong, form);
    co_return co_await register_publisher(context_, std::move(wanted), form);
  }
  unregistration which;
  const checked wrong = read_unregistration(document, document.items().front(), which);
  if (wrong) co_return reply_with(*wrong, form);
  co_return co_await unregister_publisher(context_, std::move(which), form);
}

}  // namespace kvc::net

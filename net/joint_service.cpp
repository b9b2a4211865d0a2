#include "net/joint_service.hpp"

#include <string>
#include <string_view>
#include <utility>

#include "net/coordinator_reply.hpp"
#include "net/coordinator_router.hpp"
#include "net/http_reply.hpp"
#include "net/http_router.hpp"

namespace kvc::net {
namespace {

constexpr std::string_view probe_path = "/healthz";
constexpr std::string_view probe_method = "GET";

}  // namespace

std::optional<http_reply> joint_service::refused_reply(std::string_view path, const refusal& why) {
  if (!is_coordinator_path(path)) return std::nullopt;
  http_reply plain = reply_with(why, wire_form::json);
  http_reply reply = detail_reply(plain.status, why.sentence);
  reply.headers = std::move(plain.headers);  // when to try again
  return reply;
}

http_plan joint_service::plan(const http_request& head) {
  if (is_coordinator_path(head.path)) return coordinator_.plan(head);
  if (is_of_stores(head.path)) return stores_->plan(head);
  http_plan planned = index_.plan(head);
  if (head.path == probe_path && head.method != probe_method) {
    planned.refusal = wrong_method_of_both_reply(probe_method, head.answer_form);
    return planned;
  }
  if (planned.counter != core::route::other) return planned;  // a route of the index
  const bool is_known = find_route(head.method, head.path).path_exists;
  if (!is_known) planned.refusal = no_path_of_both_reply(head.answer_form);
  return planned;
}

http_reply joint_service::answer_now(lane& here, const http_request& request, const http_plan& plan) {
  if (is_of_stores(request.path)) return stores_->answer_now(here, request, plan);
  return is_coordinator_path(request.path) ? coordinator_.answer_now(here, request, plan) : index_.answer_now(here, request, plan);
}

asio::awaitable<http_reply> joint_service::answer(lane& here, const http_request& request, const http_plan& plan) {
  if (is_coordinator_path(request.path)) co_return co_await coordinator_.answer(here, request, plan);
  if (is_of_stores(request.path)) co_return co_await stores_->answer(here, request, plan);
  http_reply page = co_await index_.answer(here, request, plan);
  if (plan.counter != core::route::metrics || page.status != 200) co_return page;
  page.body += co_await coordinator_.metrics(here);
  if (stores_ != nullptr) page.body += stores_->metrics();
  co_return page;
}

}  // namespace kvc::net

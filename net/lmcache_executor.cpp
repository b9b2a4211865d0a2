#include "net/lmcache_executor.hpp"

#include <algorithm>
#include <chrono>

#include <boost/asio/redirect_error.hpp>
#include <boost/asio/steady_timer.hpp>
#include <boost/asio/this_coro.hpp>
#include <boost/asio/use_awaitable.hpp>

#include "net/answer_writer.hpp"
#include "net/json_tree.hpp"
#include "net/mp_text.hpp"

namespace kvc::net {
namespace {

using kind = tape_value::kind;
using steady = std::chrono::steady_clock;

constexpr std::chrono::milliseconds first_look_after{20};
constexpr std::chrono::milliseconds longest_between_looks{500};

std::string body_of(const promotion_order& order, std::uint64_t world_size) {
  std::string body;
  answer_writer out(body, wire_form::json);
  out.object(4);
  out.member("model_name", order.model);
  out.member("world_size", world_size);
  out.key("token_ids");
  out.list(order.tokens.size());
  for (const std::uint32_t each : order.tokens) out.number(each);
  out.end_list();
  out.member("cache_salt", order.salt);
  out.end_object();
  return body;
}

/// A text member of an answer; "" when there is none.
std::string text_in(std::string_view body, std::string_view name) {
  json_tree tree;
  if (tree.parse(body) || !tree.root().is(kind::map)) return {};
  const tape_value found = find_member(tree.root(), name);
  return found.is(kind::string) ? std::string(found.text()) : std::string();
}

/// A completed prefetch may have come to nothing: the storage has lost the chunks since.
bool has_found_nothing(std::string_view body) {
  json_tree tree;
  if (tree.parse(body) || !tree.root().is(kind::map)) return false;
  const tape_value found = find_member(tree.root(), "found_keys");
  return found.is(kind::unsigned_integer) && found.node().bits == 0;
}

promotion_outcome outcome_of(promotion_result what, std::string reason) {
  promotion_outcome outcome;
  outcome.what = what;
  outcome.reason = std::move(reason);
  return outcome;
}

}  // namespace

asio::awaitable<promotion_outcome> lmcache_executor::carry_out(const promotion_order& order) {
  const auto submitted = co_await caller_.call("POST", "/cache/prefetches", body_of(order, world_size_), order.deadline);
  if (!submitted) co_return outcome_of(promotion_result::failed, submitted.error().message());
  if (submitted->status / 100 != 2) {
    // 503 is said of a model that the server does not know yet.
    const auto what = submitted->status == 429 ? promotion_result::rejected_pressure : promotion_result::failed;
    co_return outcome_of(what, "HTTP " + std::to_string(submitted->status));
  }
  if (text_in(submitted->body, "status") == "noop") co_return outcome_of(promotion_result::unsupported, "the prefix has no whole chunk");
  const std::string id = text_in(submitted->body, "request_id");
  if (id.empty()) co_return outcome_of(promotion_result::failed, "the server's answer is not understood");
  std::chrono::milliseconds between = first_look_after;
  for (;;) {
    if (steady::now() + between >= order.deadline) co_return outcome_of(promotion_result::failed, "not completed by the deadline");
    asio::steady_timer timer(executor_, between);
    error_code woken;
    co_await timer.async_wait(asio::redirect_error(asio::use_awaitable, woken));
    const auto stopping = co_await asio::this_coro::cancellation_state;
    if (woken || stopping.cancelled() != asio::cancellation_type::none) co_return outcome_of(promotion_result::failed, "given up");
    between = std::min(between * 2, longest_between_looks);
    const auto told = co_await caller_.call("GET", "/cache/prefetches/" + percent_encoded(id), std::string(), order.deadline);
    if (!told) co_return outcome_of(promotion_result::failed, told.error().message());
    if (told->status == 404) co_return outcome_of(promotion_result::failed, "the server has forgotten the prefetch");
    if (told->status / 100 != 2 || text_in(told->body, "status") != "completed") continue;
    if (has_found_nothing(told->body)) co_return outcome_of(promotion_result::gone, "the server has none of the chunks");
    co_return outcome_of(promotion_result::accepted, {});
  }
}

asio::awaitable<std::vector<promotion_outcome>> lmcache_executor::promote(const promotion_order& order,
                                                                          const promotion_progress& /*progress*/) {
  promotion_outcome outcome = outcome_of(promotion_result::unsupported, "the tokens of the object are not known");
  if (!order.tokens.empty()) outcome = co_await carry_out(order);
  co_return std::vector<promotion_outcome>(order.keys.size(), outcome);
}

}  // namespace kvc::net

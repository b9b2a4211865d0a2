#include "net/webhook_executor.hpp"

#include <array>

#include "net/answer_writer.hpp"
#include "net/json_tree.hpp"

namespace kvc::net {
namespace {

using kind = tape_value::kind;

std::string body_of(const promotion_order& order) {
  std::string body;
  answer_writer out(body, wire_form::json);
  out.object(4);
  out.member("operation", "promote");
  out.key("keys");
  out.list(order.keys.size());
  for (const std::string& each : order.keys) out.text(each);
  out.end_list();
  out.member("tenant_id", order.tenant);
  out.key("preferred");
  order.preferred.empty() ? out.nothing() : out.text(order.preferred);
  out.end_object();
  return body;
}

void read_word(const tape_value& from, promotion_outcome& into) {
  constexpr std::array<std::pair<std::string_view, promotion_result>, 5> words{{{"accepted", promotion_result::accepted},
                                                                                {"already", promotion_result::already},
                                                                                {"rejected_pressure", promotion_result::rejected_pressure},
                                                                                {"unsupported", promotion_result::unsupported},
                                                                                {"failed", promotion_result::failed}}};
  into.reason = "the webhook's answer is not understood";
  if (!from.is(kind::string)) return;
  for (const auto& [word, meaning] : words) {
    if (from.text() != word) continue;
    into.what = meaning;
    into.reason = "the webhook says " + std::string(word);
  }
}

}  // namespace

asio::awaitable<std::vector<promotion_outcome>> webhook_executor::promote(const promotion_order& order,
                                                                          const promotion_progress& /*progress*/) {
  std::vector<promotion_outcome> outcomes(order.keys.size());
  const auto fail_all = [&outcomes](const std::string& why) {
    for (promotion_outcome& each : outcomes) each.reason = why;
  };
  const auto answer = co_await caller_.call("POST", {}, body_of(order), order.deadline);
  if (!answer || answer->status / 100 != 2) {
    fail_all(answer ? "the webhook answers " + std::to_string(answer->status) : answer.error().message());
    const bool is_pressed = answer && is_overload(answer->status);
    for (promotion_outcome& each : outcomes) each.what = is_pressed ? promotion_result::rejected_pressure : promotion_result::failed;
    co_return outcomes;
  }
  json_tree tree;
  const bool is_read = !tree.parse(answer->body) && tree.root().is(kind::map);
  const tape_value results = is_read ? find_member(tree.root(), "results") : tape_value();
  if (is_answer_to(results, outcomes.size())) {
    for (std::size_t i = 0; i < outcomes.size(); ++i) read_word(find_member(results, order.keys[i]), outcomes[i]);
  } else if (results.is(kind::array) && results.length() == outcomes.size() && !outcomes.empty()) {
    tape_value each = results.first();
    for (std::size_t i = 0;;) {
      read_word(each, outcomes[i]);
      if (++i == outcomes.size()) break;
      each = each.next();
    }
  } else {
    fail_all("the webhook's answer is not understood");
  }
  co_return outcomes;
}

}  // namespace kvc::net

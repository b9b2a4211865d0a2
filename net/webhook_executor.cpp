#include "net/webhook_executor.hpp"

#include <array>
#include <cstddef>
#include <span>
#include <string>
#include <string_view>
#include <utility>

#include "net/answer_writer.hpp"
#include "net/halving.hpp"
#include "net/json_tree.hpp"

namespace kvc::net {
namespace {

using kind = tape_value::kind;

std::string body_of(const promotion_order& order, const halving::part& some) {
  std::string body;
  answer_writer out(body, wire_form::json);
  out.object(4);
  out.member("operation", "promote");
  out.key("keys");
  out.list(some.size());
  for (std::size_t i = some.from; i < some.to; ++i) out.text(order.keys[i]);
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

/// What an answer says of each key that was asked for.
void read_answer(std::string_view text, const promotion_order& order, const halving::part& some, std::span<promotion_outcome> outcomes) {
  json_tree tree;
  const bool is_read = !tree.parse(text) && tree.root().is(kind::map);
  const tape_value results = is_read ? find_member(tree.root(), "results") : tape_value();
  if (is_answer_to(results, some.size())) {
    for (std::size_t i = some.from; i < some.to; ++i) read_word(find_member(results, order.keys[i]), outcomes[i]);
  } else if (results.is(kind::array) && results.length() == some.size()) {
    tape_value each = results.first();
    for (std::size_t i = some.from;;) {
      read_word(each, outcomes[i]);
      if (++i == some.to) break;
      each = each.next();
    }
  } else {
    for (std::size_t i = some.from; i < some.to; ++i) outcomes[i].reason = "the webhook's answer is not understood";
  }
}

}  // namespace

asio::awaitable<std::vector<promotion_outcome>> webhook_executor::promote(const promotion_order& order,
                                                                          const promotion_progress& /*progress*/) {
  std::vector<promotion_outcome> outcomes(order.keys.size());
  const auto fail = [&outcomes](const halving::part& some, promotion_result what, const std::string& why) {
    for (std::size_t i = some.from; i < some.to; ++i) {
      outcomes[i].what = what;
      outcomes[i].reason = why;
    }
  };
  halving parts(order.keys.size());
  while (const auto some = parts.next()) {
    const auto answer = co_await caller_.call("POST", {}, body_of(order, *some), order.deadline);
    if (answer && answer->status / 100 == 2) {
      parts.note_taken();
      read_answer(answer->body, order, *some, outcomes);
      continue;
    }
    if (answer && may_be_for_an_entry(answer->status) && parts.halve(*some)) continue;
    const bool is_pressed = answer && is_overload(answer->status);
    const promotion_result what = is_pressed ? promotion_result::rejected_pressure : promotion_result::failed;
    const std::string why = answer ? "the webhook answers " + std::to_string(answer->status) : answer.error().message();
    fail(*some, what, why);
    // Who has too much to do already is not asked for the rest, and nobody is by who has to leave.
    const bool is_over = is_pressed || (!answer && answer.error() == errc::cancelled);
    while (const auto other = is_over ? parts.next() : std::nullopt) fail(*other, what, why);
  }
  co_return outcomes;
}

}  // namespace kvc::net

#include "perf/sim_player.hpp"

#include <algorithm>
#include <utility>

#include <boost/asio/redirect_error.hpp>
#include <boost/asio/steady_timer.hpp>
#include <boost/asio/use_awaitable.hpp>

namespace kvc::sim {
namespace {

using clock = std::chrono::steady_clock;

// A free-running play outlives a hiccup of the conductor, but not a conductor that is gone.
constexpr std::uint64_t max_failures_in_a_row = 20;
// Long waits are cut in pieces so that the wish to stop is seen.
constexpr std::chrono::milliseconds longest_nap{100};

}  // namespace

player::player(asio::any_io_executor executor, const options& chosen, request_source& source, fleet& engines, const bool& is_stopping)
    : executor_(std::move(executor)),
      chosen_(chosen),
      source_(source),
      engines_(engines),
      is_stopping_(is_stopping),
      router_(chosen.routing, chosen.engines, chosen.ranks, chosen.load_weight, mix(chosen.seed + 1)),
      shadow_dice_(mix(chosen.seed + 2)),
      clients_(executor_) {
  shadow_.reserve(engines.size());
  for (std::size_t i = 0; i < engines.size(); ++i) shadow_.emplace_back(shape_of(chosen, i, 3));
}

void player::fail(std::string reason) {
  if (error_.empty()) error_ = std::move(reason);
}

bool player::take(turn& into) {
  if (is_stopping_ || !error_.empty()) return false;
  if (chosen_.requests != 0 && taken_ == chosen_.requests) return false;
  if (!source_.next(next_)) {
    if (!source_.error().empty()) fail(source_.error());
    return false;
  }
  make_turn(next_, taken_++, chosen_.block_size, into);
  return true;
}

asio::awaitable<void> player::wait_for_time_of(const turn& request) {
  if (chosen_.speed <= 0) co_return;
  const std::chrono::duration<double, std::milli> offset(static_cast<double>(request.timestamp_ms) / chosen_.speed);
  const auto due = started_ + std::chrono::duration_cast<clock::duration>(offset);
  asio::steady_timer timer(executor_);
  while (!is_stopping_ && clock::now() < due) {
    boost::system::error_code woken;
    timer.expires_at(std::min(due, clock::now() + longest_nap));
    co_await timer.async_wait(asio::redirect_error(asio::use_awaitable, woken));
  }
  const auto late = std::chrono::duration_cast<std::chrono::milliseconds>(clock::now() - due).count();
  lateness_ms_.add(late > 0 ? static_cast<std::uint64_t>(late) : 0);
}

asio::awaitable<bool> player::ask(client_state& self) {
  std::string body = query_body(chosen_, self.request.prompt());
  const auto asked = clock::now();
  const reply got = co_await self.server.ask(std::move(body));
  const auto took = std::chrono::duration_cast<std::chrono::microseconds>(clock::now() - asked).count();
  std::string wrong = got.error;
  if (wrong.empty()) wrong = self.reader.read(got.body, chosen_.wire);
  if (!wrong.empty()) {
    ++totals_.failed_queries;
    ++failures_in_a_row_;
    if (chosen_.strict || failures_in_a_row_ >= max_failures_in_a_row) fail(std::move(wrong));
    co_return false;
  }
  failures_in_a_row_ = 0;
  ++totals_.queries;
  totals_.latency_us.add(static_cast<std::uint64_t>(took));
  engines_.held(self.request, self.actual);
  compare(self.reader.rows(), self.actual, chosen_.block_size, self.request.number, totals_);
  co_return true;
}

void player::serve(client_state& self, bool is_answered) {
  const turn& request = self.request;
  const auto rank = router_.choose(request, is_answered ? &self.reader.rows() : nullptr);
  const auto done = engines_.serve(rank, request, totals_);
  const auto other = shadow_dice_.below(static_cast<std::uint32_t>(shadow_.size()));
  const auto shadow_done = shadow_[other].serve(request, nullptr);
  const auto shown = request.prompt().first(std::min(request.prompt_tokens, std::size_t{2} * chosen_.block_size));
  example_.assign(shown.begin(), shown.end());
  ++totals_.requests;
  totals_.prompt_tokens += request.prompt_tokens;
  totals_.saved_tokens += std::uint64_t{done.matched_blocks} * chosen_.block_size;
  totals_.saved_tokens_random += std::uint64_t{shadow_done.matched_blocks} * chosen_.block_size;
}

asio::awaitable<void> player::run_client() {
  client_state self(executor_, chosen_);
  while (take(self.request)) {
    co_await wait_for_time_of(self.request);
    if (chosen_.strict) {
      std::string wrong = co_await engines_.settle(self.server);
      if (!wrong.empty()) {
        fail("request " + std::to_string(self.request.number) + ": " + wrong);
        co_return;
      }
    }
    if (is_stopping_) co_return;
    const bool is_answered = co_await ask(self);
    if (!is_answered && chosen_.strict) co_return;
    serve(self, is_answered);
  }
}

asio::awaitable<void> player::play() {
  started_ = clock::now();
  const std::uint32_t count = chosen_.strict ? 1 : chosen_.clients;
  for (std::uint32_t i = 0; i < count; ++i) clients_.spawn("client " + std::to_string(i), run_client());
  // The clients end by themselves: every wait of theirs has a deadline.
  bool all_done = false;
  while (!all_done) all_done = co_await clients_.wait(std::chrono::seconds(60));
  if (clients_.failed() > 0) fail("a client ended with an exception; see the log line above");
}

}  // namespace kvc::sim

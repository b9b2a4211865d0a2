#include "net/shared_pages.hpp"

#include <utility>

#include <boost/asio/async_result.hpp>
#include <boost/asio/execution/outstanding_work.hpp>
#include <boost/asio/post.hpp>
#include <boost/asio/prefer.hpp>
#include <boost/asio/this_coro.hpp>
#include <boost/asio/use_awaitable.hpp>

namespace kvc::net {
namespace {

/// A page's body, and what it takes of the budget. Pages are large and few, so they are counted to the byte.
struct kept_body {
  kept_body(std::string of, std::shared_ptr<byte_budget> from) : text(std::move(of)), budget(std::move(from)) {
    is_free = text.size() <= budget_share::free_bytes;
    is_there = is_free || budget->take(text.size());
  }
  ~kept_body() {
    if (is_there && !is_free) budget->give_back(text.size());
  }
  kept_body(const kept_body&) = delete;
  kept_body& operator=(const kept_body&) = delete;

  const std::string text;
  const std::shared_ptr<byte_budget> budget;
  bool is_free = false;
  bool is_there = false;  ///< the budget allowed it
};

}  // namespace

void shared_pages::asker::tell(std::exception_ptr failure, page made) {
  asio::post(lane, [to = std::move(handler), why = std::move(failure), what = std::move(made)]() mutable {
    std::move(to)(std::move(why), std::move(what));
  });
}

asio::awaitable<std::optional<http_reply>> shared_pages::ask(std::string name, maker make) {
  asio::any_io_executor lane = asio::prefer(co_await asio::this_coro::executor, asio::execution::outstanding_work.tracked);
  auto wait = [&](auto handler) { join(name, std::move(make), asker{std::move(lane), std::move(handler)}); };
  const page made = co_await asio::async_initiate<const asio::use_awaitable_t<>, told>(std::move(wait), asio::use_awaitable);
  if (!made) co_return std::nullopt;
  co_return *made;  // the body is not copied
}

void shared_pages::join(const std::string& name, maker make, asker who) {
  std::unique_lock held(lock_);
  if (const auto found = queued_.find(name); found != queued_.end()) {
    found->second.askers.push_back(std::move(who));
    return;
  }
  if (queued_.size() >= most_queued) {
    held.unlock();
    return who.tell(nullptr, nullptr);
  }
  making& mine = queued_[name];
  try {
    mine.make = std::move(make);
    beside_.begin([this, name](bool is_refused) { carry_out(name, is_refused); });
    mine.askers.push_back(std::move(who));
  } catch (...) {
    if (mine.askers.empty()) queued_.erase(name);  // nobody would ever make it
    throw;
  }
}

void shared_pages::carry_out(const std::string& name, bool is_refused) {
  making mine;
  {
    const std::lock_guard held(lock_);
    if (auto found = queued_.extract(name)) mine = std::move(found.mapped());
  }
  if (mine.askers.empty()) return;
  std::exception_ptr failure;
  page made;
  try {
    if (is_refused) aside_thread::throw_closed();
    made = kept(mine.make());
  } catch (...) {
    failure = std::current_exception();
  }
  for (asker& each : mine.askers) each.tell(failure, made);
}

/// Nothing: too much is being written already.
shared_pages::page shared_pages::kept(http_reply made) {
  const auto body = std::make_shared<kept_body>(std::exchange(made.body, {}), kept_);
  if (!body->is_there) return nullptr;
  made.shared = std::shared_ptr<const std::string>(body, &body->text);
  return std::make_shared<const http_reply>(std::move(made));
}

}  // namespace kvc::net

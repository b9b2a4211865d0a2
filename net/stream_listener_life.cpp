// How a stream begins, begins again and ends, whatever is thrown meanwhile.
#include <algorithm>
#include <exception>
#include <memory>
#include <new>
#include <string>
#include <utility>
#include <vector>

#include <boost/asio/post.hpp>
#include <boost/asio/redirect_error.hpp>
#include <boost/asio/this_coro.hpp>
#include <boost/asio/use_awaitable.hpp>

#include "net/stand_still.hpp"
#include "net/stream_listener.hpp"

namespace kvc::net {
namespace {

/// Puts somebody on a list of the lane, once.
template <class As>
void list_in(std::vector<std::weak_ptr<As>>& those, const std::shared_ptr<As>& who) {
  const auto is_it = [&who](const std::weak_ptr<As>& each) { return !each.owner_before(who) && !who.owner_before(each); };
  if (std::ranges::none_of(those, is_it)) those.push_back(who);
}

}  // namespace

void stream_listener::start(const std::shared_ptr<stream_listener>& self) {
  const core::worker_key& worker = self->service_->registration.worker;
  self->lane_->tasks.spawn("stream " + worker.instance + "/" + std::to_string(worker.rank.get()), run(self));
}

asio::awaitable<void> stream_listener::run(std::shared_ptr<stream_listener> self) {
  // Cancellation is looked at between batches, so that a batch which was begun is finished.
  co_await asio::this_coro::reset_cancellation_state(asio::enable_total_cancellation());
  co_await asio::this_coro::throw_if_cancelled(false);
  self->self_ = self;
  // Whoever shuts the stream down waits for its end, so it has one however this is left.
  struct ending {
    explicit ending(stream_listener& of) : whose(&of) {}
    ending(const ending&) = delete;
    ending& operator=(const ending&) = delete;
    ~ending() {
      whose->end();
      if (!is_over) whose->take_up_again();
    }
    stream_listener* whose;
    bool is_over = false;
  };
  ending at_any_rate(*self);
  while (!at_any_rate.is_over) {
    try {
      co_await self->listen_on();
      at_any_rate.is_over = true;
    } catch (const std::exception& failed) {  // there is not even the memory to begin
      self->news_.has_failed(failed.what());
      stand_still();
    }
  }
}

void stream_listener::end() noexcept {
  news_call_.reset();
  socket_.reset();
  burst_.reset();
  replay_.reset();
  replay_pass_.reset();
  has_ended_ = true;
  ended_.cancel();
}

/// Asio drops a coroutine whose next operation finds no memory to begin, and tells nobody but its owner (see task_scope): the stream would
/// stay listed in the state it had, and its blocks in every answer, with nobody to hear that they are gone.
void stream_listener::take_up_again() noexcept {
  if (stopping_ || lane_->context.stopped()) return;
  news_.has_failed("dropped, for want of memory");
  failed_beside_ = "it was dropped";  // whatever it was doing may be half done
  start_later();
}

void stream_listener::start_later() noexcept {
  asio::post(lane_->context, placed_handler{start_place_, [self = self_.lock()] {
                                              if (self->stopping_ || self->lane_->tasks.is_leaving()) return;
                                              try {
                                                self->has_ended_ = false;
                                                start(self);
                                              } catch (const std::exception& failed) {
                                                self->has_ended_ = true;
                                                self->news_.has_failed(failed.what());
                                                stand_still();
                                                self->start_later();
                                              }
                                            }});
}

asio::awaitable<void> stream_listener::shut_down(std::shared_ptr<stream_listener> self) {
  self->stopping_ = true;
  self->lookup_.cancel();
  self->pause_.cancel();
  self->asking_.leave();
  if (self->socket_) self->socket_->close();
  if (self->replay_) self->replay_->close();
  // Whatever memory is wanting: it is not listed any more, and nobody else would ever take away what it has left.
  for (bool is_gone = false; !is_gone;) {
    try {
      co_await self->let_go();
      is_gone = true;
    } catch (const std::bad_alloc& failed) {
      self->news_.has_failed(failed.what());
      stand_still();
    }
  }
}

asio::awaitable<void> stream_listener::let_go() {
  sink_.leave();
  news_.stop(machine_);
  while (!has_ended_) {
    boost::system::error_code woken;
    co_await ended_.async_wait(asio::redirect_error(asio::use_awaitable, woken));
  }
  sink_.leave();  // the batch that was being applied may have opened further partitions
  sink_.detach();
  co_await sink_.drop_all();
}

void stream_listener::make_known() {
  const std::shared_ptr<stream_listener> self = self_.lock();
  sink_.attach(self);
  if (!sink_.is_pool()) {
    std::erase_if(lane_->name_sources, [](const auto& each) { return each.expired(); });
    list_in<name_source>(lane_->name_sources, self);
  } else if (!news_call_) {
    news_call_ = std::make_shared<std::function<void()>>([this] { beside([this] { catch_up(); }); });
    sink_.call_on_news(news_call_);
  }
  if (settings_->index_budget != 0) list_in<evictable>(lane_->evictables, self);
}

asio::awaitable<void> stream_listener::listen_on() {
  for (;;) {
    const auto begun = clock::now();
    try {
      make_known();
      co_await listen();
      co_return;
    } catch (const std::exception& failed) {
      news_.has_failed(failed.what());
    }
    lose_transport();
    // What was wanting may be wanting for this as well. What is not done of it is what `listen` begins with.
    try {
      co_await begin_again(clock::now() - begun);
    } catch (const std::exception& failed) {
      news_.has_failed(failed.what());
      stand_still();
    }
    if (stopping_) co_return;  // whoever shuts the stream down drops what is held, and has said the last of it
  }
}

asio::awaitable<void> stream_listener::begin_again(clock::duration lasted) {
  machine_.on_failure();
  if (stopping_) co_return;
  co_await forget();  // before the rest, since nobody may see meanwhile what cannot be trusted
  if (stopping_) co_return;
  news_.show(machine_);
  co_await rest(failures_.next(lasted));  // not at once: what was wanting may still be
}

}  // namespace kvc::net

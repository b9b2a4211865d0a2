#include "net/lasting_task.hpp"

#include <exception>
#include <memory>
#include <new>
#include <utility>

#include <boost/asio/cancellation_state.hpp>
#include <boost/asio/post.hpp>
#include <boost/asio/this_coro.hpp>

#include "net/handler_place.hpp"
#include "net/stand_still.hpp"

namespace kvc::net {
namespace {

/// One such task. Kept by its coroutine, and by the handler that makes the next one.
class lasting_task : public std::enable_shared_from_this<lasting_task> {
 public:
  lasting_task(lane& home, std::string name, std::function<boost::asio::awaitable<void>()> make)
      : home_(&home), name_(std::move(name)), make_(std::move(make)) {}

  void begin() { home_->tasks.spawn(name_, run(shared_from_this())); }

 private:
  static boost::asio::awaitable<void> run(std::shared_ptr<lasting_task> self) {
    co_await boost::asio::this_coro::reset_cancellation_state(boost::asio::enable_total_cancellation());
    co_await boost::asio::this_coro::throw_if_cancelled(false);
    struct life {
      explicit life(lasting_task& of) : whose(&of) {}
      ~life() {
        if (!is_over) whose->begin_later();
      }
      life(const life&) = delete;
      life& operator=(const life&) = delete;
      lasting_task* whose;
      bool is_over = false;
    };
    life whole(*self);
    while (!whole.is_over) {
      try {
        co_await self->make_();
        whole.is_over = true;
      } catch (const std::bad_alloc&) {
        stand_still();
      } catch (...) {
        whole.is_over = true;
        throw;
      }
    }
  }

  void begin_later() noexcept {
    if (home_->context.stopped()) return;
    boost::asio::post(home_->context, placed_handler{place_, [self = shared_from_this()] {
                                                       if (self->home_->tasks.is_leaving()) return;
                                                       try {
                                                         self->begin();
                                                       } catch (const std::exception&) {
                                                         stand_still();
                                                         self->begin_later();
                                                       }
                                                     }});
  }

  lane* home_;
  const std::string name_;
  const std::function<boost::asio::awaitable<void>()> make_;
  const std::shared_ptr<handler_place> place_ = std::make_shared<handler_place>();
};

}  // namespace

void spawn_lasting(lane& home, std::string name, std::function<boost::asio::awaitable<void>()> make) {
  std::make_shared<lasting_task>(home, std::move(name), std::move(make))->begin();
}

}  // namespace kvc::net

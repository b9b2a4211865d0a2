#include "net/name_lookup.hpp"

#include <mutex>
#include <optional>

#include <boost/asio/execution_context.hpp>
#include <boost/asio/post.hpp>
#include <boost/asio/redirect_error.hpp>
#include <boost/asio/steady_timer.hpp>
#include <boost/asio/use_awaitable.hpp>

namespace kvc::net {
namespace {

/// The way from the threads of a `name_service` to a lane. It closes when the lane's context begins to be destroyed: nothing may be posted
/// there from then on.
class way_home final : public asio::execution_context::service {
 public:
  using key_type = way_home;
  struct door {
    std::mutex guard;
    bool is_open = true;
  };

  explicit way_home(asio::execution_context& owner) : service(owner) {}
  [[nodiscard]] const std::shared_ptr<door>& entrance() const noexcept { return door_; }

 private:
  void shutdown() override {
    const std::lock_guard holding(door_->guard);
    door_->is_open = false;
  }

  std::shared_ptr<door> door_ = std::make_shared<door>();
};

}  // namespace

/// Lives on its lane only, where answers find it unless it has been given up.
struct name_lookup::question {
  explicit question(const asio::any_io_executor& executor) : is_over(executor) {}

  asio::steady_timer is_over;
  std::optional<name_service::answer> answer;
  bool is_cancelled = false;
};

asio::awaitable<result<std::vector<asio::ip::address>>> name_lookup::find(std::string host,
                                                                          std::chrono::steady_clock::time_point deadline) {
  boost::system::error_code is_name;
  const auto address = asio::ip::make_address(host, is_name);
  if (!is_name) co_return name_service::addresses{address};
  if (std::chrono::steady_clock::now() >= deadline) co_return error_code(errc::timed_out);

  const auto asked = std::make_shared<question>(executor_);
  pending_ = asked;
  asked->is_over.expires_at(deadline);
  asio::execution_context& context = asio::query(executor_, asio::execution::context);
  const auto tell = [door = asio::use_service<way_home>(context).entrance(), home = executor_,
                     who = std::weak_ptr<question>(asked)](const name_service::answer& found) {
    const std::lock_guard holding(door->guard);
    if (!door->is_open) return;
    asio::post(home, [who, found] {
      const auto waiting = who.lock();
      if (!waiting) return;
      waiting->answer.emplace(found);
      waiting->is_over.cancel();
    });
  };
  const error_code refused = names_->ask(host, asked, tell);
  boost::system::error_code woken;
  if (!refused) co_await asked->is_over.async_wait(asio::redirect_error(asio::use_awaitable, woken));
  pending_.reset();
  if (refused) co_return refused;
  if (asked->is_cancelled) co_return error_code(errc::cancelled);
  if (!asked->answer) co_return error_code(woken ? errc::cancelled : errc::timed_out);
  co_return std::move(*asked->answer);
}

void name_lookup::cancel() noexcept {
  if (!pending_) return;
  pending_->is_cancelled = true;
  pending_->is_over.cancel();
}

}  // namespace kvc::net

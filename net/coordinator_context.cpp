#include "net/coordinator_context.hpp"

#include <boost/asio/post.hpp>

namespace kvc::net {

asio::awaitable<void> yield_home(coordinator_context& context) {
  co_await asio::post(context.home.context, asio::use_awaitable);
}

}  // namespace kvc::net

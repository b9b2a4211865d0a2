#include "net/home_listing.hpp"

#include <utility>

#include "net/coordinator_reply.hpp"
#include "net/http_reply.hpp"

namespace kvc::net {

asio::awaitable<http_body::progress> home_listing::next(lane& here, std::string& into) {
  if (!first_.empty()) {
    into = std::exchange(first_, {});
    co_return progress::piece;
  }
  const bool is_done = co_await on_home(context_, here, [&] { return write_some(into, piece_bytes); });
  co_return is_done ? progress::last : progress::piece;
}

asio::awaitable<http_reply> listing_reply(coordinator_context& context, lane& here, std::shared_ptr<home_listing> list) {
  std::string body;
  const bool is_done = co_await on_home(context, here, [&] { return list->write_some(body, home_listing::longest_whole); });
  if (is_done) co_return json_reply(std::move(body));
  list->first_ = std::move(body);
  co_return stream_reply(std::move(list), wire_form::json);
}

}  // namespace kvc::net

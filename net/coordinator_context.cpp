#include "net/coordinator_context.hpp"

#include <utility>

#include <boost/asio/post.hpp>

namespace kvc::net {
namespace {

constexpr std::size_t most_in_a_turn = std::size_t{256} << 10;  ///< some milliseconds of the most wicked JSON

}  // namespace

asio::awaitable<bool> read_server_json(coordinator_context& context, json_tree& into, std::string_view text) {
  if (text.size() <= most_in_a_turn) co_return !into.parse(text).has_value();
  const bool is_json = co_await context.aside.run([&] { return !into.parse(text).has_value(); });
  co_return is_json;
}

void drop_tree(coordinator_context& context, std::unique_ptr<json_tree> gone, std::size_t text_bytes) {
  if (text_bytes > most_in_a_turn) context.aside.drop(std::move(gone));
}

asio::awaitable<void> yield_home(coordinator_context& context) {
  co_await asio::post(context.home.context, asio::use_awaitable);
}

}  // namespace kvc::net

// Long listings of the coordinator, written down on its home lane in turns and sent in pieces.
#pragma once

#include <cstddef>
#include <memory>
#include <string>

#include <boost/asio/awaitable.hpp>

#include "net/coordinator_context.hpp"
#include "net/http_body.hpp"
#include "net/http_message.hpp"

namespace kvc::net {

/// A JSON document of any length about the tables. Whoever makes a piece of it keeps it.
///
/// What nobody has taken yet is never more than a piece, however many ask and however slowly they read. Lane: `write_some` on the home
/// lane, `next` on any.
class home_listing : public http_body {
 public:
  static constexpr std::size_t longest_whole = std::size_t{1} << 20;    ///< bytes of a document sent whole, with its length
  static constexpr std::size_t piece_bytes = std::size_t{256} << 10;    ///< of a longer one
  static constexpr std::size_t bytes_per_turn = std::size_t{64} << 10;  ///< some 0.2 ms

  explicit home_listing(coordinator_context& context) : context_(context) {}

  /// Puts the next part into `into`, which is empty, until it has some `bytes` or the document has ended. True: it has. Gives others a turn
  /// after every `bytes_per_turn`; what is told is as it is when its turn comes.
  [[nodiscard]] virtual asio::awaitable<bool> write_some(std::string& into, std::size_t bytes) = 0;

  [[nodiscard]] asio::awaitable<progress> next(lane& here, std::string& into) final;

 protected:
  [[nodiscard]] coordinator_context& context() const noexcept { return context_; }

 private:
  friend asio::awaitable<http_reply> listing_reply(coordinator_context& context, lane& here, std::shared_ptr<home_listing> list);

  coordinator_context& context_;
  std::string first_;  ///< what `next` will tell first
};

/// The reply that has this document: whole if it is short, else made while it is sent. On any lane, `here`.
[[nodiscard]] asio::awaitable<http_reply> listing_reply(coordinator_context& context, lane& here, std::shared_ptr<home_listing> list);

}  // namespace kvc::net

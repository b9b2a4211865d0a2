// One batch of events at a time from each sender.
#pragma once

#include <list>
#include <memory>
#include <string>
#include <unordered_map>
#include <utility>

#include <boost/asio/any_io_executor.hpp>
#include <boost/asio/awaitable.hpp>

#include "core/text_spread.hpp"

namespace kvc::net {

namespace asio = boost::asio;

/// Lets the batches of a sender be applied one after the other, in the order they were read: a batch of more than 256 KiB is read beside
/// the lanes, and may be overtaken there by what its sender sends on another connection before the answer has come.
///
/// Problem: a long batch is applied in slices, and what its sender tells next could be applied between two of them, before the rest of what
/// it told first. Bound: by who waits, which are requests whose bodies have a budget. Lane: one. Turns may outlive it.
class sender_turns {
  struct place;
  /// Senders whose turn is taken, and who waits for it.
  using lines = std::unordered_map<std::string, std::list<std::shared_ptr<place>>, core::text_spread>;

 public:
  explicit sender_turns(asio::any_io_executor executor) : executor_(std::move(executor)) {}
  sender_turns(const sender_turns&) = delete;
  sender_turns& operator=(const sender_turns&) = delete;

  /// A sender's turn, which lasts as long as this.
  class turn {
   public:
    turn(turn&&) noexcept = default;
    turn& operator=(turn&&) = delete;
    ~turn() {
      if (mine_) leave(*from_, sender_, mine_);
    }

   private:
    friend class sender_turns;
    turn(std::shared_ptr<lines> from, std::string sender, std::shared_ptr<place> mine)
        : from_(std::move(from)), sender_(std::move(sender)), mine_(std::move(mine)) {}
    std::shared_ptr<lines> from_;
    std::string sender_;
    std::shared_ptr<place> mine_;
  };

  /// Whether anybody has a turn.
  [[nodiscard]] bool are_taken() const noexcept { return !busy_->empty(); }
  /// Completes when nobody else has the sender's turn. Deadline: none is needed, every turn ends by itself.
  [[nodiscard]] asio::awaitable<turn> take(std::string sender);

 private:
  static void leave(lines& all, const std::string& sender, const std::shared_ptr<place>& gone);

  asio::any_io_executor executor_;
  std::shared_ptr<lines> busy_ = std::make_shared<lines>();
};

}  // namespace kvc::net

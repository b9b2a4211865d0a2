// POST /query_batch: many queries answered in turns, and what gets long while it is sent.
#pragma once

#include <cstddef>
#include <string>

#include <boost/asio/awaitable.hpp>

#include "net/answer_writer.hpp"
#include "net/api_context.hpp"
#include "net/api_query.hpp"
#include "net/http_body.hpp"
#include "net/refusal.hpp"
#include "net/request_document.hpp"

namespace kvc::net {

/// The answers of one request, in the order of its queries.
///
/// Problem: a few thousand short queries about a large fleet have an answer of some hundred megabytes. Story: what is longer than
/// `longest_whole` is not kept: the rest is answered when the client has taken what came before, and not at all when it has left. Other
/// requests of the lane are answered between the turns, so nothing here is shared with them. Use: `read`, `write_some`, and, when that has
/// not come to the end, `begin_with` what it wrote, to be sent as a body. Lane: one; the context outlives it.
class batch_answer final : public http_body {
 public:
  static constexpr std::size_t longest_whole = 1U << 20;  ///< bytes that are sent in one piece, with their length

  /// `body`: of the request; kept, since what is read from it refers to it. `prefetch_denied`: why the client may not have objects moved.
  batch_answer(const api_context& context, std::string body, wire_form answer_form, checked prefetch_denied);

  [[nodiscard]] checked read(wire_form body_form);
  /// Puts answers behind `into`, which is empty, until it has some `bytes`. True: there are no more.
  [[nodiscard]] asio::awaitable<bool> write_some(lane& here, std::string& into, std::size_t bytes);
  /// What `next` will tell first.
  void begin_with(std::string first) { first_ = std::move(first); }

  [[nodiscard]] asio::awaitable<progress> next(lane& here, std::string& into) override;

 private:
  [[nodiscard]] asio::awaitable<void> answer_one(lane& here);

  const api_context& context_;
  std::string body_;
  checked prefetch_denied_;
  request_document document_;
  query_scratch scratch_;
  std::string text_;  ///< what `out_` writes into
  answer_writer out_;
  std::string first_;
  std::size_t at_ = 0;  ///< the query to be answered next
};

}  // namespace kvc::net

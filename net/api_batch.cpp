#include "net/api_batch.hpp"

#include <chrono>
#include <utility>
#include <vector>

#include <boost/asio/post.hpp>
#include <boost/asio/use_awaitable.hpp>

#include "net/api_types.hpp"
#include "net/http_reply.hpp"
#include "net/long_prompt.hpp"
#include "net/named_prompt.hpp"
#include "net/query_prefetch.hpp"

namespace kvc::net {
namespace {

using steady = std::chrono::steady_clock;

constexpr std::size_t piece_bytes = 256U << 10;
constexpr std::size_t queries_per_turn = 16;          ///< before other work of the lane gets a turn
constexpr std::chrono::milliseconds longest_turn{1};  ///< the same, where queries are long or the fleet is large

}  // namespace

batch_answer::batch_answer(const api_context& context, std::string body, wire_form answer_form, checked prefetch_denied)
    : context_(context), body_(std::move(body)), prefetch_denied_(std::move(prefetch_denied)), out_(text_, answer_form) {}

checked batch_answer::read(wire_form body_form) {
  return document_.read(body_, body_form, request_document::shape::batch);
}

asio::awaitable<void> batch_answer::answer_one(lane& here) {
  query_request query;
  std::vector<core::seq_hash> blocks;
  std::vector<core::local_hash> locals;
  checked wrong = read_query(document_, document_.items()[at_], query_kind::either, query);
  if (!wrong && query.prefetch) wrong = prefetch_denied_;
  if (!wrong && query.by_names) wrong = co_await find_named_blocks(here, query, blocks);
  if (wrong) {
    write_refusal(out_, *wrong);
    co_return;
  }
  co_await hash_in_turns(here, query, locals);
  const query_source source{here.partitions.get(), context_.media, here.counters, steady::now()};
  answer_query(query, source, scratch_, out_);
  if (query.prefetch) prefetch_behind(context_.prefetches, here, query, source, scratch_);
  read_again_behind(context_.prefetches, here, query, source, scratch_);
}

asio::awaitable<bool> batch_answer::write_some(lane& here, std::string& into, std::size_t bytes) {
  const std::size_t all = document_.items().size();
  if (at_ == 0) {
    out_.object(1);
    out_.key("results");
    out_.list(all);
  }
  auto begun = steady::now();
  std::size_t in_turn = 0;
  for (; at_ < all && text_.size() < bytes; ++at_) {
    if (++in_turn > queries_per_turn || steady::now() - begun > longest_turn) {
      in_turn = 1;
      co_await asio::post(here.context, asio::use_awaitable);
      begun = steady::now();
    }
    co_await answer_one(here);
  }
  const bool is_done = at_ == all;
  if (is_done) {
    out_.end_list();
    out_.end_object();
  }
  into = std::exchange(text_, {});
  co_return is_done;
}

asio::awaitable<http_body::progress> batch_answer::next(lane& here, std::string& into) {
  if (!first_.empty()) {
    into = std::exchange(first_, {});
    co_return progress::piece;
  }
  co_return co_await write_some(here, into, piece_bytes) ? progress::last : progress::piece;
}

}  // namespace kvc::net

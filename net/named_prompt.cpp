#include "net/named_prompt.hpp"

#include <algorithm>
#include <atomic>
#include <cstddef>
#include <memory>
#include <span>
#include <utility>

#include <boost/asio/post.hpp>
#include <boost/asio/redirect_error.hpp>
#include <boost/asio/steady_timer.hpp>
#include <boost/asio/use_awaitable.hpp>

#include "core/catalog.hpp"
#include "net/name_source.hpp"

namespace kvc::net {
namespace {

constexpr std::size_t names_per_turn = 2'048;  ///< of a lane, before its other work
/// Prompts that nobody waits for any more and a lane still has to look up, however many clients ask again: enough to know that it stands.
constexpr std::size_t most_given_up = 256;

std::atomic<std::size_t>& given_up() {
  static std::atomic<std::size_t> count{0};
  return count;
}

/// One prompt on its way along the lanes. Each writes its own answer; all but those is the asker's.
struct prompt_question {
  std::shared_ptr<const core::partition> home;
  std::vector<core::engine_hash> names;
  std::vector<std::vector<core::seq_hash>> answers;  ///< by lane
  lane* asker = nullptr;
  std::size_t open = 0;                ///< answers to come
  asio::steady_timer* bell = nullptr;  ///< of who waits; null: nobody does
  bool is_given_up = false;            ///< and counted as that

  prompt_question() = default;
  prompt_question(const prompt_question&) = delete;
  prompt_question& operator=(const prompt_question&) = delete;
  ~prompt_question() {
    if (is_given_up) given_up().fetch_sub(1, std::memory_order_relaxed);
  }
  /// Its asker has gone.
  void leave() noexcept {
    bell = nullptr;
    if (open == 0) return;
    is_given_up = true;
    given_up().fetch_add(1, std::memory_order_relaxed);
  }
};

refusal not_told_in_time() {
  return {refusal_kind::overloaded, "a lane did not tell in time which blocks the hashes mean; try again"};
}

/// Goes on along the prompt with what the engines of a lane and the board know, for a turn. True when they know no more.
bool follow_some(lane& there, const prompt_question& asked, std::vector<core::seq_hash>& blocks) {
  std::size_t budget = names_per_turn;
  for (const std::weak_ptr<name_source>& each : there.name_sources) {
    if (budget == 0 || blocks.size() == asked.names.size()) break;
    if (const auto alive = each.lock()) alive->follow(*asked.home, asked.names, blocks, budget);
  }
  // Where no engine is left to go on with what one has told: those that are there have looked at it already.
  for (; budget != 0 && blocks.size() < asked.names.size(); --budget) {
    const auto told = asked.home->told_block(asked.names[blocks.size()]);
    if (!told) break;
    blocks.push_back(*told);
  }
  return budget != 0 || blocks.size() == asked.names.size();
}

/// The turns of one lane, on that lane.
void follow(lane& there, const std::shared_ptr<prompt_question>& asked) {
  if (!follow_some(there, *asked, asked->answers[there.index()])) {
    asio::post(there.context, [&there, asked] { follow(there, asked); });
    return;
  }
  asio::post(asked->asker->context, [asked] {
    if (--asked->open == 0 && asked->bell != nullptr) asked->bell->cancel();
  });
}

/// As far as the longest answer goes, and no other contradicts it.
std::vector<core::seq_hash> joined(std::vector<std::vector<core::seq_hash>>& answers) {
  const auto longest = std::ranges::max_element(answers, {}, [](const auto& each) { return each.size(); });
  std::vector<core::seq_hash> blocks = std::exchange(*longest, {});
  for (const auto& other : answers) {
    const std::size_t both = std::min(other.size(), blocks.size());
    const auto differs = std::mismatch(other.begin(), other.begin() + static_cast<std::ptrdiff_t>(both), blocks.begin()).second;
    if (differs != blocks.begin() + static_cast<std::ptrdiff_t>(both)) blocks.erase(differs, blocks.end());
  }
  return blocks;
}

}  // namespace

asio::awaitable<checked> find_named_blocks(lane& here, query_request& query, std::vector<core::seq_hash>& blocks,
                                           std::chrono::steady_clock::duration patience) {
  blocks.clear();
  const std::span<const core::seq_hash> asked_for = std::exchange(query.hashes, {});
  const core::partition_view* const found = here.partitions.get().find(query.partition);
  if (found == nullptr || asked_for.empty()) co_return std::nullopt;
  if (given_up().load(std::memory_order_relaxed) >= most_given_up) co_return not_told_in_time();

  const auto asked = std::make_shared<prompt_question>();
  asked->home = found->partition;
  asked->names.reserve(asked_for.size());
  for (const core::seq_hash name : asked_for) asked->names.emplace_back(name.get());
  runtime& all = *here.whole;
  asked->answers.resize(all.size());
  asked->asker = &here;
  asked->open = all.size();
  asio::steady_timer bell(here.context, patience);
  asked->bell = &bell;
  const std::unique_ptr<prompt_question, void (*)(prompt_question*)> waiting(asked.get(), [](prompt_question* of) { of->leave(); });
  for (std::size_t i = 0; i < all.size(); ++i) {
    lane& there = all.at(i);
    asio::post(there.context, [&there, asked] { follow(there, asked); });
  }
  boost::system::error_code rung;
  co_await bell.async_wait(asio::redirect_error(asio::use_awaitable, rung));
  if (asked->open != 0) co_return not_told_in_time();
  blocks = joined(asked->answers);
  query.hashes = blocks;
  query.unknown_names = asked->names.size() - blocks.size();
  co_return std::nullopt;
}

}  // namespace kvc::net

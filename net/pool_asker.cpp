#include "net/pool_asker.hpp"

#include <utility>
#include <vector>

#include <boost/asio/post.hpp>

#include "net/name_source.hpp"

namespace kvc::net {
namespace {

/// On the lane that is asked.
void answer_all(lane& asked, const core::name_question& what) {
  std::erase_if(asked.name_sources, [&](const std::weak_ptr<name_source>& each) {
    const auto alive = each.lock();
    if (alive) alive->answer(what);
    return !alive;
  });
}

/// A question on its way to a lane, which ends with this.
class errand {
 public:
  explicit errand(std::shared_ptr<std::atomic<std::size_t>> under_way) : under_way_(std::move(under_way)) {
    under_way_->fetch_add(1, std::memory_order_relaxed);
  }
  ~errand() {
    if (under_way_) under_way_->fetch_sub(1, std::memory_order_relaxed);
  }
  errand(errand&& other) noexcept = default;
  errand& operator=(errand&&) = delete;
  errand(const errand&) = delete;
  errand& operator=(const errand&) = delete;

 private:
  std::shared_ptr<std::atomic<std::size_t>> under_way_;
};

}  // namespace

void pool_asker::ask(core::event_applier& from) {
  if (!from.is_pool()) return;
  runtime& all = *lane_->whole;
  std::vector<core::name_question> questions;
  bool is_more = true;
  while (is_more && under_way_->load(std::memory_order_relaxed) < most_under_way) {
    questions.clear();
    is_more = from.take_questions(questions, names_at_once);
    for (core::name_question& each : questions) {
      const auto shared = std::make_shared<const core::name_question>(std::move(each));
      for (std::size_t i = 0; i < all.size(); ++i) {
        lane& asked = all.at(i);
        asio::post(asked.context, [&asked, shared, until_answered = errand(under_way_)] { answer_all(asked, *shared); });
      }
    }
  }
}

}  // namespace kvc::net

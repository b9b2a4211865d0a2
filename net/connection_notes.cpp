#include "net/connection_notes.hpp"

#include <algorithm>

namespace kvc::net {
namespace {

/// Another try is reported right behind the end; this is how long one may look between the two.
constexpr std::chrono::seconds patience{1};

}  // namespace

void connection_notes::note(notice what, std::int32_t number, time_point now) {
  if (what != notice::ended) ended_at_.reset();
  if (what == notice::begun) {
    standing_.push_back({number, false});
  } else if (what == notice::agreed) {
    const auto newest = std::find_if(standing_.rbegin(), standing_.rend(), [](const known& each) { return !each.has_agreed; });
    if (newest == standing_.rend()) return;
    newest->has_agreed = true;
    ++connects_;
    ++open_;
  } else if (what == notice::ended) {
    ended_at_ = now;
    const auto found = std::ranges::find(standing_, number, &known::number);
    if (found == standing_.end()) return;
    if (found->has_agreed) {
      ++disconnects_;
      --open_;
    }
    standing_.erase(found);
  }
}

bool connection_notes::has_given_up(time_point now) const noexcept {
  return standing_.empty() && ended_at_ && now - *ended_at_ >= patience;
}

}  // namespace kvc::net

#include "net/connection_notes.hpp"

#include <algorithm>
#include <cstddef>

namespace kvc::net {
namespace {

/// Another try is reported right behind the end; this is how long one may look between the two.
constexpr std::chrono::seconds patience{1};

}  // namespace

void connection_notes::note(notice what, std::int32_t number, time_point now) {
  if (what != notice::ended) ended_at_.reset();
  if (what == notice::begun) {
    standing_.push_back({number, handshake::none});
  } else if (what == notice::agreed) {
    std::uint64_t candidates = 0;
    for (known& each : standing_) {
      if (each.agreed == handshake::done) continue;
      each.agreed = handshake::perhaps;
      ++candidates;
    }
    if (candidates == 0) return;
    ++connects_;
    ++open_;
    ++unsure_;
    settle();
  } else if (what == notice::ended) {
    ended_at_ = now;
    const auto found = std::ranges::find(standing_, number, &known::number);
    if (found == standing_.end()) return;
    if (found->agreed == handshake::done) {
      ++disconnects_;
      --open_;
    }
    standing_.erase(found);
    settle();
  }
}

/// As many handshakes as there are connections that may have had one: then each of them has.
void connection_notes::settle() {
  const auto perhaps = [](const known& each) { return each.agreed == handshake::perhaps; };
  if (unsure_ == 0 || std::ranges::count_if(standing_, perhaps) != static_cast<std::ptrdiff_t>(unsure_)) return;
  for (known& each : standing_) {
    if (perhaps(each)) each.agreed = handshake::done;
  }
  unsure_ = 0;
}

bool connection_notes::has_given_up(time_point now) const noexcept {
  return standing_.empty() && ended_at_ && now - *ended_at_ >= patience;
}

}  // namespace kvc::net

// What is told of a stream whose machine hears anything in any order: one line for each change of its state and for each fact, and the same
// figures in its status, on its lane and in the lines.
//
// KVC_NEWS_SEED sets the first life, KVC_NEWS_SEEDS how many there are.
#include "net/stream_news.hpp"

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <random>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include <boost/test/unit_test.hpp>

#include "core/counters.hpp"
#include "core/stream_fsm.hpp"
#include "tests/support/net/heard_log.hpp"
#include "tests/support/setting.hpp"

BOOST_AUTO_TEST_SUITE(stream_news_lives)

namespace {

using namespace kvc;
using namespace std::chrono_literals;
using core::seqno;
using core::stream_fsm;
using core::stream_state;
using step = stream_fsm::step;

core::stream_rules rules_of(std::uint64_t seed) {
  core::stream_rules chosen;
  chosen.has_replay = seed % 4 != 0;
  chosen.replay.attempts = 2;
  chosen.evict_after = seed % 3 == 0 ? 40s : 0s;
  chosen.after_loss = seed % 5 == 0 ? core::loss_policy::keep : core::loss_policy::drop;
  return chosen;
}

class stage {
 public:
  explicit stage(std::uint64_t seed) : random_(seed), machine_(rules_of(seed), now_) {
    info_.registration.worker.instance = "a";
    info_.generation = core::generation{7};
    info_.status = std::make_shared<core::stream_status>();
    info_.status->generation = 7;
  }

  /// Until it has said nearly as much as it may say at once.
  void play() {
    for (int i = 0; i < 400 && log_.lines().size() + 8 < net::line_budget::at_once; ++i) {
      now_ += std::chrono::milliseconds(random_() % (chance(20) ? 60'000 : 300));
      const step next = machine_.next();
      if (chance(6) && next != step::apply_live && next != step::apply_reply) connection();
      if (chance(80)) {
        machine_.on_failure();
      } else {
        do_next();
      }
      news_.show(machine_);
      (void)machine_.take_wants_fresh_transport();
      check();
    }
    BOOST_TEST(!news_.has_kept_back());
    news_.stop(machine_);
    news_.stop(machine_);
    BOOST_TEST((info_.status->state.load() == stream_state::stopped));
    check_lines();
  }
  [[nodiscard]] std::size_t lines() const { return log_.lines().size(); }
  [[nodiscard]] const core::stream_totals& totals() const { return machine_.so_far(); }

 private:
  bool chance(std::uint64_t one_in) { return random_() % one_in == 0; }

  /// A batch of this life of the publisher, or of a stranger.
  std::span<const std::byte> bytes_of(std::string& kept, std::uint64_t number) {
    kept = std::to_string(number) + (chance(30) ? " of somebody" : " of life " + std::to_string(life_));
    return std::as_bytes(std::span(kept));
  }
  void connection() {
    const bool was_connected = seen_.connected;
    if (was_connected) {
      ++seen_.disconnects;
      seen_.connected = chance(3);
    } else {
      seen_.connected = true;
    }
    ++changes_of_connection_;
    news_.note_connection(seen_);
    news_.note_connection(seen_);  // looked at again, it is no news
    machine_.on_connection(seen_.connected, seen_.disconnects, now_);
  }
  void do_next() {
    switch (machine_.next()) {
      case step::listen:
        if (chance(3)) return machine_.on_quiet(now_);
        if (chance(25)) {
          ++life_;
          next_ = 0;
        }
        if (chance(6)) next_ += random_() % 4;
        if (chance(12) && next_ != 0) --next_;
        machine_.on_live(seqno{next_}, bytes_of(live_, next_), now_);
        ++next_;
        return;
      case step::request: asked_ = machine_.request_from().get(); return machine_.on_requested(!chance(8), now_);
      case step::read_reply:
        if (chance(6) || asked_ >= next_) return chance(2) ? machine_.on_reply_end(now_) : machine_.on_reply_silence(now_);
        if (chance(8)) return machine_.on_reply_noise(now_);
        if (chance(5)) ++asked_;
        machine_.on_reply(seqno{asked_}, bytes_of(reply_, asked_), now_);
        ++asked_;
        return;
      case step::apply_live:
      case step::apply_reply:
        machine_.on_applied({.is_readable = !chance(15), .left_nothing = chance(30)}, now_);
        return news_.note_applied(machine_, now_);
      case step::forget: return machine_.on_forgotten(now_);
    }
  }

  void check() const {
    const core::stream_status& shown = *info_.status;
    const core::stream_totals& totals = machine_.so_far();
    BOOST_TEST((shown.state.load() == machine_.state()));
    BOOST_TEST(shown.generation.load() == 7 + totals.generation - 1);
    BOOST_TEST(shown.behind.load() == machine_.behind());
    if (!machine_.newest_applied()) BOOST_TEST(shown.last_seqno.load() == core::stream_status::no_seqno);
    const auto same = [](std::uint64_t in_status, std::uint64_t on_lane, std::uint64_t meant) {
      BOOST_TEST(in_status == meant);
      BOOST_TEST(on_lane == meant);
    };
    same(shown.gaps.load(), counters_.gaps.get(), totals.gaps);
    same(shown.replays.load(), counters_.replays.get(), totals.replays);
    same(shown.lost.load(), counters_.lost_batches.get(), totals.lost);
    same(shown.restarts.load(), counters_.restarts.get(), totals.restarts);
    std::uint64_t ended = 0;
    for (const auto& each : shown.replays_by_outcome) ended += each.load();
    BOOST_TEST(ended == totals.replays);
    BOOST_TEST(shown.missing.load() == totals.missing);
    BOOST_TEST(shown.unproven.load() == totals.unproven);
    BOOST_TEST(shown.stale_batches.load() == totals.duplicates);
  }

  static std::string value_of(const std::string& line, const std::string& key) {
    const auto at = line.find(" " + key + "=");
    if (at == std::string::npos) return {};
    const auto from = at + key.size() + 2;
    return line.substr(from, line.find(' ', from) - from);
  }
  void check_lines() const {
    const std::vector<std::string> all = log_.lines();
    const auto count = [&](std::string_view what) {
      const std::string begin = "stream " + std::string(what);
      return static_cast<std::uint64_t>(std::ranges::count_if(all, [&](const std::string& each) { return each.starts_with(begin); }));
    };
    std::string state = "joining";
    for (const std::string& each : all) {
      if (!each.starts_with("stream state ")) continue;
      BOOST_TEST(value_of(each, "from") == state);  // none is left out
      BOOST_TEST(value_of(each, "to") != state);    // and none is told twice
      state = value_of(each, "to");
    }
    BOOST_TEST(state == "stopped");
    BOOST_TEST(count("gap ") == machine_.so_far().gaps);
    BOOST_TEST(count("publisher restarted") == machine_.so_far().restarts);
    BOOST_TEST(count("connection ") == changes_of_connection_);
    // An answer that turns out to be a stranger's when the batch in hand is applied is told as that.
    BOOST_TEST(count("replay ended") <= machine_.so_far().replays);
    BOOST_TEST(count("replay ended") + count("replay endpoint answers for another") >= machine_.so_far().replays);
    std::uint64_t lost = 0;
    for (const std::string& each : all) {
      if (!each.starts_with("stream batches lost")) continue;
      lost += std::stoull(value_of(each, "to_seqno")) - std::stoull(value_of(each, "from_seqno")) + 1;
    }
    BOOST_TEST(lost == machine_.so_far().lost);
  }

  std::mt19937_64 random_;
  stream_fsm::time_point now_{1h};
  stream_fsm machine_;
  test::heard_log log_;
  core::lane_counters counters_;
  net::service_info info_;
  net::stream_news news_{counters_, info_};
  net::zmq_socket::connection seen_;
  std::uint64_t changes_of_connection_ = 0;
  std::uint64_t life_ = 0;
  std::uint64_t next_ = 0;
  std::uint64_t asked_ = 0;
  std::string live_;
  std::string reply_;
};

}  // namespace

BOOST_AUTO_TEST_CASE(every_change_is_one_line_and_all_figures_agree) {
  const std::uint64_t first = test::setting("KVC_NEWS_SEED", 1);
  const std::uint64_t seeds = test::setting("KVC_NEWS_SEEDS", 300);
  std::size_t lines = 0;
  core::stream_totals sums;
  for (std::uint64_t seed = first; seed < first + seeds; ++seed) {
    BOOST_TEST_CONTEXT("seed " << seed) {
      stage here(seed);
      here.play();
      lines += here.lines();
      sums.gaps += here.totals().gaps;
      sums.restarts += here.totals().restarts;
      sums.replays += here.totals().replays;
    }
  }
  BOOST_TEST(lines > 20 * seeds);  // or nothing was told
  BOOST_TEST(sums.gaps > seeds);
  BOOST_TEST(sums.restarts > seeds);
  BOOST_TEST(sums.replays > seeds);
}

BOOST_AUTO_TEST_SUITE_END()

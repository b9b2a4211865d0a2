#include "perf/sim_chaos_session.hpp"

#include <algorithm>
#include <cstddef>
#include <utility>

#include <boost/asio/redirect_error.hpp>
#include <boost/asio/steady_timer.hpp>
#include <boost/asio/use_awaitable.hpp>

#include "net/task_scope.hpp"
#include "perf/sim_chaos_world.hpp"
#include "perf/sim_conductor.hpp"

namespace kvc::sim {
namespace {

using clock = std::chrono::steady_clock;

constexpr std::chrono::milliseconds look_pause{20};
constexpr std::chrono::milliseconds beat_pause{200};
constexpr std::chrono::seconds task_patience{10};
constexpr std::chrono::seconds name_patience{5};

options options_of(const chaos_request& what, std::string tenant) {
  options chosen;
  chosen.server_host = what.server_host;
  chosen.server_port = what.server_port;
  chosen.engine_host = what.engine_host;
  chosen.tenant = std::move(tenant);
  chosen.model = "chaos-model";
  chosen.block_size = chaos_text::block_size;
  return chosen;
}

/// Everything of one seed. Functions return a sentence about what went wrong, empty when nothing did.
class session {
 public:
  session(net::zmq_engine& transport, asio::any_io_executor executor, chaos_request what, std::uint64_t seed, const bool& is_stopping)
      : what_(std::move(what)),
        policy_(policy_of(seed)),
        chosen_(options_of(what_, what_.run + "-" + std::to_string(seed))),
        executor_(executor),
        is_stopping_(&is_stopping),
        server_(executor, chosen_),
        scripts_(executor),
        replays_(executor),
        watch_(executor),
        world_(seed, chosen_.tenant, transport, executor, replays_) {
    verdict_.seed = seed;
  }

  asio::awaitable<chaos_verdict> run() {
    watch_.spawn("stalls", watch_stalls());
    std::string wrong = co_await play();
    for (const chaos_member& each : world_.members) each.publisher->conclude();
    if (wrong.empty() && !*is_stopping_) wrong = co_await compare();
    if (!wrong.empty()) verdict_.complaints.push_back(std::move(wrong));
    wrong = co_await leave();
    if (!wrong.empty()) verdict_.complaints.push_back(std::move(wrong));
    if (*is_stopping_) verdict_.complaints.clear();
    for (const chaos_member& each : world_.members) each.publisher->close();
    is_over_ = true;
    scripts_.cancel(asio::cancellation_type::terminal);
    replays_.cancel(asio::cancellation_type::terminal);
    co_await scripts_.wait(task_patience);
    co_await replays_.wait(task_patience);
    co_await watch_.wait(task_patience);
    sum_up();
    co_return std::move(verdict_);
  }

 private:
  asio::awaitable<void> pause(clock::duration length) {
    asio::steady_timer timer(executor_, length);
    boost::system::error_code woken;
    co_await timer.async_wait(asio::redirect_error(asio::use_awaitable, woken));
  }

  asio::awaitable<void> watch_stalls() {
    while (!is_over_) {
      const auto before = clock::now();
      co_await pause(look_pause);
      const auto late = std::chrono::duration_cast<std::chrono::milliseconds>(clock::now() - before - look_pause);
      verdict_.longest_stall = std::max(verdict_.longest_stall, late);
    }
  }

  asio::awaitable<std::string> play() {
    for (const chaos_member& each : world_.members) {
      std::string wrong = co_await each.publisher->open(what_.engine_host);
      if (!wrong.empty()) co_return wrong;
      each.publisher->publish_early();
    }
    for (const chaos_member& each : world_.members) {
      std::string wrong = co_await server_.enroll(enrolment_of(each));
      if (!wrong.empty()) co_return wrong;
    }
    for (const chaos_member& each : world_.members) scripts_.spawn("chaos of " + each.instance, each.publisher->run());
    if (!co_await scripts_.wait(what_.patience)) co_return "the publishers did not come to their end";
    for (const chaos_member& each : world_.members) each.publisher->heal();
    // Twice: an old number that happens to be the right one does not move with the next batch.
    for (int round = 0; round < 2 && !*is_stopping_; ++round) {
      std::string wrong = co_await settle();
      if (!wrong.empty()) co_return wrong;
    }
    co_return std::string();
  }

  [[nodiscard]] enrolment enrolment_of(const chaos_member& who) const {
    enrolment made;
    made.instance = who.instance;
    made.rank = who.rank;
    made.endpoint = who.publisher->endpoint();
    made.replay_endpoint = who.publisher->replay_endpoint();
    made.type = who.publisher->engine().profile().type;
    made.after_loss = policy_ == doubt_policy::keeps ? "keep" : "drop";
    made.bind = who.publisher->setup().connects;
    made.is_private_pool = who.publisher->engine().profile().is_pool;
    return made;
  }

  asio::awaitable<std::string> look() {
    rows_.assign(world_.members.size(), stream_row{});
    for (const std::string& instance : world_.instances) {
      const reply got = co_await server_.get("/services?instance_id=" + instance);
      if (!got.error.empty()) co_return got.error;
      std::vector<stream_row> found;
      std::string wrong;
      if (!read_services(got.body, chosen_.tenant, found, wrong)) co_return wrong;
      for (std::size_t i = 0; i < world_.members.size(); ++i) {
        const chaos_member& who = world_.members[i];
        const auto row =
            std::ranges::find_if(found, [&who](const stream_row& each) { return each.instance == who.instance && each.rank == who.rank; });
        if (row != found.end()) rows_[i] = *row;
      }
    }
    co_return std::string();
  }

  /// The first member the conductor has not followed to the end; none: past the last.
  [[nodiscard]] std::size_t first_behind() const {
    std::size_t i = 0;
    for (; i < rows_.size(); ++i) {
      const bool is_settled = rows_[i].state == "whole" || rows_[i].state == "incomplete";
      if (!is_settled || rows_[i].applied != world_.members[i].publisher->published()) break;
    }
    return i;
  }

  asio::awaitable<std::string> settle() {
    const auto deadline = clock::now() + what_.patience;
    auto next_beat = clock::now();
    for (;;) {
      if (clock::now() >= next_beat) {
        // A publisher that is not behind is left alone, or it would always be behind by the newest beat.
        for (std::size_t i = 0; i < world_.members.size(); ++i) {
          const chaos_publisher& publisher = *world_.members[i].publisher;
          if (rows_.empty() || rows_[i].applied != publisher.published()) world_.members[i].publisher->beat();
        }
        next_beat = clock::now() + beat_pause;
      }
      co_await pause(look_pause);
      std::string wrong = co_await look();
      if (!wrong.empty()) co_return wrong;
      const std::size_t late = first_behind();
      if (late == rows_.size() || *is_stopping_) break;
      if (clock::now() > deadline) {
        co_return world_.members[late].instance + " rank " + std::to_string(world_.members[late].rank) + " is " + rows_[late].state +
            " with " + std::to_string(rows_[late].applied) + " of " + std::to_string(world_.members[late].publisher->published()) +
            " batches";
      }
    }
    rows_.clear();  // the next round begins with a beat for everybody
    co_return std::string();
  }

  asio::awaitable<std::string> ask_all(const chaos_partition& whose, std::vector<chaos_answer>& answers) {
    answers.clear();
    for (const chaos_text::path& prompt : world_.text.prompts()) {
      const auto tokens = world_.text.tokens(prompt, 0, prompt.size());
      const reply got = co_await server_.ask(query_body(chosen_, tokens, whose.lora, whose.salt));
      if (!got.error.empty()) co_return got.error;
      std::string wrong;
      if (!read_chaos_answer(got.body, chosen_.tenant, answers.emplace_back(), wrong)) co_return wrong;
    }
    co_return std::string();
  }

  /// Whose blocks there are: everybody's, and those that some publishers keep besides.
  [[nodiscard]] std::vector<chaos_partition> partitions() const {
    std::vector<chaos_partition> found(1);
    for (const chaos_member& each : world_.members) {
      const chaos_partition& second = each.publisher->engine().profile().second;
      if (std::ranges::find(found, second) == found.end()) found.push_back(second);
    }
    return found;
  }

  asio::awaitable<std::string> compare_once() {
    verdict_.complaints.clear();
    verdict_.answers = 0;
    const std::vector<chaos_partition> all = partitions();
    for (const chaos_partition& whose : all) {
      std::vector<chaos_answer> answers;
      std::string wrong = co_await ask_all(whose, answers);
      if (!wrong.empty()) co_return wrong;
      wrong = co_await look();
      if (!wrong.empty()) co_return wrong;
      for (std::string& each : check_chaos(world_, rows_, answers, policy_, whose)) verdict_.complaints.push_back(std::move(each));
      verdict_.answers += answers.size() * world_.instances.size();
    }
    co_return std::string();
  }

  asio::awaitable<std::string> compare() {
    // What engines call a store's blocks comes from other lanes, some time after everything has been applied: where it matters, what is not
    // right yet is asked for again.
    const bool has_teachers =
        std::ranges::any_of(world_.members, [](const chaos_member& each) { return each.publisher->engine().profile().is_teacher; });
    const auto deadline = clock::now() + name_patience;
    for (;;) {
      std::string wrong = co_await compare_once();
      if (!wrong.empty()) co_return wrong;
      if (verdict_.complaints.empty() || !has_teachers || *is_stopping_ || clock::now() > deadline) break;
      co_await pause(look_pause);
    }
    for (const stream_row& each : rows_) verdict_.incomplete += each.state == "incomplete" ? 1 : 0;
    co_return std::string();
  }

  asio::awaitable<std::string> leave() {
    std::string wrong;
    for (const std::string& instance : world_.instances) {
      std::string failed = co_await server_.withdraw(instance, what_.patience);
      if (wrong.empty()) wrong = std::move(failed);
    }
    if (!wrong.empty()) co_return wrong;
    std::vector<chaos_answer> answers;
    const std::vector<chaos_partition> all = partitions();
    for (const chaos_partition& whose : all) {
      wrong = co_await ask_all(whose, answers);
      if (!wrong.empty()) co_return wrong;
      const bool is_gone = std::ranges::all_of(answers, [](const chaos_answer& each) { return each.empty(); });
      if (!is_gone) co_return "something is left of the fleet after it has left";
    }
    co_return std::string();
  }

  void sum_up_fleet() {
    chaos_coverage& seen = verdict_.coverage;
    for (const chaos_member& each : world_.members) {
      const chaos_publisher& publisher = *each.publisher;
      seen.add(publisher.engine().coverage());
      if (publisher.setup().connects) seen.add(chaos_trait::connects);
      if (publisher.engine().profile().ranks.size() > 1) seen.add(chaos_trait::multiplexed);
      if (each.rank == 1) seen.add(chaos_trait::several_ranks);
      for (std::uint64_t i = 0; i < publisher.overtaken(); ++i) seen.add(chaos_trait::overtaken);
    }
  }

  void sum_up() {
    verdict_.streams = world_.members.size();
    sum_up_fleet();
    for (const chaos_member& each : world_.members) {
      const chaos_publisher& publisher = *each.publisher;
      verdict_.faults.add(publisher.faults());
      verdict_.batches += publisher.published();
      verdict_.restarts += publisher.restarts();
      if (verdict_.complaints.empty()) continue;
      const chaos_profile& profile = publisher.engine().profile();
      const chaos_setup& setup = publisher.setup();
      const std::string policy = policy_ == doubt_policy::keeps ? ", kept in doubt" : "";
      verdict_.journal.push_back(each.instance + " rank " + std::to_string(each.rank) + ", " + profile.type +
                                 (setup.connects ? ", connects" : "") + (setup.has_replay ? "" : ", no replay") +
                                 (setup.is_silent ? ", silent" : "") + ", keeps " + std::to_string(setup.kept) + policy);
      std::string lost = "  lost:";
      if (publisher.losses().anything) lost += " perhaps anything";
      for (const std::uint64_t number : publisher.losses().numbers) lost += " " + std::to_string(number);
      verdict_.journal.push_back(lost);
      for (const std::string& line : publisher.journal()) verdict_.journal.push_back("  " + line);
    }
  }

  const chaos_request what_;
  const doubt_policy policy_;
  const options chosen_;
  asio::any_io_executor executor_;
  const bool* is_stopping_;
  conductor server_;
  net::task_scope scripts_;
  net::task_scope replays_;
  net::task_scope watch_;
  chaos_world world_;
  std::vector<stream_row> rows_;
  chaos_verdict verdict_;
  bool is_over_ = false;
};

}  // namespace

asio::awaitable<chaos_verdict> run_chaos_session(net::zmq_engine& transport, asio::any_io_executor executor, chaos_request what,
                                                 std::uint64_t seed, const bool& is_stopping) {
  const auto whole = std::make_unique<session>(transport, std::move(executor), std::move(what), seed, is_stopping);
  chaos_verdict verdict = co_await whole->run();
  co_return verdict;
}

}  // namespace kvc::sim

#include "net/runtime.hpp"

#include <algorithm>
#include <cstddef>
#include <exception>
#include <functional>
#include <future>
#include <latch>
#include <memory>
#include <pthread.h>
#include <sched.h>
#include <string>
#include <utility>

#include <boost/asio/co_spawn.hpp>
#include <boost/asio/executor_work_guard.hpp>
#include <boost/asio/post.hpp>
#include <boost/asio/use_future.hpp>

#include "net/aside.hpp"
#include "net/log.hpp"
#include "net/short_slices.hpp"

namespace kvc::net {

struct runtime::keep_alive {
  explicit keep_alive(asio::io_context& context) : guard(asio::make_work_guard(context)) {}
  asio::executor_work_guard<asio::io_context::executor_type> guard;
};

std::optional<std::chrono::nanoseconds> lane::cpu_time() const noexcept {
  const clockid_t clock = cpu_clock_.load(std::memory_order_relaxed);
  timespec used{};
  if (clock == no_clock || ::clock_gettime(clock, &used) != 0) return std::nullopt;
  return std::chrono::seconds(used.tv_sec) + std::chrono::nanoseconds(used.tv_nsec);
}

void lane::enter_thread() noexcept {
  clockid_t clock = no_clock;
  if (pthread_getcpuclockid(pthread_self(), &clock) == 0) cpu_clock_.store(clock, std::memory_order_relaxed);
}

runtime::runtime(std::size_t lanes, const core::catalog& catalog) {
  for (std::size_t i = 0; i < lanes; ++i) {
    lanes_.push_back(std::make_unique<lane>(i, catalog, *this));
    work_.push_back(std::make_unique<keep_alive>(lanes_.back()->context));
  }
}

runtime::~runtime() {
  if (!threads_.empty()) stop(std::chrono::seconds(0));
}

namespace {

/// A handler that throws is a broken invariant of that handler, not of the service: log it and go on serving.
/// `may_run`: whether every lane has got its thread. Otherwise none runs anything, and so has nothing that would have to be ended.
void run_lane(lane& self, const std::shared_ptr<std::latch>& begun, const std::shared_future<bool>& may_run) {
  self.enter_thread();
  begun->count_down();
  if (!may_run.get()) {
    self.leave_thread();
    return;
  }
  ask_for_slices(shortest_slice);  // whoever asks a lane for something should not wait for a tick of the kernel's clock
  for (;;) {
    try {
      self.context.run();
      self.leave_thread();
      return;
    } catch (const std::exception& failure) {
      log::error(log::module::app, "handler threw", {{"lane", self.index()}, {"reason", failure.what()}});
    }
  }
}

/// A task that is asked to leave and owes nothing needs a moment, in which other lanes may have to get their turn.
constexpr std::chrono::milliseconds shortest_patience{500};

/// For tasks that are told to leave at once.
constexpr std::chrono::seconds last_patience{5};

asio::awaitable<bool> cancel_and_wait(lane& self, asio::cancellation_type how, std::chrono::steady_clock::duration patience) {
  self.tasks.cancel(how);
  co_return co_await self.tasks.wait(patience);
}

}  // namespace

void runtime::start(bool pin) {
  // Only CPUs this process may use: containers and taskset take some away.
  cpu_set_t allowed;
  CPU_ZERO(&allowed);
  std::vector<int> cpus;
  if (pin && sched_getaffinity(0, sizeof(allowed), &allowed) == 0) {
    for (int cpu = 0; cpu < CPU_SETSIZE; ++cpu) {
      if (CPU_ISSET(cpu, &allowed)) cpus.push_back(cpu);
    }
  }
  if (pin && lanes_.size() > cpus.size()) {
    log::warn(log::module::app, "lanes are not kept on CPUs of their own, as there are more of them",
              {{"lanes", lanes_.size()}, {"cpus", cpus.size()}});
  }
  std::promise<bool> all_there;
  const std::shared_future<bool> may_run = all_there.get_future().share();
  const auto begun = std::make_shared<std::latch>(static_cast<std::ptrdiff_t>(lanes_.size()));
  for (auto& each : lanes_) {
    lane* const self = each.get();
    self->beat.begin();
    try {
      threads_.emplace_back(run_lane, std::ref(*self), begun, may_run);
    } catch (...) {
      // Lanes without a thread would never answer whoever stops them: as if none had been started.
      all_there.set_value(false);
      for (auto& thread : threads_) thread.join();
      threads_.clear();
      throw;
    }
    const std::string name = "lane-" + std::to_string(self->index());
    pthread_setname_np(threads_.back().native_handle(), name.c_str());
    if (lanes_.size() <= cpus.size()) {
      cpu_set_t cpu;
      CPU_ZERO(&cpu);
      CPU_SET(cpus[self->index()], &cpu);
      pthread_setaffinity_np(threads_.back().native_handle(), sizeof(cpu), &cpu);
    }
  }
  all_there.set_value(true);
  begun->wait();  // so that every lane can be looked at from here on
}

bool runtime::all_leave(asio::cancellation_type how, std::chrono::steady_clock::duration patience) {
  std::vector<std::future<bool>> leaving;
  leaving.reserve(lanes_.size());
  for (auto& each : lanes_) leaving.push_back(asio::co_spawn(each->context, cancel_and_wait(*each, how, patience), asio::use_future));
  bool all_gone = true;
  for (auto& each : leaving) all_gone = each.get() && all_gone;
  return all_gone;
}

bool runtime::stop(std::chrono::steady_clock::duration patience) {
  if (threads_.empty()) return true;
  // No patience at all would take every idle connection for a request that was cut off.
  const std::chrono::steady_clock::duration wait_for = std::max<std::chrono::steady_clock::duration>(patience, shortest_patience);
  const bool in_time = all_leave(asio::cancellation_type::total, wait_for);
  for (aside_thread* const each : beside_) each->close();
  // What has begun beside the lanes uses what its task keeps, which must not go first; it ends by itself, and nothing begins behind it.
  bool all_gone = false;
  for (bool was_busy = true; !all_gone && was_busy;) {
    was_busy = std::ranges::any_of(beside_, [](const aside_thread* each) { return each->is_busy(); });
    all_gone = all_leave(asio::cancellation_type::terminal, last_patience);
  }
  work_.clear();
  for (auto& each : lanes_) each->context.stop();
  for (auto& thread : threads_) thread.join();
  threads_.clear();
  for (const auto& each : lanes_) {
    const std::size_t left = each->tasks.running();
    if (left != 0) log::error(log::module::app, "tasks have not ended", {{"lane", each->index()}, {"tasks", left}});
  }
  return in_time;
}

}  // namespace kvc::net

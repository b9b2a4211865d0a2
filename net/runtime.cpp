#include "net/runtime.hpp"

#include <algorithm>
#include <exception>
#include <future>
#include <pthread.h>
#include <sched.h>
#include <string>
#include <utility>

#include <boost/asio/co_spawn.hpp>
#include <boost/asio/executor_work_guard.hpp>
#include <boost/asio/post.hpp>
#include <boost/asio/use_future.hpp>

#include "net/log.hpp"
#include "net/short_slices.hpp"

namespace kvc::net {

struct runtime::keep_alive {
  explicit keep_alive(asio::io_context& context) : guard(asio::make_work_guard(context)) {}
  asio::executor_work_guard<asio::io_context::executor_type> guard;
};

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
void run_lane(lane& self) {
  ask_for_slices(shortest_slice);  // whoever asks a lane for something should not wait for a tick of the kernel's clock
  for (;;) {
    try {
      self.context.run();
      return;
    } catch (const std::exception& failure) {
      log::error(log::module::app, "handler threw", {{"lane", self.index()}, {"reason", failure.what()}});
    }
  }
}

/// A task that is asked to leave and owes nothing needs a moment, in which other lanes may have to get their turn.
constexpr std::chrono::milliseconds shortest_patience{500};

asio::awaitable<bool> cancel_and_wait(lane& self, std::chrono::steady_clock::duration patience) {
  self.tasks.cancel(asio::cancellation_type::total);
  // No patience at all would take every idle connection for a request that was cut off.
  const std::chrono::steady_clock::duration wait_for = std::max<std::chrono::steady_clock::duration>(patience, shortest_patience);
  const bool all_gone = co_await self.tasks.wait(wait_for);
  self.tasks.cancel(asio::cancellation_type::terminal);
  co_await self.tasks.wait(std::chrono::seconds(5));
  co_return all_gone;
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
  for (auto& each : lanes_) {
    lane* const self = each.get();
    self->beat.begin();
    threads_.emplace_back(run_lane, std::ref(*self));
    const std::string name = "lane-" + std::to_string(self->index());
    pthread_setname_np(threads_.back().native_handle(), name.c_str());
    if (lanes_.size() <= cpus.size()) {
      cpu_set_t cpu;
      CPU_ZERO(&cpu);
      CPU_SET(cpus[self->index()], &cpu);
      pthread_setaffinity_np(threads_.back().native_handle(), sizeof(cpu), &cpu);
    }
  }
}

bool runtime::stop(std::chrono::steady_clock::duration patience) {
  if (threads_.empty()) return true;
  std::vector<std::future<bool>> stopping;
  stopping.reserve(lanes_.size());
  for (auto& each : lanes_) stopping.push_back(asio::co_spawn(each->context, cancel_and_wait(*each, patience), asio::use_future));
  bool in_time = true;
  for (auto& each : stopping) in_time = each.get() && in_time;
  work_.clear();
  for (auto& each : lanes_) each->context.stop();
  for (auto& thread : threads_) thread.join();
  threads_.clear();
  return in_time;
}

}  // namespace kvc::net

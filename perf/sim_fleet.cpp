#include "perf/sim_fleet.hpp"

#include <utility>

#include <boost/asio/redirect_error.hpp>
#include <boost/asio/steady_timer.hpp>
#include <boost/asio/use_awaitable.hpp>

#include "perf/sim_dialect.hpp"
#include "perf/sim_mix.hpp"

namespace kvc::sim {
namespace {

using clock = std::chrono::steady_clock;

// How long a probe may take before the next one is sent.
constexpr std::chrono::milliseconds probe_patience{200};
constexpr std::chrono::milliseconds probe_pause{5};
constexpr std::chrono::seconds leave_patience{5};

}  // namespace

engine_shape shape_of(const options& chosen, std::size_t index, std::uint64_t salt) {
  engine_shape shape;
  shape.block_size = chosen.block_size;
  shape.capacity = chosen.cache_blocks;
  shape.rank = core::dp_rank{static_cast<std::uint32_t>(index % chosen.ranks)};
  shape.secret = mix(chosen.seed + salt) + index;
  return shape;
}

fleet::fleet(net::zmq_engine& transport, const asio::any_io_executor& executor, const options& chosen, const bool& is_stopping)
    : executor_(executor), chosen_(chosen), is_stopping_(is_stopping) {
  const std::size_t ranks = std::size_t{chosen.engines} * chosen.ranks;
  members_.reserve(ranks);
  for (std::size_t i = 0; i < ranks; ++i) {
    auto out = std::make_unique<publisher>(transport, executor, chosen.events, chosen.hashes);
    members_.push_back({engine(shape_of(chosen, i, 0)), std::move(out)});
  }
}

std::string fleet::name_of(std::size_t rank) const {
  return instance_name(static_cast<std::uint32_t>(rank / chosen_.ranks)) + " rank " + std::to_string(rank % chosen_.ranks);
}

std::string fleet::open() {
  for (std::size_t i = 0; i < members_.size(); ++i) {
    if (const auto failed = members_[i].out->open(chosen_.engine_host)) {
      return name_of(i) + " cannot listen on " + chosen_.engine_host + ": " + failed.message();
    }
  }
  return {};
}

void fleet::start(net::task_scope& tasks) {
  for (std::size_t i = 0; i < members_.size(); ++i) tasks.spawn("replays of " + name_of(i), members_[i].out->serve_replays());
}

asio::awaitable<std::string> fleet::refresh(conductor& server, std::string target) {
  const reply got = co_await server.get(std::move(target));
  if (!got.error.empty()) co_return got.error;
  std::vector<stream_row> rows;
  std::string wrong;
  if (!read_services(got.body, chosen_.tenant, rows, wrong)) co_return wrong;
  for (std::uint32_t i = 0; i < chosen_.engines; ++i) {
    const std::string instance = instance_name(i);
    for (const auto& row : rows) {
      if (row.instance != instance || row.rank >= chosen_.ranks) continue;
      const std::size_t rank = std::size_t{i} * chosen_.ranks + row.rank;
      members_[rank].applied = row.applied;
      if (row.missing > 0) co_return "the conductor has lost " + std::to_string(row.missing) + " batches of " + name_of(rank);
    }
  }
  co_return std::string();
}

std::size_t fleet::first_behind() const noexcept {
  std::size_t rank = 0;
  while (rank < members_.size() && members_[rank].applied >= members_[rank].out->published()) ++rank;
  return rank;
}

bool fleet::is_behind(std::uint32_t instance) const noexcept {
  for (std::size_t rank = std::size_t{instance} * chosen_.ranks; rank < std::size_t{instance + 1} * chosen_.ranks; ++rank) {
    if (members_[rank].applied < members_[rank].out->published()) return true;
  }
  return false;
}

asio::awaitable<std::string> fleet::make_heard(conductor& server) {
  const auto deadline = clock::now() + answer_patience;
  asio::steady_timer pause(executor_);
  auto next_probe = clock::now();
  for (;;) {
    bool all_heard = true;
    const bool is_probing = clock::now() >= next_probe;
    if (is_probing) next_probe = clock::now() + probe_patience;
    std::size_t deaf = 0;
    for (std::size_t i = 0; i < members_.size(); ++i) {
      if (members_[i].applied > 0) continue;
      all_heard = false;
      deaf = i;
      if (is_probing) {
        core::event_batch empty;
        empty.rank = members_[i].cache.shape().rank;
        members_[i].out->publish(std::move(empty));
      }
    }
    if (all_heard || is_stopping_) co_return std::string();
    if (clock::now() > deadline) co_return "the conductor does not hear " + name_of(deaf) + " at " + members_[deaf].out->endpoint();
    std::string wrong = co_await refresh(server, "/services");
    if (!wrong.empty()) co_return wrong;
    boost::system::error_code woken;
    pause.expires_after(probe_pause);
    co_await pause.async_wait(asio::redirect_error(asio::use_awaitable, woken));
  }
}

asio::awaitable<std::string> fleet::join(conductor& server) {
  for (std::size_t i = 0; i < members_.size() && !is_stopping_; ++i) {
    enrolment who;
    who.instance = instance_name(static_cast<std::uint32_t>(i / chosen_.ranks));
    who.rank = static_cast<std::uint32_t>(i % chosen_.ranks);
    who.endpoint = members_[i].out->endpoint();
    who.replay_endpoint = members_[i].out->replay_endpoint();
    who.type = traits_of(chosen_.events).type;
    std::string wrong = co_await server.enroll(std::move(who));
    if (!wrong.empty()) co_return wrong;
  }
  std::string wrong = co_await make_heard(server);
  co_return wrong;
}

engine::outcome fleet::serve(std::size_t rank, const turn& request, tally& into) {
  told_.clear();
  const auto done = members_[rank].cache.serve(request, &told_);
  for (auto& batch : told_) {
    ++into.batches;
    into.events += batch.events.size();
    members_[rank].out->publish(std::move(batch));
  }
  into.stored_blocks += done.stored_blocks;
  into.removed_blocks += done.removed_blocks;
  return done;
}

void fleet::held(const turn& request, std::vector<std::uint32_t>& into) const {
  into.clear();
  for (const auto& each : members_) into.push_back(each.cache.matched(request));
}

std::uint64_t fleet::blocks() const noexcept {
  std::uint64_t sum = 0;
  for (const auto& each : members_) sum += each.cache.held();
  return sum;
}

std::uint64_t fleet::replays_served() const noexcept {
  std::uint64_t sum = 0;
  for (const auto& each : members_) sum += each.out->replays_served();
  return sum;
}

asio::awaitable<std::string> fleet::settle(conductor& server) {
  const auto deadline = clock::now() + answer_patience;
  while (!is_stopping_) {
    const std::size_t rank = first_behind();
    if (rank == members_.size()) break;
    if (clock::now() > deadline) {
      const member& late = members_[rank];
      co_return "the conductor has applied " + std::to_string(late.applied) + " of " + std::to_string(late.out->published()) +
          " batches of " + name_of(rank) + " and made no more of it in " + std::to_string(answer_patience.count()) + " s";
    }
    // Usually one instance is behind: asking for it alone keeps the wait short. The question itself is the pause between two looks.
    const auto instance = static_cast<std::uint32_t>(rank / chosen_.ranks);
    std::string target = "/services?instance_id=" + instance_name(instance);
    for (std::uint32_t other = instance + 1; other < chosen_.engines; ++other) {
      if (is_behind(other)) target = "/services";
    }
    std::string wrong = co_await refresh(server, std::move(target));
    if (!wrong.empty()) co_return wrong;
  }
  co_return std::string();
}

asio::awaitable<std::string> fleet::sample_staleness(conductor& server, tally& into) {
  std::string wrong = co_await refresh(server, "/services");
  if (!wrong.empty()) co_return wrong;
  for (const auto& each : members_) {
    const std::uint64_t published = each.out->published();
    into.stale_batches.add(published > each.applied ? published - each.applied : 0);
  }
  co_return std::string();
}

asio::awaitable<std::string> fleet::leave(conductor& server) {
  std::string first_wrong;
  for (std::uint32_t i = 0; i < chosen_.engines && first_wrong.empty(); ++i) {
    std::string instance = instance_name(i);
    first_wrong = co_await server.withdraw(std::move(instance), leave_patience);
  }
  co_return first_wrong;
}

}  // namespace kvc::sim

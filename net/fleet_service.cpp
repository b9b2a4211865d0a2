#include "net/fleet_service.hpp"

#include <algorithm>
#include <exception>
#include <limits>
#include <map>
#include <new>
#include <stdexcept>
#include <utility>

#include <boost/asio/bind_cancellation_slot.hpp>
#include <boost/asio/co_spawn.hpp>
#include <boost/asio/post.hpp>
#include <boost/asio/redirect_error.hpp>
#include <boost/asio/steady_timer.hpp>
#include <boost/asio/use_awaitable.hpp>

#include "core/lane_map.hpp"
#include "net/lasting_task.hpp"
#include "net/log.hpp"
#include "net/recipe_task.hpp"
#include "net/stand_still.hpp"
#include "net/stream_listener.hpp"
#include "net/thrown_reason.hpp"

namespace kvc::net {
namespace {

/// Awaits work on another lane. The caller's cancellation stays behind: its signal may only be used on the caller's own lane.
auto detached_from_cancellation() {
  return asio::bind_cancellation_slot(asio::cancellation_slot(), asio::use_awaitable);
}

/// This side's share in a stream. Whoever has it in hand may copy it, or lose it, on any lane: the last share in the stream itself has to
/// go on the stream's own lane, since what it holds is that lane's.
using listener_share = std::shared_ptr<std::shared_ptr<stream_listener>>;

/// Runs on the worker's lane: makes the stream there and starts it.
asio::awaitable<listener_share> open_stream(lane* home, zmq_engine* engine, core::catalog* catalog, core::medium_table* media,
                                            const stream_settings* settings, std::shared_ptr<const service_info> service) {
  const core::worker_id worker = service->worker;
  auto made = std::make_shared<std::shared_ptr<stream_listener>>();
  try {
    *made = std::make_shared<stream_listener>(*home, *engine, *catalog, *media, *settings, std::move(service));
    stream_listener::start(*made);
  } catch (const std::exception&) {
    insist_on([&] { catalog->leave(worker); });  // it may have joined its partition, which queries would find it in for ever
    throw;
  }
  co_return made;
}

/// Runs on the worker's lane: ends the stream, and lets go of it.
asio::awaitable<void> close_stream(listener_share which) {
  if (!*which) co_return;
  co_await stream_listener::shut_down(*which);
  which->reset();
}

/// Whether the new stream has to wait for the end of the old one: both want to be bound to one address, or the old one will take the
/// objects of its store along, and those that the new one has told of by then with them.
bool stands_in_the_way(const service_info& old, const core::registration& wanted) {
  const core::registration& from = old.registration;
  return old.objects != nullptr || (from.bind && wanted.bind && from.endpoint == wanted.endpoint);
}

std::string key_text(const core::worker_key& key) {
  return key.instance + "|" + key.tenant + "|" + std::to_string(key.rank.get());
}

/// A line that there may be no memory for: what has been done must not be taken for undone because of it.
void tell_of_start(const service_info& made) noexcept {
  const core::registration& from = made.registration;
  try {
    log::info(log::module::fleet, "registered",
              {{"service", key_text(from.worker)},
               {"endpoint", from.endpoint},
               {"type", core::to_string(from.type)},
               {"model", from.partition.model},
               {"block_size", from.partition.block_size},
               {"lane", made.lane},
               {"generation", made.generation.get()}});
  } catch (const std::bad_alloc&) {
  }
}

/// The same. `failed`: why it could not be ended as it should; null: it was.
void tell_of_end(const service_info& ended, const std::exception_ptr& failed) noexcept {
  const core::registration& from = ended.registration;
  try {
    const std::string service = key_text(from.worker);
    if (!failed) return log::info(log::module::fleet, "unregistered", {{"service", service}, {"endpoint", from.endpoint}});
    log::error(log::module::fleet, "unregistered, and not ended as it should",
               {{"service", service}, {"endpoint", from.endpoint}, {"reason", reason_of(failed)}});
  } catch (const std::bad_alloc&) {
  }
}

}  // namespace

struct fleet_service::state {
  struct entry {
    std::shared_ptr<const service_info> info;
    listener_share listener;
    std::shared_ptr<asio::steady_timer> settled;  ///< over when whoever has listed it is done with it, and with what was listed before

    [[nodiscard]] bool is_being_made() const { return !listener && settled->expiry() != asio::steady_timer::time_point::min(); }
  };
  /// Says so, however that ends.
  class settling {
   public:
    explicit settling(asio::io_context& control)
        : over_(std::make_shared<asio::steady_timer>(control, asio::steady_timer::time_point::max())) {}
    settling(const settling&) = delete;
    settling& operator=(const settling&) = delete;
    ~settling() { over_->expires_at(asio::steady_timer::time_point::min()); }
    [[nodiscard]] const std::shared_ptr<asio::steady_timer>& over() const noexcept { return over_; }

   private:
    std::shared_ptr<asio::steady_timer> over_;
  };

  state(runtime& all_lanes, zmq_engine& zmq, core::catalog& partitions, core::medium_table& words, stream_settings with,
        object_shelves* all_objects)
      : lanes(&all_lanes),
        engine(&zmq),
        catalog(&partitions),
        media(&words),
        settings(with),
        objects(all_objects),
        budget(std::make_shared<core::index_budget>(partitions, with.index_budget, all_lanes.size())),
        homes(all_lanes.size()) {
    lane& control = all_lanes.at(0);
    asio::post(control.context, [this, &control] {
      spawn_lasting(control, "hash recipe watch", [this, &control] { return watch_recipes(control, view, settings.recipe_check); });
    });
    if (with.index_budget == 0) return;
    const auto watch = std::make_shared<budget_watch>(budget);
    for (std::size_t i = 0; i < all_lanes.size(); ++i) {
      lane& each = all_lanes.at(i);
      // Scopes belong to their lanes, which may not have started yet.
      asio::post(each.context, [&each, shared = watch, rhythm = with.eviction] {
        spawn_lasting(each, "byte budget", [&each, shared, rhythm] { return keep_within_budget(each, shared, rhythm); });
      });
    }
  }

  runtime* lanes;
  zmq_engine* engine;
  core::catalog* catalog;
  core::medium_table* media;
  stream_settings settings;
  object_shelves* objects;
  std::shared_ptr<core::index_budget> budget;

  // Control lane only.
  core::lane_map homes;
  std::map<core::worker_key, entry> entries;
  std::shared_ptr<core::worker_numbers> numbers = std::make_shared<core::worker_numbers>();  ///< streams draw from it on their lanes

  core::published<fleet_view> view;

  /// Whether the stream is all that keeps the partition under the seed it has.
  [[nodiscard]] bool is_alone(const entry& which, const core::partition_key& in) const {
    const auto now = catalog->view().get();
    const core::partition_view* const there = now->find(in);
    return which.listener && there != nullptr &&
           std::ranges::all_of(there->members, [&](const core::member& each) { return each.status == which.info->status; });
  }

  void publish() {
    auto next = std::make_shared<fleet_view>();
    next->reserve(entries.size());
    for (const auto& [key, each] : entries) next->push_back(each.info);
    view.publish(std::move(next));
  }

  /// Ends a stream that is no longer listed, and what it has taken the place of: nothing of that may be found any more once somebody has
  /// been answered. Nobody else would end it, so that a want of memory only puts it off; other errors are thrown when it has been tried.
  /// Control lane.
  asio::awaitable<void> end_wholly(entry ended) {
    lane& home = lanes->at(ended.info->lane);
    std::exception_ptr failed;
    while (ended.listener) {  // else `add` ends it when its lane has made it
      try {
        co_await asio::co_spawn(home.context, close_stream(ended.listener), detached_from_cancellation());
      } catch (const std::bad_alloc&) {
        stand_still();
        continue;
      } catch (...) {
        failed = std::current_exception();
        insist_on([&] { asio::post(home.context, [left = ended.listener] { left->reset(); }); });
      }
      ended.listener.reset();
      homes.release(ended.info->registration.worker);
      tell_of_end(*ended.info, failed);
    }
    if (ended.settled) co_await until_over(ended.settled);
    if (failed) std::rethrow_exception(failed);
  }

  static asio::awaitable<void> until_over(std::shared_ptr<asio::steady_timer> settled) {
    boost::system::error_code rung;
    co_await settled->async_wait(asio::redirect_error(asio::use_awaitable, rung));
  }

  asio::awaitable<result<added>> add(core::registration wanted, std::string new_medium) {
    added outcome;
    std::optional<entry> old;
    std::uint64_t generation = 1;
    auto existing = entries.find(wanted.worker);
    // Of one that its lane is still making nobody knows whether it can be: its partition may have another seed by then.
    for (; existing != entries.end() && existing->second.is_being_made(); existing = entries.find(wanted.worker)) {
      co_await until_over(existing->second.settled);
    }
    const bool is_listed = existing != entries.end();
    const bool is_seed_known = catalog->accepts(wanted.partition, wanted.hash_seed);
    const bool is_refused = !is_seed_known && !(is_listed && is_alone(existing->second, wanted.partition));
    if (!new_medium.empty()) {  // the table has room for few words, and never forgets one
      if (is_refused) co_return error_code(core::errc::seed_conflict);
      wanted.medium = media->intern(new_medium);
    }
    if (is_listed) {
      if (existing->second.info->registration == wanted) {
        outcome.worker = existing->second.info->worker;
        co_return outcome;
      }
      // Its stream counts on from where it began: a number that one of its lives has had must not come again.
      const service_info& before = *existing->second.info;
      generation = std::max(before.generation.get(), before.status->generation.load(std::memory_order_relaxed)) + 1;
      old = existing->second;
    }
    if (is_refused) co_return error_code(core::errc::seed_conflict);
    const bool ends_first = old && (!is_seed_known || stands_in_the_way(*old->info, wanted));
    const auto worker = numbers->next();
    if (!worker) co_return error_code(core::errc::workers_exhausted);

    auto made = std::make_shared<service_info>();
    service_info& info = *made;
    info.registration = wanted;
    info.worker = *worker;
    info.numbers = numbers;
    if (wanted.worker.kind == core::publisher_class::pool) info.objects = objects;
    info.generation = core::generation{generation};
    info.since = std::chrono::steady_clock::now();
    info.status = std::make_shared<core::stream_status>();
    info.recipe = std::make_shared<core::recipe_notes>();
    info.status->generation.store(generation, std::memory_order_relaxed);
    outcome.changed = true;
    outcome.replaced = old.has_value();
    outcome.worker = info.worker;
    const core::worker_key key = wanted.worker;
    const settling until_done(lanes->at(0).context);
    info.lane = homes.assign(key);
    const std::shared_ptr<const service_info> listed_as = std::move(made);
    lane& home = lanes->at(info.lane);
    listener_share listener;
    std::exception_ptr failed;
    try {
      // Listed before the first suspension, so that a second call for the same key sees it; the listener follows when its lane has made it.
      entries.insert_or_assign(key, entry{listed_as, nullptr, until_done.over()});
      publish();
      if (ends_first) {
        auto ending = insist_on([&] { return end_wholly(*old); });
        old.reset();
        co_await std::move(ending);
      }
      listener = co_await asio::co_spawn(home.context, open_stream(&home, engine, catalog, media, &settings, listed_as),
                                         detached_from_cancellation());
    } catch (const std::invalid_argument&) {  // an event of another stream opened the partition under another seed a moment ago
    } catch (...) {
      failed = std::current_exception();
    }
    if (!listener) {  // nobody may be listed who is not heard
      homes.release(key);
      if (const auto listed = entries.find(key); listed != entries.end() && listed->second.info == listed_as) entries.erase(listed);
      insist_on([this] { publish(); });
      if (old) {
        auto ending = insist_on([&] { return end_wholly(*old); });
        co_await std::move(ending);
      }
      if (failed) std::rethrow_exception(failed);
      co_return error_code(core::errc::seed_conflict);
    }
    tell_of_start(*listed_as);
    if (const auto listed = entries.find(key); listed != entries.end() && listed->second.info == listed_as) {
      listed->second.listener = std::move(listener);
    } else {  // removed or replaced while its lane was making it
      auto ending = insist_on([&] { return end_wholly({listed_as, listener, nullptr}); });
      co_await std::move(ending);
    }
    if (old) {
      auto ending = insist_on([&] { return end_wholly(*old); });
      co_await std::move(ending);
    }
    co_return outcome;
  }

  /// Whatever is thrown when one of them ends, the others end as well; the first of that is thrown when they have.
  asio::awaitable<std::vector<core::worker_key>> remove(selector which) {
    std::vector<entry> ending;
    std::vector<core::worker_key> keys;
    for (const auto& [key, each] : entries) {
      const bool matches = key.tenant == which.tenant && key.instance == which.instance && (!which.rank || key.rank == *which.rank) &&
                           (!which.kind || key.kind == *which.kind);
      if (!matches) continue;
      keys.push_back(key);
      ending.push_back(each);
    }
    if (keys.empty()) co_return keys;
    // Nothing has changed up to here. What is no longer listed has to end, since nobody else would end it.
    for (const core::worker_key& each : keys) entries.erase(each);
    insist_on([this] { publish(); });
    std::exception_ptr first;
    for (const entry& each : ending) {
      try {
        auto one = insist_on([&] { return end_wholly(each); });
        co_await std::move(one);
      } catch (...) {
        if (!first) first = std::current_exception();
      }
    }
    if (first) std::rethrow_exception(first);
    co_return keys;
  }

  /// Where the stream of a worker is; leaves the turn as it is when there is none. Control lane.
  asio::awaitable<void> find(core::worker_id worker, std::shared_ptr<dump_turn> turn) {
    for (const auto& [key, each] : entries) {
      if (each.info->worker != worker) continue;
      if (each.listener) turn->from = *each.listener;
      turn->lane = each.info->lane;
    }
    co_return;
  }
};

fleet_service::fleet_service(runtime& lanes, zmq_engine& engine, core::catalog& catalog, core::medium_table& media,
                             stream_settings settings, object_shelves* objects)
    : state_(std::make_unique<state>(lanes, engine, catalog, media, settings, objects)) {}

fleet_service::~fleet_service() = default;

asio::awaitable<result<fleet_service::added>> fleet_service::add(core::registration wanted, std::string new_medium) {
  if (is_draining()) co_return error_code(errc::draining);
  lane& control = state_->lanes->at(0);
  co_return co_await asio::co_spawn(control.context, state_->add(std::move(wanted), std::move(new_medium)), detached_from_cancellation());
}

asio::awaitable<std::vector<core::worker_key>> fleet_service::remove(selector which) {
  lane& control = state_->lanes->at(0);
  co_return co_await asio::co_spawn(control.context, state_->remove(std::move(which)), detached_from_cancellation());
}

asio::awaitable<void> fleet_service::dump_some(core::worker_id worker, std::shared_ptr<dump_turn> turn) {
  if (!turn->lane) {
    lane& control = state_->lanes->at(0);
    co_await asio::co_spawn(control.context, state_->find(worker, turn), detached_from_cancellation());
    if (!turn->lane) {
      turn->is_last = true;
      co_return;
    }
  }
  lane& home = state_->lanes->at(*turn->lane);
  co_await asio::co_spawn(home.context, stream_listener::tell(turn->from, turn), detached_from_cancellation());
}

const core::index_budget& fleet_service::budget() const noexcept {
  return *state_->budget;
}

const core::published<fleet_view>& fleet_service::view() const noexcept {
  return state_->view;
}

std::vector<std::string> fleet_service::not_ready_because(std::chrono::steady_clock::time_point now) const {
  std::vector<std::string> reasons;
  if (is_draining()) reasons.emplace_back("draining");
  const auto services = state_->view.get();
  for (const auto& each : *services) {
    const auto condition = each->status->state.load(std::memory_order_relaxed);
    if (condition == core::stream_state::whole || now - each->since >= state_->settings.ready_grace) continue;
    reasons.push_back("stream " + key_text(each->registration.worker) + " is " + std::string(core::to_string(condition)));
  }
  return reasons;
}

}  // namespace kvc::net

#include "net/object_shelves.hpp"

#include <algorithm>

namespace kvc::net {
namespace {

constexpr std::size_t objects_per_hold = 256;  ///< forgotten; some 50 us
constexpr std::size_t looks_per_hold = 512;    ///< at objects that may have what is cleared
constexpr std::size_t most_inlets = 64;        ///< of one backend

}  // namespace

object_shelves::object_shelves(const core::object_table::options& with) {
  for (shelf& each : shelves_) each.table = std::make_unique<core::object_table>(with);
}

object_shelves::~object_shelves() = default;

std::optional<std::uint32_t> object_shelves::find(std::string_view backend) const {
  const std::shared_lock reading(names_lock_);
  const auto found = numbers_.find(backend);
  return found == numbers_.end() ? std::nullopt : std::optional(found->second);
}

std::optional<std::uint32_t> object_shelves::open(std::string_view backend) {
  if (const auto known = find(backend)) return known;
  const std::unique_lock writing(names_lock_);
  if (const auto found = numbers_.find(backend); found != numbers_.end()) return found->second;
  const std::uint32_t number = backends();
  if (number == most_backends) return std::nullopt;
  entries_[number].name = backend;
  numbers_.emplace(backend, number);
  known_.store(number + 1, std::memory_order_release);
  return number;
}

bool object_shelves::clear_some(const core::cleared_objects& which, progress& at) {
  const std::optional<std::uint32_t> backend = find(which.backend);
  if (!backend) return true;
  if (tell_of_loss_) tell_of_loss_(*backend);
  if (!which.kinds.empty()) {
    const std::uint32_t tick = now();
    const bool is_done = write(*backend, [&](core::object_table& table) {
      return table.clear_kinds_some(which.backend, which.tenant, which.kinds, at.next_object, looks_per_hold, tick);
    });
    if (is_done) at.next_object = 0;
    return is_done;
  }
  return write(*backend, [&](core::object_table& table) {
    if (which.tenant) {
      const std::uint32_t owner = table.find_owner(which.backend, *which.tenant);
      return owner == core::no_record || table.clear_some(owner, objects_per_hold);
    }
    for (const std::uint32_t owner : table.owners_of(which.backend)) {
      if (table.objects_of(owner) != 0) return table.clear_some(owner, objects_per_hold) && false;
    }
    return true;
  });
}

void object_shelves::hand_over(std::uint32_t backend, std::vector<core::doubtful_object>& doubtful) const {
  for (std::size_t at = 0; at < doubtful.size();) {
    const std::string tenant = doubtful[at].tenant;
    std::vector<std::string> keys;
    for (; at < doubtful.size() && doubtful[at].tenant == tenant; ++at) keys.push_back(std::move(doubtful[at].key));
    ask_(backend, tenant, std::move(keys));
  }
}

bool object_shelves::apply_some(const core::event_batch& batch, const core::object_source& from, progress& at, core::object_tally& tally) {
  if (at.next_event == batch.events.size()) return true;
  if (const auto cleared = core::cleared_by(batch.events[at.next_event], from)) {
    if (clear_some(*cleared, at)) ++at.next_event;
    return at.next_event == batch.events.size();
  }
  // Neighbours of one backend are applied under one lock.
  const std::string& name = core::backend_of(batch.events[at.next_event], from);
  const std::optional<std::uint32_t> backend = open(name);
  if (!backend) {
    ++tally.refused;
    return ++at.next_event == batch.events.size();
  }
  const std::uint32_t tick = now();
  std::vector<core::doubtful_object> doubtful;
  tally.doubtful = ask_ && can_be_asked(*backend) ? &doubtful : nullptr;
  write(*backend, [&](core::object_table& table) {
    for (std::size_t i = 0; i < events_per_hold && at.next_event < batch.events.size(); ++i, ++at.next_event) {
      const core::event& next = batch.events[at.next_event];
      if (std::holds_alternative<core::cleared_event>(next) || core::backend_of(next, from) != name) break;
      core::apply_object_event(next, from, tick, table, tally);
    }
  });
  tally.doubtful = nullptr;
  hand_over(*backend, doubtful);
  return at.next_event == batch.events.size();
}

bool object_shelves::forget_some(std::string_view backend, std::size_t budget) {
  const std::optional<std::uint32_t> number = find(backend);
  if (!number) return true;
  if (can_be_asked(*number)) {
    if (tell_of_loss_) tell_of_loss_(*number);
    doubt(*number);
    return true;
  }
  const core::cleared_objects all{std::string(backend)};
  progress at;
  for (std::size_t done = 0; done < budget; done += objects_per_hold) {
    if (clear_some(all, at)) return true;
  }
  return false;
}

void object_shelves::doubt(std::uint32_t backend) {
  write(backend, [&](core::object_table& table) {
    for (const std::uint32_t owner : table.owners_of(name(backend))) table.doubt_all(owner, now());
  });
}

void object_shelves::doubt(const changed_objects& which) {
  const std::optional<std::uint32_t> backend = find(which.backend);
  if (!backend) return;
  write(*backend, [&](core::object_table& table) {
    const std::uint32_t owner = table.find_owner(which.backend, which.tenant);
    if (owner == core::no_record) return;
    for (const std::string& each : which.keys) {
      if (const std::uint32_t object = table.find(owner, each); object != core::no_record) table.doubt(object);
    }
  });
}

void object_shelves::attach(std::uint32_t backend, lane& home, std::weak_ptr<index_inlet> inlet) {
  {
    const std::unique_lock writing(names_lock_);
    auto& all = entries_[backend].inlets;
    std::erase_if(all, [](const auto& each) { return each.second.expired(); });
    if (all.size() < most_inlets) all.emplace_back(&home, std::move(inlet));
  }
  doubt(backend);  // behind the inlet, so that whatever is confirmed from now on reaches it
}

void object_shelves::detach(std::uint32_t backend, const std::weak_ptr<index_inlet>& inlet) {
  const std::unique_lock writing(names_lock_);
  std::erase_if(entries_[backend].inlets, [&inlet](const auto& each) {
    return each.second.expired() || (!each.second.owner_before(inlet) && !inlet.owner_before(each.second));
  });
}

bool object_shelves::is_spoken_for(std::uint32_t backend) const {
  const std::shared_lock reading(names_lock_);
  return std::ranges::any_of(entries_[backend].inlets, [](const auto& each) { return !each.second.expired(); });
}

std::vector<std::pair<lane*, std::weak_ptr<index_inlet>>> object_shelves::inlets(std::uint32_t backend) const {
  const std::shared_lock reading(names_lock_);
  return entries_[backend].inlets;
}

object_shelves::totals object_shelves::sum() const {
  totals all;
  for (std::uint32_t i = 0; i < shelf_count; ++i) {
    read(i, [&](const core::object_table& table) {
      all.objects += table.size();
      for (std::size_t kind = 0; kind < core::replica_kinds; ++kind) {
        all.complete[kind] += table.with_complete(static_cast<core::replica_kind>(kind));
      }
      all.bytes += table.bytes();
      all.refused += table.counts().refused;
      all.replicas_left_out += table.counts().replicas_left_out;
    });
  }
  return all;
}

}  // namespace kvc::net

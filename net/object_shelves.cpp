#include "net/object_shelves.hpp"

#include <algorithm>
#include <exception>

namespace kvc::net {
namespace {

constexpr std::size_t objects_per_hold = 256;  ///< forgotten; some 50 us
constexpr std::size_t looks_per_hold = 512;    ///< at objects that may have what is cleared
constexpr std::size_t most_inlets = 64;        ///< of one backend
constexpr std::size_t most_former = 1'024;     ///< backends that have given way within `kept_for`
constexpr std::chrono::seconds kept_for{60};   ///< far longer than anybody looks at a name

bool is_same(const std::weak_ptr<index_inlet>& one, const std::weak_ptr<index_inlet>& other) noexcept {
  return !one.owner_before(other) && !other.owner_before(one);
}

/// Calls `take(tenant, keys)` for each tenant's neighbours.
void by_tenant(std::vector<core::named_object>& all, const auto& take) {
  for (std::size_t at = 0; at < all.size();) {
    const std::string tenant = all[at].tenant;
    std::vector<std::string> keys;
    for (; at < all.size() && all[at].tenant == tenant; ++at) keys.push_back(std::move(all[at].key));
    take(tenant, std::move(keys));
  }
}

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
  return number_of(backend);
}

std::optional<std::uint32_t> object_shelves::keep(std::string_view backend) {
  const std::unique_lock writing(names_lock_);
  const std::optional<std::uint32_t> number = number_of(backend);
  if (number) entries_[*number].has_store = true;
  return number;
}

void object_shelves::release(std::uint32_t backend) {
  const std::unique_lock writing(names_lock_);
  entries_[backend].has_store = false;
}

/// Whether a stream speaks for a backend. Under the lock of the names.
bool object_shelves::has_stream(const entry& one) {
  return std::ranges::any_of(one.inlets, [](const auto& each) { return !each->to().expired(); });
}

bool object_shelves::has_objects(const core::object_table& table, std::string_view backend) {
  const std::vector<std::uint32_t> owners = table.owners_of(backend);
  return std::ranges::any_of(owners, [&table](std::uint32_t owner) { return table.objects_of(owner) != 0; });
}

bool object_shelves::is_in_use(std::string_view backend) const {
  const std::shared_lock reading(names_lock_);
  const auto found = numbers_.find(backend);
  if (found == numbers_.end()) return false;
  const entry& one = entries_[found->second];
  if ((one.has_store && can_be_asked(found->second)) || has_stream(one)) return true;
  return read(found->second, [backend](const core::object_table& table) { return has_objects(table, backend); });
}

std::optional<std::uint32_t> object_shelves::number_of(std::string_view backend) {
  if (const auto found = numbers_.find(backend); found != numbers_.end()) return found->second;
  const std::uint32_t fresh = backends();
  const std::string text(backend);
  if (fresh == most_backends) {
    const std::optional<std::uint32_t> number = give_way(text);
    if (number) numbers_.emplace(text, *number);
    return number;
  }
  entries_[fresh].text = std::make_unique<const std::string>(text);
  entries_[fresh].name.store(entries_[fresh].text.get(), std::memory_order_release);
  numbers_.emplace(text, fresh);
  known_.store(fresh + 1, std::memory_order_release);
  return fresh;
}

/// A number of a backend that is not in use, which means another one from now on; the longest unused ones first, more or less.
std::optional<std::uint32_t> object_shelves::give_way(const std::string& to) {
  const std::uint32_t tick = now();
  while (!former_.empty() && former_.front().until <= tick) former_.pop_front();
  if (former_.size() == most_former) return std::nullopt;
  auto text = std::make_unique<const std::string>(to);
  for (std::size_t tried = 0; tried < most_backends; ++tried) {
    const std::uint32_t number = next_to_give_way_++ % most_backends;
    entry& one = entries_[number];
    if (one.has_store || has_stream(one)) continue;
    // Under the lock of the table: whoever writes to it next sees that the number means another backend.
    const bool is_free = write(number, [&](core::object_table& table) {
      if (has_objects(table, *one.text)) return false;
      one.name.store(text.get(), std::memory_order_release);
      return true;
    });
    if (!is_free) continue;
    numbers_.erase(*one.text);
    former_.push_back({std::move(one.text), tick + ticks(kept_for)});
    one.text = std::move(text);
    one.inlets.clear();
    return number;
  }
  return std::nullopt;
}

bool object_shelves::clear_some(const core::cleared_objects& which, progress& at, std::vector<core::named_object>* lost) {
  const std::optional<std::uint32_t> backend = find(which.backend);
  if (!backend) return true;
  if (tell_of_loss_) tell_of_loss_(*backend);
  const std::uint32_t tick = now();
  return write(*backend, [&](core::object_table& table) {
    const auto note = [&](std::uint32_t object) {
      lost->push_back({std::string(table.tenant_of(table.owner_of(object))), std::string(table.key(object))});
    };
    std::size_t budget = objects_per_hold;
    for (const std::uint32_t owner : table.owners_of(which.backend)) {
      if (which.tenant && table.tenant_of(owner) != *which.tenant) continue;
      table.note_cleared(owner, tick);
      if (!which.kinds.empty() || budget == 0 || table.objects_of(owner) == 0) continue;
      std::uint32_t next = lost != nullptr ? table.most_doubtful(owner) : core::no_record;
      for (std::size_t i = 0; i < budget && next != core::no_record; ++i, next = table.next_doubtful(next)) note(next);
      static_cast<void>(table.clear_some(owner, budget, tick));
      budget = 0;  // one owner at a time, and then a look whether there is another
    }
    if (which.kinds.empty()) return budget != 0;
    const std::function<void(std::uint32_t)> told = lost != nullptr ? std::function<void(std::uint32_t)>(note) : nullptr;
    const bool is_done = table.clear_kinds_some(which.backend, which.tenant, which.kinds, at.next_object, looks_per_hold, tick, told);
    if (is_done) at.next_object = 0;
    return is_done;
  });
}

bool object_shelves::is_heard_by_others(std::uint32_t backend, const std::weak_ptr<index_inlet>& speaker) const {
  const std::shared_lock reading(names_lock_);
  return std::ranges::any_of(entries_[backend].inlets, [&](const auto& each) { return !is_same(each->to(), speaker); });
}

/// Calls `work(mail)` for every inlet but that of `speaker`. Takes no memory.
template <class Work>
void object_shelves::each_other(std::uint32_t backend, const std::weak_ptr<index_inlet>& speaker, Work work) const {
  const std::shared_lock reading(names_lock_);
  for (const std::shared_ptr<inlet_mail>& each : entries_[backend].inlets) {
    if (!is_same(each->to(), speaker)) work(*each);
  }
}

void object_shelves::tell_lost(std::uint32_t backend, std::vector<core::named_object>& lost,
                               const std::weak_ptr<index_inlet>& speaker) const {
  by_tenant(lost, [&](const std::string& tenant, std::vector<std::string> keys) {
    tell(backend, {name(backend), tenant, std::move(keys)}, speaker);
  });
}

bool object_shelves::apply_some(const core::event_batch& batch, const core::object_source& from, progress& at, core::object_tally& tally,
                                const std::weak_ptr<index_inlet>& speaker) {
  if (at.next_event == batch.events.size()) return true;
  at.are_others_behind = false;
  std::optional<std::uint32_t> heard_of;  // by others
  try {
    apply_next(batch, from, at, tally, speaker, heard_of);
    if (heard_of) at.are_others_behind = is_any_behind(*heard_of, speaker);
  } catch (const std::exception&) {
    if (heard_of) each_other(*heard_of, speaker, [](inlet_mail& each) { each.lose_track(); });
    throw;
  }
  return at.next_event == batch.events.size();
}

bool object_shelves::is_any_behind(std::uint32_t backend, const std::weak_ptr<index_inlet>& speaker) const {
  bool is_behind = false;
  each_other(backend, speaker, [&is_behind](const inlet_mail& each) { is_behind = is_behind || each.is_behind(); });
  return is_behind;
}

bool object_shelves::are_others_behind(std::string_view backend, const std::weak_ptr<index_inlet>& speaker) const {
  const std::optional<std::uint32_t> number = find(backend);
  return number && is_any_behind(*number, speaker);
}

/// `heard_of`: the backend, from when on others have to hear of what is lost.
void object_shelves::apply_next(const core::event_batch& batch, const core::object_source& from, progress& at, core::object_tally& tally,
                                const std::weak_ptr<index_inlet>& speaker, std::optional<std::uint32_t>& heard_of) {
  if (const auto cleared = core::cleared_by(batch.events[at.next_event], from)) {
    const std::optional<std::uint32_t> whose = find(cleared->backend);
    if (whose && is_heard_by_others(*whose, speaker)) heard_of = whose;
    std::vector<core::named_object> lost;
    if (clear_some(*cleared, at, heard_of ? &lost : nullptr)) ++at.next_event;
    if (heard_of) tell_lost(*whose, lost, speaker);
    return;
  }
  // Neighbours of one backend are applied under one lock.
  const std::string& name = core::backend_of(batch.events[at.next_event], from);
  const std::optional<std::uint32_t> backend = open(name);
  if (!backend) {
    ++tally.refused;
    ++at.next_event;
    return;
  }
  const std::uint32_t tick = now();
  std::vector<core::named_object> doubtful;
  std::vector<core::named_object> lost;
  tally.doubtful = ask_ && can_be_asked(*backend) ? &doubtful : nullptr;
  if (is_heard_by_others(*backend, speaker)) heard_of = backend;
  tally.lost = heard_of ? &lost : nullptr;
  write(*backend, [&](core::object_table& table) {
    if (this->name(*backend) != name) return;  // it has given way meanwhile, and gets another number in the next turn
    for (std::size_t i = 0; i < events_per_hold && at.next_event < batch.events.size(); ++i, ++at.next_event) {
      const core::event& next = batch.events[at.next_event];
      if (std::holds_alternative<core::cleared_event>(next) || core::backend_of(next, from) != name) break;
      core::apply_object_event(next, from, tick, table, tally);
    }
  });
  tally.doubtful = nullptr;
  tally.lost = nullptr;
  by_tenant(doubtful, [&](const std::string& tenant, std::vector<std::string> keys) { ask_(*backend, tenant, std::move(keys)); });
  tell_lost(*backend, lost, speaker);
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

bool object_shelves::attach(std::string_view backend, lane& home, std::weak_ptr<index_inlet> inlet) {
  std::optional<std::uint32_t> number;
  {
    const std::unique_lock writing(names_lock_);
    number = number_of(backend);
    if (!number) return false;
    auto& all = entries_[*number].inlets;
    std::erase_if(all, [](const auto& each) { return each->to().expired(); });
    const bool is_there = std::ranges::any_of(all, [&inlet](const auto& each) { return is_same(each->to(), inlet); });
    if (!is_there && all.size() < most_inlets) all.push_back(std::make_shared<inlet_mail>(home, std::move(inlet)));
  }
  doubt(*number);  // behind the inlet, so that whatever is confirmed from now on reaches it
  return true;
}

void object_shelves::detach(std::string_view backend, const std::weak_ptr<index_inlet>& inlet) {
  const std::unique_lock writing(names_lock_);
  const auto number = numbers_.find(backend);
  if (number == numbers_.end()) return;
  std::erase_if(entries_[number->second].inlets, [&inlet](const auto& each) { return each->to().expired() || is_same(each->to(), inlet); });
}

bool object_shelves::is_spoken_for(std::string_view backend) const {
  const std::shared_lock reading(names_lock_);
  const auto number = numbers_.find(backend);
  if (number == numbers_.end()) return false;
  return has_stream(entries_[number->second]);
}

std::vector<std::pair<lane*, std::weak_ptr<index_inlet>>> object_shelves::inlets(std::uint32_t backend) const {
  std::vector<std::pair<lane*, std::weak_ptr<index_inlet>>> all;
  const std::shared_lock reading(names_lock_);
  for (const std::shared_ptr<inlet_mail>& each : entries_[backend].inlets) all.emplace_back(&each->home(), each->to());
  return all;
}

void object_shelves::tell(std::uint32_t backend, const changed_objects& what, const std::weak_ptr<index_inlet>& speaker) const {
  each_other(backend, speaker, [&what](inlet_mail& each) { each.send(what); });
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

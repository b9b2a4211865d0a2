#include "core/object_feed.hpp"

#include <variant>
#include <vector>

#include "core/pool_key.hpp"
#include "core/reconcile.hpp"

namespace kvc::core {
namespace {

const event_scope& scope_of(const event& what) noexcept {
  return std::visit([](const auto& each) -> const event_scope& { return each.scope; }, what);
}

/// The kind of the one replica an event speaks of. Who says nothing means memory, which is where objects are put first.
replica_kind kind_in(const event_scope& scope) noexcept {
  if (scope.replica) return *scope.replica;
  return scope.medium ? replica_kind_of({}, *scope.medium, false) : replica_kind::memory;
}

/// What a pool calls the block (pool_applier): by the event, else by the key. Several blocks under one key have no name together.
std::optional<std::uint64_t> block_in(const event& what) noexcept {
  std::optional<engine_hash> told;
  if (const auto* stored = std::get_if<stored_event>(&what)) {
    if (stored->hashes.size() != 1) return std::nullopt;
    told = stored->hashes.front();
  } else if (const auto* object = std::get_if<object_event>(&what)) {
    told = object->name;
  }
  const pool_key key = parse_pool_key(scope_of(what).object_key);
  if (key.form != key_form::opaque && (!told || names_by_beginning(key))) told = folded_name_of(key);
  return told ? std::optional(told->get()) : std::nullopt;
}

void remove_kind(object_table& table, std::uint32_t owner, std::string_view key, replica_kind kind, std::uint32_t now_s) {
  table.remove(owner, key, kind, now_s);
  if (kind == replica_kind::local_disk) table.remove(owner, key, replica_kind::disk, now_s);
}

/// On what the object is by the table.
media_mask media_by(const object_table& table, std::uint32_t owner, std::string_view key) {
  const std::uint32_t object = owner == no_record ? no_record : table.find(owner, key);
  return object == no_record ? media_mask{0} : media_of(table.replicas(object));
}

/// The number of the object, if it is there afterwards.
std::uint32_t store_replicas(const object_event& what, object_table& table, std::uint32_t owner, std::uint32_t now_s) {
  std::vector<replica_view> all;
  all.reserve(what.replicas.size());
  for (const object_replica& each : what.replicas) all.push_back({each.kind, replica_state::complete, each.location});
  return table.set(owner, what.scope.object_key, all, now_s);
}

}  // namespace

const std::string& backend_of(const event& what, const object_source& from) noexcept {
  const event_scope& scope = scope_of(what);
  return scope.backend ? *scope.backend : from.backend;
}

void apply_object_event(const event& what, const object_source& from, std::uint32_t now_s, object_table& table, object_tally& tally) {
  const event_scope& scope = scope_of(what);
  if (scope.object_key.empty() || std::holds_alternative<cleared_event>(what)) return;
  const std::string& backend = backend_of(what, from);
  const std::string& tenant = scope.tenant ? *scope.tenant : from.tenant;
  const auto* const object = std::get_if<object_event>(&what);
  const auto* const removed = std::get_if<removed_event>(&what);
  const bool lists_replicas = object != nullptr && (object->what == object_event::change::updated || !object->replicas.empty());
  const bool goes = removed != nullptr || (object != nullptr && object->what == object_event::change::removed) ||
                    (lists_replicas && object->replicas.empty());
  // Where somebody can be asked, an answer that is on its way may be about an object of which nobody has told yet.
  const bool has_to_be_known = !goes || tally.doubtful != nullptr;
  const std::uint32_t owner = has_to_be_known ? table.owner(backend, tenant) : table.find_owner(backend, tenant);
  const media_mask before = tally.lost == nullptr ? media_mask{0} : media_by(table, owner, scope.object_key);
  const auto note_lost = [&] {
    if (before != 0 && (before & ~media_by(table, owner, scope.object_key)) != 0) tally.lost->push_back({tenant, scope.object_key});
  };
  if (goes) {
    if (owner != no_record) {
      const bool is_one_kind = scope.replica && !lists_replicas && !(removed != nullptr ? removed->all_media : object->all_media);
      if (is_one_kind) {
        remove_kind(table, owner, scope.object_key, *scope.replica, now_s);
        const bool is_doubtful = tally.doubtful != nullptr && table.find(owner, scope.object_key) == no_record;
        if (is_doubtful) tally.doubtful->push_back({tenant, scope.object_key});
      } else {
        table.remove(owner, scope.object_key, std::nullopt, now_s);
      }
    }
    note_lost();
    ++tally.removed;
    return;
  }
  std::uint32_t number = no_record;
  if (owner != no_record) {
    number = lists_replicas ? store_replicas(*object, table, owner, now_s)
                            : table.add(owner, scope.object_key, {kind_in(scope), replica_state::complete, {}}, now_s);
  }
  note_lost();
  if (number == no_record) {
    ++tally.refused;
    return;
  }
  ++tally.stored;
  if (const auto block = block_in(what)) table.set_block(number, *block);
}

std::optional<cleared_objects> cleared_by(const event& what, const object_source& from) {
  const auto* const cleared = std::get_if<cleared_event>(&what);
  if (cleared == nullptr) return std::nullopt;
  cleared_objects which{cleared->scope.backend.value_or(from.backend), cleared->scope.tenant, {}};
  if (cleared->scope.medium || cleared->scope.replica) which.kinds.push_back(kind_in(cleared->scope));
  // Who says so may not be able to tell the two disks apart.
  if (!which.kinds.empty() && which.kinds.front() == replica_kind::local_disk) which.kinds.push_back(replica_kind::disk);
  return which;
}

}  // namespace kvc::core

// What events of stores mean for the table of objects.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "core/event.hpp"
#include "core/object_table.hpp"

namespace kvc::core {

/// Whose objects a stream speaks about where its events do not say.
struct object_source {
  std::string backend;
  std::string tenant;
};

/// What an object is called among those of its backend.
struct named_object {
  std::string tenant;
  std::string key;
};

/// What events came to.
struct object_tally {
  std::uint64_t stored = 0;   ///< replicas that are there now, and lists of them
  std::uint64_t removed = 0;  ///< replicas and objects that are not
  std::uint64_t refused = 0;  ///< events whose object could not be taken: bad key, or no room
  /// Objects whose removal from one medium left nothing that is known of them: a store that moves objects between media without a word may
  /// have them on another one. Null: nobody can be asked about that.
  std::vector<named_object>* doubtful = nullptr;
  /// Objects that are gone, or on fewer media than they were: who else has heard of them should know. Null: nobody has.
  std::vector<named_object>* lost = nullptr;
};

/// The backend an event is about.
[[nodiscard]] const std::string& backend_of(const event& what, const object_source& from) noexcept;

/// Applies one event. Events without an object change nothing; nor do clears, for which see `cleared_owner`. A list of replicas is the
/// whole truth; a medium alone is one replica more, or less. A removal that cannot say from which disk means both. Pure; the table's lane.
void apply_object_event(const event& what, const object_source& from, std::uint32_t now_s, object_table& table, object_tally& tally);

/// What a cleared event leaves empty: all objects of a backend, or of one of its tenants, or some kinds of their replicas.
struct cleared_objects {
  std::string backend;
  std::optional<std::string> tenant = {};  ///< absent: of all of them
  std::vector<replica_kind> kinds = {};    ///< none: all of them
};

/// Absent: the event is none. A medium means what it would in a removal. Pure.
[[nodiscard]] std::optional<cleared_objects> cleared_by(const event& what, const object_source& from);

}  // namespace kvc::core

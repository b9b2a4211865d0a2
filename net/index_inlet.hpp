// A way into a stream's part of the index for what is found out about its blocks elsewhere than in the stream.
#pragma once

#include <memory>
#include <span>
#include <string>
#include <vector>

#include "core/block_names.hpp"
#include "core/ids.hpp"

namespace kvc::net {

/// Objects of a backend of which the table says something else than the backend's streams have told.
struct changed_objects {
  std::string backend;
  std::string tenant;
  std::vector<std::string> keys;
  std::shared_ptr<const void> until_applied = {};  ///< held for as long as this waits, by which it is counted; see inlet_mail
};

/// Something that brings its part of the index up to what the table of objects says, between two batches of its publisher.
/// Lane: the stream's.
class index_inlet {
 public:
  index_inlet() = default;
  index_inlet(const index_inlet&) = delete;
  index_inlet& operator=(const index_inlet&) = delete;
  virtual ~index_inlet() = default;

  /// The table is looked at when the change is applied, and so is not older than what the stream tells meanwhile. Bounded work at once, the
  /// rest in further turns of the lane. Nothing is left out: nobody would tell again of an object that has gone.
  virtual void take_changes(changed_objects what) = 0;
  /// More has changed than can be told: what the inlet holds cannot be trusted any more, and what it was told and has not applied need not
  /// be.
  virtual void lose_track() = 0;
  /// Appends the names that the stream's objects have for blocks of a partition; see core::pool_applier::names_of.
  virtual void names_of(const core::partition_key& home, std::span<const core::seq_hash> blocks,
                        std::vector<core::named_block>& into) const = 0;
};

}  // namespace kvc::net

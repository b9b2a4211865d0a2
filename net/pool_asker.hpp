// Takes a pool's questions to the engines of every lane.
#pragma once

#include <atomic>
#include <cstddef>
#include <memory>

#include "core/event_applier.hpp"
#include "net/runtime.hpp"

namespace kvc::net {

/// The questions of one pool's stream: what engines call the names that its objects are under, where they stored them before the pool did.
///
/// Questions are posted to the lanes, some names at a time, and nobody waits for the answers, which come in through core::name_board. No
/// more than `most_under_way` are on the way at once; the rest stays with the pool until `ask` is called again. Lane: all members on the
/// pool's lane.
class pool_asker {
 public:
  static constexpr std::size_t names_at_once = 1'024;  ///< some 0.1 ms of a lane for each of its engines
  static constexpr std::size_t most_under_way = 64;

  /// The lane outlives what it posts.
  explicit pool_asker(lane& home) : lane_(&home) {}

  /// Sends what there is to ask. To be called when something has been applied, and now and then.
  void ask(core::event_applier& from);

 private:
  lane* lane_;
  std::shared_ptr<std::atomic<std::size_t>> under_way_ = std::make_shared<std::atomic<std::size_t>>(0);
};

}  // namespace kvc::net

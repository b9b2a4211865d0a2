// The orphans of one stream in the order in which they were last told of, whichever of its ranks they wait for.
#pragma once

#include <cstddef>
#include <list>

#include "core/ids.hpp"

namespace kvc::core {

class lane_blocks;

/// Who waits in a stream, the one told of least recently first, so that the bound is the stream's however many ranks it speaks for. The
/// orphans themselves belong to their workers (see lane_blocks). Lane: the stream's.
class orphan_line {
 public:
  struct entry {
    lane_blocks* of = nullptr;
    engine_hash name{};
  };
  using list = std::list<entry>;

  /// `most`: how many may wait; 0: none are kept.
  explicit orphan_line(std::size_t most) noexcept : most_(most) {}

  [[nodiscard]] std::size_t most() const noexcept { return most_; }
  [[nodiscard]] bool is_full() const noexcept { return all_.size() >= most_; }
  [[nodiscard]] list& all() noexcept { return all_; }
  [[nodiscard]] const list& all() const noexcept { return all_; }

  /// The youngest. The place is valid until it is removed.
  [[nodiscard]] list::iterator add(lane_blocks& of, engine_hash name) { return all_.insert(all_.end(), {&of, name}); }
  /// Told of again: as young as any.
  void renew(list::iterator which) noexcept { all_.splice(all_.end(), all_, which); }
  void remove(list::iterator which) noexcept { all_.erase(which); }

 private:
  std::size_t most_;
  list all_;
};

}  // namespace kvc::core

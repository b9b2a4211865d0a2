// Things that are needed for as long as there is work, lent to whoever has some.
#pragma once

#include <cstddef>
#include <memory>
#include <utility>
#include <vector>

namespace kvc::net {

/// Up to `most` idle things of one kind, so that of many owners only those at work have one. Owner: one lane.
template <class Thing, std::size_t most>
class spare_pool {
 public:
  /// An idle one as it was given back, or a new one. Throws std::bad_alloc.
  [[nodiscard]] std::unique_ptr<Thing> borrow() {
    if (idle_.empty()) return std::make_unique<Thing>();
    std::unique_ptr<Thing> lent = std::move(idle_.back());
    idle_.pop_back();
    return lent;
  }

  /// Takes one back, emptied of what it need not keep. Null is nothing.
  void give_back(std::unique_ptr<Thing> done) {
    if (done && idle_.size() < most) idle_.push_back(std::move(done));
  }

 private:
  std::vector<std::unique_ptr<Thing>> idle_;
};

}  // namespace kvc::net

// One query's way through the objects of one backend.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "core/block_names.hpp"
#include "net/object_shelves.hpp"
#include "net/promotion_service.hpp"
#include "net/query_leftover.hpp"
#include "net/runtime.hpp"
#include "net/store_reconciler.hpp"

namespace kvc::net {

/// Finds the objects that hold the blocks behind a query's match, and has those promoted that lie on disks only; or those of blocks that
/// it asked for, and has those read again of which nothing has been known for sure lately.
///
/// Story: blocks are looked at some at a time, each time in another turn of the lane, so that neither the lane nor the lock of a shelf is
/// held for the whole of a long prompt. An object is found by its block's sequence hash where its key or its events name it so; which names
/// else the backend's streams have for the blocks is asked before, on the lanes of those streams. A walk for promotions ends at the first
/// block that the backend has nothing of, at the end of the prompt, or when as many blocks are promoted as may be; then they are asked for.
/// Life cycle: kept by the turns it takes. Lane: that of the query, but for the questions.
class object_walk : public std::enable_shared_from_this<object_walk> {
 public:
  /// The references outlive the lanes' work.
  object_walk(lane& here, object_shelves& objects, promotion_service& promotions, store_reconciler& truth,
              std::shared_ptr<const query_leftover> what, std::uint32_t backend);

  /// On the lane of the query.
  void begin();

 private:
  void ask();
  void go_on();
  [[nodiscard]] bool look_at_some(const core::object_table& table, std::uint32_t owner);
  void take(const core::object_table& table, std::uint32_t owner, std::uint64_t name);
  [[nodiscard]] bool may_be_meant(std::string_view key) const;
  [[nodiscard]] bool is_old(const core::object_table& table, std::uint32_t object) const;
  void finish();

  lane& here_;
  object_shelves& objects_;
  promotion_service& promotions_;
  store_reconciler& truth_;
  std::shared_ptr<const query_leftover> what_;
  std::uint32_t backend_;
  std::vector<std::pair<lane*, std::weak_ptr<index_inlet>>> inlets_;
  std::size_t next_inlet_ = 0;            ///< to be asked about the blocks at hand
  std::size_t first_ = 0;                 ///< of the blocks at hand
  std::size_t last_ = 0;                  ///< behind them
  std::size_t at_ = 0;                    ///< the next one to be looked for
  std::vector<core::named_block> names_;  ///< of those at hand
  std::size_t next_name_ = 0;
  std::uint64_t promoted_ = 0;  ///< blocks
  std::size_t parts_ = 0;       ///< objects looked at in this turn
  bool is_there_ = false;       ///< something of the block
  bool is_wanted_ = false;      ///< something of it is on disk only, or old
  std::vector<std::string> keys_;
};

}  // namespace kvc::net

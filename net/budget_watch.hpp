// Looks at the byte budget of the index and says in the log what became of it.
#pragma once

#include <cstdint>
#include <memory>
#include <mutex>

#include "core/eviction.hpp"
#include "net/line_budget.hpp"

namespace kvc::net {

/// The budget of the index as its lanes see it: whoever looks first tells.
///
/// Story: an index under steady pressure goes over its budget and back several times a second. Lines of the log are for changes, so what
/// comes too often is told by its number (line_budget). Thread-safety: all members from any lane; `look` takes a lock and is rare.
class budget_watch {
 public:
  explicit budget_watch(std::shared_ptr<core::index_budget> budget) : budget_(std::move(budget)) {}

  [[nodiscard]] core::index_budget& budget() const noexcept { return *budget_; }

  /// See core::index_budget::look. Throws std::bad_alloc, and is then to be called again.
  void look();
  /// A lane's part has failed and will be tried again; `why` is for the log.
  void note_failure(std::size_t lane, const char* why) noexcept;

 private:
  void tell(core::index_budget::news news);
  void tell_kept_back();

  std::shared_ptr<core::index_budget> budget_;
  std::mutex telling_;
  line_budget lines_;  ///< under the lock, as what follows
  line_budget failures_;
};

}  // namespace kvc::net

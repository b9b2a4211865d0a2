// Memory for the index that is taken and touched before anybody needs it, by a thread that has nothing else to do.
#pragma once

#include <atomic>
#include <cstddef>
#include <optional>
#include <stop_token>
#include <string>
#include <thread>

namespace kvc::app {

/// Fills the reserve of large pages (see core::keep_page_reserve) once, at the start, and says how far it is.
///
/// Where memory is short it stops early, with a warning: the service does without. Runs from construction to destruction, which waits for
/// the page in hand. What lies in the reserve stays with the process.
class memory_reserve {
 public:
  /// `bytes` is rounded up to whole pages; 0: nothing happens.
  explicit memory_reserve(std::size_t bytes);
  memory_reserve(const memory_reserve&) = delete;
  memory_reserve& operator=(const memory_reserve&) = delete;

  /// What is still missing, in words for who waits until the service is ready; nothing once the thread is through. Any lane.
  [[nodiscard]] std::optional<std::string> missing() const;

 private:
  void fill(const std::stop_token& stop);

  std::size_t pages_;
  std::atomic<std::size_t> touched_{0};  ///< pages
  std::atomic<bool> is_done_{false};
  std::jthread thread_;  ///< last: uses the rest
};

}  // namespace kvc::app

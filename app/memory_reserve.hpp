// Memory for the index that is taken and touched before anybody needs it, by a thread that has nothing else to do.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <stop_token>
#include <string>
#include <thread>

#include "app/process_limits.hpp"

namespace kvc::app {

/// Fills the reserve of large pages (see core::keep_page_reserve) once, at the start, and says how far it is.
///
/// Where memory is short it stops early, with a warning: the service does without. It leaves `least_left` bytes to everybody else, since
/// touching what is not there would end the process. Runs from construction to destruction, which waits for the page in hand. What lies in
/// the reserve stays with the process.
class memory_reserve {
 public:
  static constexpr std::uint64_t least_left = std::uint64_t{256} << 20;

  /// `bytes` is rounded up to whole pages; 0: nothing happens. `left` tells how many bytes there are to take; called on the thread of this
  /// class only.
  explicit memory_reserve(std::uint64_t bytes, std::function<std::uint64_t()> left = memory_left);
  memory_reserve(const memory_reserve&) = delete;
  memory_reserve& operator=(const memory_reserve&) = delete;

  /// What is still missing, in words for who waits until the service is ready; nothing once the thread is through. Any lane.
  [[nodiscard]] std::optional<std::string> missing() const;

 private:
  void fill(const std::stop_token& stop);

  /// How many of the next pages may be taken; asked once for several, since the answer is in files.
  [[nodiscard]] std::size_t pages_left() const;

  std::size_t pages_;
  std::function<std::uint64_t()> left_;
  std::atomic<std::size_t> touched_{0};  ///< pages
  std::atomic<bool> is_done_{false};
  std::jthread thread_;  ///< last: uses the rest
};

}  // namespace kvc::app

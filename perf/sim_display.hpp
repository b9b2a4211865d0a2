// Shows a run while it goes on: a picture refreshed in place on a terminal, a line now and then elsewhere.
#pragma once

#include <chrono>
#include <cstddef>
#include <string>
#include <vector>

#include "perf/sim_picture.hpp"

namespace kvc::sim {

/// Standard output as a display. At most one exists.
///
/// On a terminal, `show` draws over what it drew before and hides the cursor; `finish` (also the destructor) brings the cursor back and
/// leaves the last picture standing. Otherwise `show` prints a line, at most one per `line_pause`.
/// Thread-safety: none; one owner. `restore_cursor` may be called from anywhere, for ends that nobody planned.
class display {
 public:
  static constexpr std::chrono::milliseconds picture_pause{250};
  static constexpr std::chrono::seconds line_pause{5};

  explicit display(bool plain);
  ~display();
  display(const display&) = delete;
  display& operator=(const display&) = delete;

  [[nodiscard]] bool is_terminal() const noexcept { return is_terminal_; }
  void show(const picture& now, const options& chosen);
  /// Prints lines below what is drawn; the next `show` draws below them.
  void print(const std::vector<std::string>& lines);
  void finish();

  static void restore_cursor() noexcept;

 private:
  bool is_terminal_;
  std::size_t drawn_ = 0;  ///< lines of the picture on the screen
  bool is_cursor_hidden_ = false;
  std::chrono::steady_clock::time_point last_line_{};
};

}  // namespace kvc::sim

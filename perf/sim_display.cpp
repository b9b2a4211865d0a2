#include "perf/sim_display.hpp"

#include <cstdio>
#include <string_view>
#include <sys/ioctl.h>
#include <unistd.h>

namespace kvc::sim {
namespace {

void write_out(std::string_view text) {
  std::fwrite(text.data(), 1, text.size(), stdout);
  std::fflush(stdout);
}

/// Columns of the terminal; asked each time, because windows change.
std::size_t terminal_width() {
  winsize size{};
  if (::ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) != 0 || size.ws_col == 0) return 100;
  return size.ws_col;
}

}  // namespace

display::display(bool plain) : is_terminal_(!plain && ::isatty(STDOUT_FILENO) == 1) {}

display::~display() {
  finish();
}

void display::restore_cursor() noexcept {
  constexpr std::string_view shown = "\x1b[?25h\n";
  // Nothing can be done about a terminal that is gone.
  [[maybe_unused]] const auto written = ::write(STDOUT_FILENO, shown.data(), shown.size());
}

void display::show(const picture& now, const options& chosen) {
  const auto moment = std::chrono::steady_clock::now();
  if (!is_terminal_) {
    if (moment - last_line_ < line_pause) return;
    last_line_ = moment;
    write_out(render_line(now) + "\n");
    return;
  }
  std::string out;
  if (!is_cursor_hidden_) out += "\x1b[?25l";
  is_cursor_hidden_ = true;
  if (drawn_ > 0) out += "\x1b[" + std::to_string(drawn_) + "A";
  // The last column stays free: writing into it makes some terminals wrap.
  const auto lines = render(now, chosen, terminal_width() - 1);
  for (const auto& line : lines) out += "\r" + line + "\x1b[K\n";
  out += "\x1b[J";
  drawn_ = lines.size();
  write_out(out);
}

void display::print(const std::vector<std::string>& lines) {
  std::string out;
  for (const auto& line : lines) out += line + "\n";
  drawn_ = 0;
  write_out(out);
}

void display::finish() {
  if (!is_cursor_hidden_) return;
  is_cursor_hidden_ = false;
  drawn_ = 0;
  write_out("\x1b[?25h");
}

}  // namespace kvc::sim

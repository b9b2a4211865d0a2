// What is known of the machine and the build that figures come from.
#pragma once

#include <string>

namespace kvc::perf {

/// In words, `unknown` where the system does not tell.
struct bench_machine {
  std::string cpu;         ///< model
  unsigned cores = 0;      ///< that this process may use
  std::string governor;    ///< of the first core's frequency
  std::string huge_pages;  ///< the setting for transparent huge pages
  std::string build;       ///< compiler, and a warning where the build cannot give honest figures
  std::string date;        ///< today, UTC, year-month-day
  std::string commit;      ///< of the repository in the current folder
};

/// Asks the system, and git in a process of its own.
[[nodiscard]] bench_machine describe_machine();

}  // namespace kvc::perf

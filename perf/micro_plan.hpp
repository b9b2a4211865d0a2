// What `kv-conductor-bench codec` and `json` are asked to do.
#pragma once

#include <cstdint>
#include <string>

namespace kvc::perf {

struct micro_plan {
  std::string form{};                ///< of events, codec only; empty: every one
  std::uint32_t milliseconds = 200;  ///< that one figure is measured for, at least
  std::uint32_t repeat = 1;
  std::string out{};     ///< a page in Markdown; empty: none
  std::string commit{};  ///< empty: ask git in the current folder
  bool as_json = false;
  bool with_yardstick = true;
};

}  // namespace kvc::perf

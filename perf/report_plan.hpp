// What `kv-conductor-bench report` is asked to do.
#pragma once

#include <cstdint>
#include <string>

namespace kvc::perf {

struct report_plan {
  std::string folder{};   ///< where the page and its plots are written
  std::string ingest{};   ///< results of `ingest --mode all --json`; empty: measured now
  std::string http{};     ///< of `http --sweep --json`
  std::string e2e{};      ///< of `e2e --json`
  std::string trace{};    ///< for what is measured now; empty: requests made up by a seed
  std::string program{};  ///< the server; empty: the one of the same build
  std::string commit{};   ///< empty: ask git in the current folder
  std::string remark{};   ///< a sentence about the circumstances, on the page
  bool is_quick = false;  ///< everything small: to see that it works, not to believe it
  bool only_scale = false;
  std::uint32_t cores = 32;                  ///< of a node of the scale model
  std::uint32_t memory_gib = 128;            ///< of the same
  std::uint32_t engine_blocks = 10'000;      ///< that an engine holds
  std::uint32_t engine_events = 50;          ///< blocks per second, stored and removed
  double engine_queries = 1;                 ///< per second
  std::uint64_t check_entries = 50'000'000;  ///< of the measured point that the model is held against
};

}  // namespace kvc::perf

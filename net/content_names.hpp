// Names that are made of a page's tokens alone, as SGLang gave them until November 2025, and which of them are known to mean two pages.
#pragma once

#include <cstddef>
#include <optional>
#include <span>

#include <boost/unordered/unordered_flat_set.hpp>

#include "core/ids.hpp"
#include "core/spread.hpp"
#include "net/tape_value.hpp"

namespace kvc::net {

/// The name of a page by its tokens: Python's hash of their tuple, of pairs that of the tuple of pairs. (Source: kv-events.md section 3;
/// CPython's tupleobject.c, since 3.8.) Absent: these are no tokens.
[[nodiscard]] std::optional<core::engine_hash> content_name_of(tape_value tokens);

/// Names of one stream that do not tell behind which page something hangs, since the prompts of its engine have the page twice in a row.
/// Owner: one stream, on its lane.
class ambiguous_names {
 public:
  static constexpr std::size_t max_names = 65'536;  ///< beyond them every name counts as one

  void add(std::span<const core::engine_hash> names);
  void clear() noexcept;
  [[nodiscard]] bool is_any() const noexcept { return is_full_ || !names_.empty(); }
  [[nodiscard]] bool covers(core::engine_hash name) const { return is_full_ || names_.contains(name); }

 private:
  boost::unordered_flat_set<core::engine_hash, core::name_spread> names_;
  bool is_full_ = false;
};

}  // namespace kvc::net

// Numbers that outsiders choose, spread so that none of them can tell which fall together in a table.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>

#include "core/ids.hpp"

namespace kvc::core {

namespace detail {
/// See `set_spread_secret`.
inline std::atomic<std::uint64_t> the_spread_secret{0};
}  // namespace detail

/// What `spread` begins with, 0 unless set. To be set once, before anything is spread: tables do not survive a change. A server draws it at
/// its start; whoever wants the same tables each time, as tests and benchmarks do, leaves it alone.
inline void set_spread_secret(std::uint64_t secret) noexcept {
  detail::the_spread_secret.store(secret, std::memory_order_relaxed);
}
[[nodiscard]] inline std::uint64_t spread_secret() noexcept {
  return detail::the_spread_secret.load(std::memory_order_relaxed);
}

/// One number for another, all bits of which depend on the secret. Publishers choose the names of their blocks, and a table without a
/// secret can be filled with names of one bucket.
[[nodiscard]] inline std::uint64_t spread(std::uint64_t chosen) noexcept {
  std::uint64_t mixed = (chosen ^ spread_secret()) * 0xD6E8'FEB8'6659'FD93U;
  mixed = (mixed ^ mixed >> 32) * 0xD6E8'FEB8'6659'FD93U;
  return mixed ^ mixed >> 32;
}

/// For the tables of libraries.
struct number_spread {
  using is_avalanching = void;  ///< tells Boost's tables that they need not mix it once more
  [[nodiscard]] std::size_t operator()(std::uint64_t chosen) const noexcept { return static_cast<std::size_t>(spread(chosen)); }
};
struct name_spread {
  [[nodiscard]] std::size_t operator()(engine_hash name) const noexcept { return static_cast<std::size_t>(spread(name.get())); }
};

}  // namespace kvc::core

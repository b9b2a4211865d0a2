// What the process keeps in memory, from the system.
#pragma once

#include <cstddef>

namespace kvc::perf {

/// Resident anonymous bytes of the process (heap and arenas; mapped files are not counted), after freed heap pages were given back.
/// What lies in the reserve of large pages does not count: nothing uses it yet.
[[nodiscard]] std::size_t anonymous_bytes();

}  // namespace kvc::perf

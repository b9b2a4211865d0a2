// What the process keeps in memory, from the system.
#pragma once

#include <cstddef>

namespace kvc::perf {

/// Resident anonymous bytes of the process (heap and arenas; mapped files are not counted), after freed heap pages were given back.
[[nodiscard]] std::size_t anonymous_bytes();

}  // namespace kvc::perf

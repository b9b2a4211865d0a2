// Numbers that whoever starts a test may choose: seeds, and how much of what is random is run.
#pragma once

#include <cstdint>
#include <cstdlib>

namespace kvc::test {

/// The number in an environment variable, such as KVC_PROPERTY_SEED; `otherwise` where it is not set.
[[nodiscard]] inline std::uint64_t setting(const char* name, std::uint64_t otherwise) {
  const char* const text = std::getenv(name);
  return text == nullptr ? otherwise : std::strtoull(text, nullptr, 10);
}

}  // namespace kvc::test

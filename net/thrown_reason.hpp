// What is said of something that was thrown.
#pragma once

#include <exception>
#include <string>

namespace kvc::net {

/// What `thrown`, which is not null, says of itself: for a log line or an answer. Throws std::bad_alloc. Any lane.
[[nodiscard]] inline std::string reason_of(const std::exception_ptr& thrown) {
  try {
    std::rethrow_exception(thrown);
  } catch (const std::exception& known) {
    return known.what();
  } catch (...) {
    return "not a standard exception";
  }
}

}  // namespace kvc::net

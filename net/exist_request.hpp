// POST /exist: what is asked. Pure.
#pragma once

#include <cstdint>
#include <string_view>
#include <utility>
#include <vector>

#include "net/refusal.hpp"
#include "net/request_document.hpp"

namespace kvc::net {

/// Views live as long as the body and the document it was read from.
struct exist_request {
  bool is_single = false;              ///< one key, and one answer
  std::vector<std::string_view> keys;  ///< in order; what is no text is an empty one, which is no key
  std::string_view tenant = "default";
  std::string_view backend;  ///< empty: any
  bool prefetch = false;
  std::string_view preferred;
  std::uint64_t wait_ms = 0;

  /// As new, with the memory it has.
  void clear() {
    std::vector<std::string_view> kept = std::move(keys);
    kept.clear();
    *this = exist_request();
    keys = std::move(kept);
  }
};

inline constexpr std::uint64_t longest_exist_wait_ms = 25'000;  ///< below the server's own patience

/// Reads a body that is as plain as clients write it, in one pass. False: `into` is in any state, and `read_exist` must have a look; what
/// both accept they read alike.
[[nodiscard]] bool scan_exist(std::string_view body, std::size_t most_keys, exist_request& into);

/// Reads a document of shape `single_of_bytes`. A key of another type than text is a bad key, not a bad request.
[[nodiscard]] checked read_exist(const request_document& document, std::size_t most_keys, exist_request& into);

}  // namespace kvc::net

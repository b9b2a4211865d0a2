// POST /stores and the configuration file's `stores`: a store as a client registers it.
#pragma once

#include <cstdint>
#include <string>

#include "net/refusal.hpp"
#include "net/request_document.hpp"
#include "net/store_url.hpp"

namespace kvc::net {

enum class store_type : std::uint8_t { mooncake_master, lmcache, webhook };
[[nodiscard]] std::string_view to_string(store_type type) noexcept;

/// A checked registration.
struct store_registration {
  std::string backend;
  store_type type = store_type::mooncake_master;
  std::string url_text;  ///< as it was given
  store_url url;
  std::uint64_t world_size = 1;  ///< of the engines behind an LMCache server

  friend bool operator==(const store_registration&, const store_registration&) = default;
};

/// Reads a registration into `out`. Pure.
[[nodiscard]] checked read_store(const request_document& document, const request_item& item, store_registration& out);

}  // namespace kvc::net

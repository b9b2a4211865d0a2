// Promotion by an LMCache multi-process server.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "net/store_caller.hpp"
#include "net/store_executor.hpp"
#include "net/store_settings.hpp"

namespace kvc::net {

/// `POST /cache/prefetches` with the tokens of the prompt, polled until it is completed (coordinator-api.md).
///
/// Such a server knows chunks by their tokens only, so what comes without tokens (a probe by key) is `unsupported`. All keys of an order
/// are parts of the one prompt and share its outcome.
class lmcache_executor final : public store_executor {
 public:
  lmcache_executor(asio::any_io_executor executor, store_url url, std::uint64_t world_size, const store_settings& settings)
      : executor_(executor), world_size_(world_size), caller_(executor, std::move(url), settings.store_call_timeout, led_by::one_server) {}

  [[nodiscard]] asio::awaitable<std::vector<promotion_outcome>> promote(const promotion_order& order,
                                                                        const promotion_progress& progress) override;
  [[nodiscard]] std::size_t keys_per_call() const noexcept override { return 1; }

 private:
  [[nodiscard]] asio::awaitable<promotion_outcome> carry_out(const promotion_order& order);

  asio::any_io_executor executor_;
  std::uint64_t world_size_;
  store_caller caller_;
};

}  // namespace kvc::net

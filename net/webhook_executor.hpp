// Promotion by whoever answers at a URL.
#pragma once

#include <memory>
#include <utility>
#include <vector>

#include "net/store_caller.hpp"
#include "net/store_executor.hpp"
#include "net/store_settings.hpp"

namespace kvc::net {

/// `POST` of `{"operation":"promote","keys":[..],"tenant_id":..,"preferred":..}`.
///
/// The answer says per key what becomes of it: `{"results":[..]}` in the order of the keys, or `{"results":{KEY:..}}`, of the words of the
/// interface (accepted, already, rejected_pressure, unsupported, failed). 429 and 503 are `rejected_pressure` of all. What is refused
/// otherwise for what may be one key's fault is asked for again in halves (`halving`), so that the key costs itself only. `accepted` is a
/// promise, which nobody verifies: the store's events tell when the copy is there.
class webhook_executor final : public store_executor {
 public:
  webhook_executor(asio::any_io_executor executor, store_url url, const store_settings& settings)
      : caller_(executor, std::move(url), settings.store_call_timeout, led_by::one_server) {}

  [[nodiscard]] asio::awaitable<std::vector<promotion_outcome>> promote(const promotion_order& order,
                                                                        const promotion_progress& progress) override;

 private:
  store_caller caller_;
};

}  // namespace kvc::net

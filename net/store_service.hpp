// The stores' half of the service: probes that may prefetch, and the stores that carry it out.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include <boost/asio/awaitable.hpp>

#include "net/aside.hpp"
#include "net/exist_lookup.hpp"
#include "net/http_service.hpp"
#include "net/object_shelves.hpp"
#include "net/promotion_service.hpp"
#include "net/query_prefetch.hpp"
#include "net/request_document.hpp"
#include "net/runtime.hpp"
#include "net/store_reconciler.hpp"
#include "net/store_registration.hpp"
#include "net/store_settings.hpp"

namespace kvc::net {

/// Owner of the tables, the promotions and the registered stores; serves /exist and /stores.
///
/// Life cycle: construct before the fleet, whose streams fill the tables; `start` once the lanes run; destroyed after they have stopped.
/// Lane: probes are answered on the lane that read them, long bodies are read beside the lanes; stores belong to the home lane, the first.
class store_service final : public http_service {
 public:
  store_service(runtime& lanes, store_settings settings);
  ~store_service() override;

  /// Registers these stores, as POST /stores would. From any thread.
  void start(std::vector<store_registration> configured = {});

  [[nodiscard]] http_plan plan(const http_request& head) override;
  [[nodiscard]] bool has_to_wait(lane& here, const http_request& request, const http_plan& plan) override;
  [[nodiscard]] http_reply answer_now(lane& here, const http_request& request, const http_plan& plan) override;
  [[nodiscard]] asio::awaitable<http_reply> answer(lane& here, const http_request& request, const http_plan& plan) override;

  [[nodiscard]] object_shelves& objects() noexcept { return objects_; }
  [[nodiscard]] query_prefetch& queries() noexcept { return queries_; }
  /// The stores' part of GET /metrics.
  [[nodiscard]] std::string metrics() const;

 private:
  struct scratch;
  struct registered {
    store_registration as;
    std::shared_ptr<promotion_target> target;
  };

  [[nodiscard]] checked read_probe(const http_request& request, scratch& with) const;
  [[nodiscard]] http_reply probe_reply(lane& here, const scratch& from, wire_form form) const;
  [[nodiscard]] asio::awaitable<http_reply> answer_alone(lane& here, const http_request& request);

  // Home lane.
  [[nodiscard]] asio::awaitable<http_reply> register_store(const http_request& request);
  [[nodiscard]] http_reply unregister_store(const http_request& request);
  [[nodiscard]] http_reply list_stores(const http_request& request) const;
  [[nodiscard]] asio::awaitable<http_reply> carry_out(const http_request& request, std::uint8_t handler);
  /// What it came to: whether something changed, and whether another one had been there; absent: there is no room.
  struct added {
    bool changed = false;
    bool replaced = false;
  };
  [[nodiscard]] std::optional<added> add(const store_registration& wanted);
  /// The store that knew where the backend's objects are has gone: they go as well, unless a stream speaks for them.
  [[nodiscard]] asio::awaitable<void> let_go(std::string backend);

  runtime& lanes_;
  const store_settings settings_;
  object_shelves objects_;
  store_reconciler truth_;
  promotion_service promotions_;
  query_prefetch queries_;
  std::map<std::string, registered, std::less<>> stores_;  ///< home lane
  std::vector<std::unique_ptr<scratch>> scratches_;        ///< by lane; each touched on its lane only
  aside_thread beside_{lanes_};                            ///< for every lane
};

/// Whether a path belongs to this service.
[[nodiscard]] bool is_store_path(std::string_view path) noexcept;

}  // namespace kvc::net

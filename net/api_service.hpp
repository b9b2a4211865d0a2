// The API as the server sees it: routes, access, and a handler for each.
#pragma once

#include <atomic>
#include <cstddef>
#include <memory>
#include <vector>

#include "net/api_context.hpp"
#include "net/aside.hpp"
#include "net/http_service.hpp"
#include "net/shared_pages.hpp"

namespace kvc::net {

struct query_request;
struct query_scratch;
struct query_source;

/// Serves every route of the indexer's surface. Keeps the memory that queries of one lane reuse, and a thread for what takes long: pages
/// about the whole fleet, and the reading of long bodies. Life cycle: destroyed after the lanes have stopped, and before they are
/// destroyed. Lane: called on any lane with that lane; one object serves them all. What the context refers to outlives it.
class api_service final : public http_service {
 public:
  explicit api_service(api_context context);
  ~api_service() override;

  [[nodiscard]] http_plan plan(const http_request& head) override;
  [[nodiscard]] bool has_to_wait(lane& here, const http_request& request, const http_plan& plan) override;
  [[nodiscard]] http_reply answer_now(lane& here, const http_request& request, const http_plan& plan) override;
  [[nodiscard]] asio::awaitable<http_reply> answer(lane& here, const http_request& request, const http_plan& plan) override;

  [[nodiscard]] const api_context& context() const noexcept { return context_; }

 private:
  struct scratch;

  /// Why the client may not change anything; nothing: it may.
  [[nodiscard]] checked denied_change(const http_request& request) const;
  [[nodiscard]] http_reply answer_query_request(lane& here, const http_request& request, bool by_hash);
  [[nodiscard]] http_reply answer_query(lane& here, const http_request& request, const query_request& query);
  [[nodiscard]] asio::awaitable<http_reply> answer_waiting_query(lane& here, const http_request& request, bool by_hash);
  [[nodiscard]] asio::awaitable<http_reply> answer_batch(lane& here, const http_request& request);

  api_context context_;
  std::atomic<std::size_t> dumps_{0};                ///< being made at this moment
  std::vector<std::unique_ptr<scratch>> scratches_;  ///< by lane; each touched on its lane only
  shared_pages pages_{beside_};                      ///< about the whole fleet
  aside_thread beside_{context_.lanes};              ///< for every lane; last: what is queued there uses the rest
};

}  // namespace kvc::net

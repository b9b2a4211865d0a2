// The admin interface of one stand-in master: what it answers, and every way in which it can fail to.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include <boost/asio/awaitable.hpp>

#include "net/http_server.hpp"
#include "net/http_service.hpp"
#include "perf/sim_store_world.hpp"

namespace kvc::sim {

/// One of the masters; the leader answers, the others say 503 and who leads.
///
/// | route                           | answer                                                                                    |
/// |---------------------------------|-------------------------------------------------------------------------------------------|
/// | GET /batch_query_keys?keys=A,B  | where 1 to 128 keys lie (`store_batch_answer`); decoded first and split then               |
/// | GET /query_key?key=A            | where it lies in memory; the key is taken as it was sent; grants a lease, may promote      |
/// | GET /leader                     | `{"leader":"http://host:port"}` of whoever leads; 503 during an election                   |
/// | GET /metrics                    | counters, `master_promotion_rejected_by_watermark_total` among them; every master           |
/// | GET /kv_events/status           | counters of its publisher; every master                                                    |
/// | GET /get_all_keys, GET /health  | a line per key; `OK`                                                                        |
/// | POST /sim/ACTION?key=A          | by hand: put, put_again, evict, remove, remove_all, pressure, relief, depose, elect (`master`) |
///
/// Names and form of the first rows: store-prefetch.md, Mooncake's rpc_service; of `/leader` ours. `/sim` no master has.
/// Life cycle: construct, `open` once, destroyed after the runtime has stopped. Lane: the world's, which outlives it.
class store_master final : public net::http_service {
 public:
  store_master(store_world& world, std::size_t index);
  ~store_master() override;

  /// Listens. Returns a sentence about what went wrong, or an empty one. From the thread that made the runtime, before it is started.
  [[nodiscard]] std::string open(net::runtime& lanes);

  [[nodiscard]] net::http_plan plan(const net::http_request& head) override;
  [[nodiscard]] net::http_reply answer_now(net::lane& here, const net::http_request& request, const net::http_plan& plan) override;
  [[nodiscard]] boost::asio::awaitable<net::http_reply> answer(net::lane& here, const net::http_request& request,
                                                               const net::http_plan& plan) override;

 private:
  [[nodiscard]] net::http_reply carry_out(const net::http_request& request, bool is_partial);
  [[nodiscard]] net::http_reply batch_query(std::string_view list, bool is_partial);
  [[nodiscard]] net::http_reply query_key(std::string_view key);
  [[nodiscard]] net::http_reply tell_leader() const;
  [[nodiscard]] net::http_reply tell_status() const;
  [[nodiscard]] net::http_reply all_keys() const;
  [[nodiscard]] net::http_reply act(std::string_view action, const net::http_request& request);

  store_world& world_;
  const std::size_t index_;
  std::unique_ptr<net::http_server> http_;
};

}  // namespace kvc::sim

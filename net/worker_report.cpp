#include "net/worker_report.hpp"

#include <algorithm>
#include <map>
#include <string>
#include <tuple>
#include <utility>

#include "net/http_reply.hpp"
#include "net/stream_report.hpp"
#include "net/stream_trust.hpp"

namespace kvc::net {
namespace {

using core::stream_status;

template <class Number>
Number now_of(const std::atomic<Number>& value) {
  return value.load(std::memory_order_relaxed);
}

/// What all streams of one worker come to.
struct worker_row {
  block_counts blocks{};
  stream_trust trust;
};

/// Tenant, instance, rank: an engine stream and a pool stream of one rank are one worker here.
using row_key = std::tuple<std::string, std::string, core::dp_rank>;

void add_stream(worker_row& into, const stream_status& status, const block_counts& blocks) {
  for (std::size_t m = 0; m < blocks.size(); ++m) into.blocks[m] += blocks[m];
  into.trust.add_doubts(status);
  into.trust.add_hearing(status);
}

std::map<row_key, worker_row> rows_of(const std::vector<const service_info*>& services) {
  std::map<row_key, worker_row> rows;
  for (const service_info* each : services) {
    const core::worker_key& worker = each->registration.worker;
    block_counts own = blocks_of(*each->status);
    for (const auto& share : *each->status->ranks.list()) {
      block_counts theirs{};
      for (std::size_t m = 0; m < theirs.size(); ++m) {
        theirs[m] = now_of(share->blocks[m]);
        own[m] -= std::min(own[m], theirs[m]);  // the sums are of another moment than the parts
      }
      add_stream(rows[{worker.tenant, worker.instance, share->rank}], *each->status, theirs);
    }
    add_stream(rows[{worker.tenant, worker.instance, worker.rank}], *each->status, own);
  }
  return rows;
}

}  // namespace

block_counts blocks_of(const stream_status& status) {
  block_counts blocks{};
  for (std::size_t i = 0; i < blocks.size(); ++i) blocks[i] = now_of(status.blocks[i]);
  return blocks;
}

void write_blocks(answer_writer& out, const core::medium_table& media, const block_counts& blocks) {
  out.key("blocks");
  out.object();
  for (std::size_t i = 0; i < media.size() && i < blocks.size(); ++i) {
    if (i < 3 || blocks[i] != 0) out.member(media.name(static_cast<core::medium_id>(i)), blocks[i]);
  }
  out.end_object();
}

std::vector<const service_info*> chosen_services(const fleet_view& fleet, const http_request& request) {
  const std::string_view instance = request.parameter("instance_id");
  std::vector<const service_info*> found;
  for (const auto& each : fleet) {
    if (instance.empty() || each->registration.worker.instance == instance) found.push_back(each.get());
  }
  return found;
}

http_reply list_workers(const api_context& context, const http_request& request, std::chrono::steady_clock::time_point now) {
  const auto fleet = context.fleet.view().get();
  const auto rows = rows_of(chosen_services(*fleet, request));
  std::string body;
  answer_writer out(body, request.answer_form);
  out.object(2);
  out.key("workers");
  out.list(rows.size());
  for (const auto& [key, row] : rows) {
    const auto& [tenant, instance, rank] = key;
    out.object();
    out.member("instance_id", instance);
    out.member("tenant_id", tenant);
    out.member("dp_rank", rank.get());
    out.member("state", row.trust.state());
    out.member("whole", row.trust.is_whole());
    write_lag(out, row.trust.newest_ns(), now);
    write_blocks(out, context.media, row.blocks);
    out.member("missing", row.trust.missing());
    row.trust.write_heard(out);
    out.end_object();
  }
  out.end_list();
  out.member("count", rows.size());
  out.end_object();
  return ok_reply(std::move(body), request.answer_form);
}

}  // namespace kvc::net

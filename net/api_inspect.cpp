#include "net/api_inspect.hpp"

#include <algorithm>
#include <array>
#include <cstdint>
#include <iterator>
#include <string>
#include <utility>
#include <vector>

#include "core/arena.hpp"
#include "net/answer_writer.hpp"
#include "net/http_reply.hpp"
#include "net/stream_report.hpp"
#include "net/unwhole_streams.hpp"
#include "net/worker_report.hpp"

namespace kvc::net {
namespace {

using core::stream_status;

template <class Number>
Number now_of(const std::atomic<Number>& value) {
  return value.load(std::memory_order_relaxed);
}

void write_arena(answer_writer& out) {
  const core::arena_usage arena = core::arena_now();
  out.key("arena");
  out.object(4);
  out.key("bytes");
  out.object(core::arena_kinds);
  for (std::size_t i = 0; i < core::arena_kinds; ++i) out.member(core::arena_kind_names[i], arena.used[i]);
  out.end_object();
  out.member("mapped_bytes", arena.mapped);
  out.key("fragmentation");
  out.real(arena.fragmentation());
  out.member("reclaimed_bytes", arena.reclaimed);
  out.end_object();
}

void write_registration(answer_writer& out, const core::registration& from, const core::medium_table& media) {
  const auto both = [&out](std::string_view capitalised, std::string_view ours, const auto& value) {
    out.member(capitalised, value);
    out.member(ours, value);
  };
  both("Endpoint", "endpoint", from.endpoint);
  both("ReplayEndpoint", "replay_endpoint", from.replay_endpoint);
  both("Type", "type", core::to_string(from.type));
  both("ModelName", "modelname", from.partition.model);
  both("LoraName", "lora_name", from.partition.lora);
  both("TenantID", "tenant_id", from.worker.tenant);
  both("InstanceID", "instance_id", from.worker.instance);
  both("BlockSize", "block_size", from.partition.block_size);
  both("DPRank", "dp_rank", from.worker.rank.get());
  both("AdditionalSalt", "additionalsalt", from.partition.salt);
  out.member("topic", from.topic);
  out.key("after_loss");
  if (from.after_loss) {
    out.text(core::to_string(*from.after_loss));
  } else {
    out.nothing();
  }
  out.member("expect_idle", from.expects_idle);
  out.member("bind", from.bind);
  out.member("hash_seed", from.hash_seed);
  out.member("medium", media.name(from.medium));
  out.member("backend_id", from.backend_id);
  out.member("copy_counting", from.copy_counting);
  out.member("shared", from.shared);
  out.key("shards");
  if (from.shards != 0) {
    out.number(std::uint64_t{from.shards});
  } else {
    out.nothing();
  }
  out.member("class", from.worker.kind == core::publisher_class::pool ? "pool" : "engine");
}

/// Ranks beyond the registered one that the stream speaks for.
void write_ranks(answer_writer& out, const stream_status& status) {
  const auto shares = status.ranks.list();
  out.key("other_ranks");
  out.list(shares->size());
  for (const auto& each : *shares) out.number(std::uint64_t{each->rank.get()});
  out.end_list();
}

void write_recipe(answer_writer& out, const core::recipe_notes::finding& found) {
  out.key("hash_recipe");
  out.object(5);
  out.member("verdict", core::to_string(found.verdict));
  out.member("shared_roots", found.shared_roots);
  out.member("agreeing_roots", found.agreeing_roots);
  out.member("shared_blocks", found.shared_inner);
  out.member("contradictions", found.contradicted);
  out.end_object();
}

}  // namespace

http_reply list_services(const api_context& context, const http_request& request, time_point now) {
  const auto fleet = context.fleet.view().get();
  const std::vector<const service_info*> found = chosen_services(*fleet, request);
  std::string body;
  answer_writer out(body, request.answer_form);
  out.object(2);
  out.member("count", found.size());
  out.key("services");
  out.list(found.size());
  for (const service_info* each : found) {
    out.object();
    write_registration(out, each->registration, context.media);
    write_stream(out, *each->status, now);
    if (each->registration.worker.kind == core::publisher_class::pool) write_pool(out, *each->status);
    write_blocks(out, context.media, blocks_of(*each->status));
    write_ranks(out, *each->status);
    write_recipe(out, each->recipe->found());
    out.member("generation", each->status->generation.load(std::memory_order_relaxed));
    out.member("lane", each->lane);
    out.end_object();
  }
  out.end_list();
  out.end_object();
  return ok_reply(std::move(body), request.answer_form);
}

http_reply list_partitions(const api_context& context, const http_request& request) {
  const auto view = context.catalog.view().get();
  std::string body;
  answer_writer out(body, request.answer_form);
  out.object(3);
  out.member("count", view->partitions.size());
  out.key("partitions");
  out.list(view->partitions.size());
  for (const auto& [key, partition] : view->partitions) {
    out.object();
    out.member("tenant_id", key.tenant);
    out.member("model", key.model);
    out.member("lora_name", key.lora);
    out.member("additional_salt", key.salt);
    out.member("block_size", key.block_size);
    out.member("hash_seed", partition->partition->seed());
    const core::prefix_index& index = partition->partition->index();
    out.member("blocks", index.blocks());
    out.member("runs", index.run_count());
    out.member("entries", partition->partition->entries().sum());
    out.member("slots", index.slots().used());
    out.member("refused_slots", index.slots().refused());
    out.member("bytes", index.bytes());
    out.member("workers", partition->members.size());
    const auto pools =
        std::ranges::count_if(partition->members, [](const core::member& each) { return each.key->kind == core::publisher_class::pool; });
    out.member("pools", static_cast<std::uint64_t>(pools));
    out.member("pool_names", partition->partition->names()->watched());
    out.end_object();
  }
  out.end_list();
  write_arena(out);
  out.end_object();
  return ok_reply(std::move(body), request.answer_form);
}

http_reply say_alive(const http_request& request) {
  std::string body;
  answer_writer out(body, request.answer_form);
  out.object(1);
  out.member("status", "healthy");
  out.end_object();
  return ok_reply(std::move(body), request.answer_form);
}

http_reply say_health(const api_context& context, const http_request& request, time_point now) {
  const auto fleet = context.fleet.view().get();
  const auto partitions = context.catalog.view().get();
  std::uint64_t connections = 0;
  for (std::size_t i = 0; i < context.lanes.size(); ++i) connections += context.lanes.at(i).counters.connections_open.get();

  std::string body;
  answer_writer out(body, request.answer_form);
  out.object();
  out.member("status", "healthy");
  out.member("version", context.version);
  out.member("uptime_s", static_cast<std::uint64_t>(std::chrono::duration_cast<std::chrono::seconds>(now - context.started).count()));
  out.key("components");
  out.object();
  out.member("lanes", context.lanes.size());
  out.key("http");
  out.object();
  out.member("connections", connections);
  out.member("draining", context.fleet.is_draining());
  out.end_object();
  unwhole_streams(*fleet).write_counts(out);
  out.key("index");
  out.object();
  std::uint64_t blocks = 0;
  for (const auto& [key, partition] : partitions->partitions) blocks += partition->partition->index().blocks();
  out.member("partitions", partitions->partitions.size());
  out.member("blocks", blocks);
  out.end_object();
  out.end_object();
  out.end_object();
  return ok_reply(std::move(body), request.answer_form);
}

readiness reasons_not_ready(const api_context& context, time_point now) {
  readiness made{.all = context.fleet.not_ready_because(now)};
  made.are_streams_whole = made.all.empty();
  if (context.also_missing) std::ranges::move(context.also_missing(), std::back_inserter(made.all));
  return made;
}

http_reply say_ready(const api_context& context, const http_request& request, time_point now) {
  const auto [are_streams_whole, reasons] = reasons_not_ready(context, now);
  const auto fleet = context.fleet.view().get();
  const unwhole_streams streams(*fleet);
  // A stream is let pass for its age, not because it is as good as whole: who asks may want to know.
  const std::size_t more = streams.are_all_whole() ? 0 : 2;
  const auto write_more = [&](answer_writer& into) {
    if (more == 0) return;
    streams.write_counts(into);
    streams.write_named(into);
  };
  std::string body;
  answer_writer out(body, request.answer_form);
  if (reasons.empty()) {
    out.object(1 + more);
    out.member("status", "ready");
    write_more(out);
    out.end_object();
    return ok_reply(std::move(body), request.answer_form);
  }
  const bool is_draining = context.fleet.is_draining();
  out.object(4 + more);
  out.member("status", "not ready");
  out.member("error", is_draining         ? "the server is shutting down"
                      : are_streams_whole ? "the server is still starting"
                                          : "some streams are not whole yet");
  out.member("reason", reason_of(is_draining ? refusal_kind::draining : refusal_kind::overloaded));
  out.key("reasons");
  out.list(reasons.size());
  for (const std::string& each : reasons) out.text(each);
  out.end_list();
  write_more(out);
  out.end_object();
  return not_ready_reply(std::move(body), request.answer_form);
}

}  // namespace kvc::net

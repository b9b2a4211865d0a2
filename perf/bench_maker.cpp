#include "perf/bench_maker.hpp"

#include <memory>
#include <span>
#include <vector>

#include "core/block_hasher.hpp"
#include "perf/bench_cache.hpp"
#include "perf/bench_progress.hpp"
#include "perf/sim_mix.hpp"

namespace kvc::perf {
namespace {

/// Of the standard workloads, too.
constexpr std::uint64_t rolling_seed = 0;

std::unique_ptr<bench_traffic> traffic_of(const maker_plan& plan) {
  switch (plan.kind) {
    case maker_kind::agents: return make_agents(plan.agents, plan.seed);
    case maker_kind::trace: return make_trace(plan.trace, plan.seed);
    case maker_kind::conversations: break;
  }
  return make_conversations(plan.conversations, plan.seed);
}

void name_blocks(std::span<const core::local_hash> locals, std::vector<core::engine_hash>& into) {
  into.clear();
  core::seq_hash at{};
  for (std::size_t i = 0; i < locals.size(); ++i) {
    at = i == 0 ? core::first_in_sequence(locals[0]) : core::roll(at, locals[i], rolling_seed);
    into.emplace_back(at.get());
  }
}

}  // namespace

boost::system::result<made_workload, std::string> make_workload(const maker_plan& plan) {
  const auto traffic = traffic_of(plan);
  if (!traffic->error().empty()) return traffic->error();
  bench_writer out(plan.out, plan.workers);
  std::vector<bench_cache> fleet;
  fleet.reserve(plan.workers);
  for (std::uint32_t i = 0; i < plan.workers; ++i) fleet.emplace_back(i, plan.cache_blocks);

  made_workload made;
  made_request request;
  std::vector<core::engine_hash> names;
  sim::dice routing(sim::mix(plan.seed));
  bench_progress progress("requests", plan.requests);
  for (std::uint64_t done = 0; (plan.requests == 0 || done < plan.requests) && out.error().empty(); ++done) {
    progress.at(done);
    if (!traffic->next(request)) break;
    name_blocks(request.locals, names);
    out.query(std::span(request.locals).first(request.prompt_blocks));
    const std::uint32_t worker = plan.is_affine ? sim::scale(sim::mix(request.affinity), plan.workers) : routing.below(plan.workers);
    made.hit_blocks += fleet[worker].serve({request.locals, names, request.prompt_blocks}, out);
  }
  if (!traffic->error().empty()) return traffic->error();
  if (!out.finish()) return out.error();
  made.counts = out.counts();
  return made;
}

}  // namespace kvc::perf

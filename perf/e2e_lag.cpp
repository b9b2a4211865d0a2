#include "perf/e2e_lag.hpp"

#include <algorithm>
#include <string>
#include <vector>

#include "perf/http_stage.hpp"
#include "perf/ingest_publisher.hpp"

namespace kvc::perf {

void measure_e2e_lag(const e2e_plan& plan, const bench_server::place& where, const ingest_frames& frames, bench_report& into) {
  struct stream {
    std::vector<std::uint32_t> batches;  ///< by their place in the frames
    std::size_t done = 0;
  };
  const std::vector<std::int64_t> due = ingest_schedule(frames, plan.rate);
  std::vector<stream> streams(frames.streams());
  for (std::uint32_t i = 0; i < frames.batches().size(); ++i) streams[frames.batches()[i].stream].batches.push_back(i);

  http_stage scene(static_cast<int>(plan.load_cpu), where, frames, plan.rate);
  const std::size_t steady_from = frames.batches().size() / 4;  // by then the index has the memory it needs
  std::vector<std::uint32_t> lags;
  std::uint64_t looks = 0;
  scene.begin();
  const std::int64_t begun = ingest_now();
  for (std::size_t left = frames.batches().size(); left > 0; ++looks) {
    const std::vector<std::uint64_t> counts = scene.applied();
    const std::int64_t now = ingest_now();
    if (now - begun > 120'000'000'000) throw std::runtime_error("events were not applied within two minutes");
    for (std::uint32_t i = 0; i < streams.size(); ++i) {
      stream& each = streams[i];
      for (; each.done < each.batches.size() && scene.first_number(i) + each.done < counts[i]; ++each.done, --left) {
        const std::uint32_t batch = each.batches[each.done];
        if (batch < steady_from) continue;
        lags.push_back(static_cast<std::uint32_t>(std::clamp<std::int64_t>(now - scene.started_ns() - due[batch], 0, 4'000'000'000)));
      }
    }
    ingest_nap(std::chrono::microseconds(100));
  }
  const double seconds = static_cast<double>(ingest_now() - begun) / 1e9;
  scene.check();
  into.add("lag_blocks_per_s", static_cast<double>(frames.blocks()) / seconds);
  into.add("lag_looks_per_s", static_cast<double>(looks) / seconds);
  into.add_latencies("lag_ns", lags);
}

}  // namespace kvc::perf

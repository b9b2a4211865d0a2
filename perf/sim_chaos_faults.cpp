#include "perf/sim_chaos_faults.hpp"

namespace kvc::sim {
namespace {

struct kind {
  fault what;
  std::string_view name;
  std::uint32_t often;  ///< thousandths, where the fault is among those of a publisher
};

constexpr std::array<kind, fault_count> kinds{{
    {fault::drop, "drop", 150},
    {fault::duplicate, "duplicate", 60},
    {fault::delay, "delay", 200},
    {fault::truncate, "truncate", 60},
    {fault::corrupt, "corrupt", 60},
    {fault::frames, "frames", 100},
    {fault::noise, "noise", 150},
    {fault::poison_event, "poison_event", 200},
    {fault::poison_batch, "poison_batch", 60},
    {fault::lost_number, "lost_number", 60},
    {fault::restart, "restart", 40},
    {fault::reconnect, "reconnect", 40},
    {fault::reply_lost, "reply_lost", 100},
    {fault::reply_delayed, "reply_delayed", 100},
    {fault::request_ignored, "request_ignored", 200},
    {fault::trimmed, "trimmed", 0},  // follows from the size of the buffer
}};

constexpr bool is_in_order() {
  for (std::size_t i = 0; i < kinds.size(); ++i) {
    if (static_cast<std::size_t>(kinds[i].what) != i) return false;
  }
  return true;
}
static_assert(is_in_order());

}  // namespace

std::string_view to_string(fault what) noexcept {
  return kinds[static_cast<std::size_t>(what)].name;
}

void fault_counts::add(const fault_counts& other) noexcept {
  for (std::size_t i = 0; i < fault_count; ++i) times[i] += other.times[i];
}

fault_chances draw_chances(dice& random) {
  fault_chances chosen;
  const std::uint32_t number = random.below(5);
  for (std::uint32_t i = 0; i < number; ++i) {
    const std::uint32_t which = random.below(fault_count);
    chosen.per_mille[which] = kinds[which].often;
  }
  return chosen;
}

}  // namespace kvc::sim

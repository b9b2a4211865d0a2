#include "perf/ingest_plan.hpp"

#include <algorithm>
#include <array>

namespace kvc::perf {
namespace {

using form = net::event_form;
using type = core::publisher_type;

constexpr std::array<ingest_dialect, 16> dialects{{
    {"vllm_map", form::vllm_map, type::vllm},
    {"vllm_map_batch", form::vllm_map_batch, type::vllm},
    {"vllm_array", form::vllm_array, type::vllm},
    {"vllm_2025_04", form::vllm_2025_04, type::vllm},
    {"vllm_2025_06", form::vllm_2025_06, type::vllm},
    {"vllm_2025_09", form::vllm_2025_09, type::vllm},
    {"vllm_2025_12", form::vllm_2025_12, type::vllm},
    {"vllm_2026_02", form::vllm_2026_02, type::vllm},
    {"vllm_2026_04", form::vllm_2026_04, type::vllm},
    {"sglang_2025_05", form::sglang_2025_05, type::sglang},
    {"sglang_2025_06", form::sglang_2025_06, type::sglang},
    {"sglang_2026_02", form::sglang_2026_02, type::sglang},
    {"sglang_map", form::sglang_map, type::sglang},
    {"tensorrt_llm", form::tensorrt_llm, type::tensorrt_llm},
    {"tensorrt_llm_relay", form::tensorrt_llm_relay, type::tensorrt_llm},
    {"standard", form::standard, type::standard},
}};

struct mode {
  std::string_view name;
  std::uint8_t bits;
};

// What follows from the saturation rate brings its measurement with it.
constexpr std::array<mode, 7> modes{{
    {"all", ingest_everything},
    {"idle", ingest_idle},
    {"saturation", ingest_saturation},
    {"sweep", ingest_saturation | ingest_sweep},
    {"latency", ingest_saturation | ingest_latency},
    {"replay", ingest_replay},
    {"queries", ingest_queries},
}};

}  // namespace

std::span<const ingest_dialect> ingest_dialects() noexcept {
  return dialects;
}

const ingest_dialect* find_ingest_dialect(std::string_view name) noexcept {
  const auto* const found = std::ranges::find(dialects, name, &ingest_dialect::name);
  return found == dialects.end() ? nullptr : found;
}

std::optional<std::uint8_t> find_ingest_mode(std::string_view name) noexcept {
  const mode* const found = std::ranges::find(modes, name, &mode::name);
  if (found == modes.end()) return std::nullopt;
  return found->bits;
}

}  // namespace kvc::perf

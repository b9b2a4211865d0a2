#include "perf/sim_dialect.hpp"

#include <cstddef>

namespace kvc::sim {
namespace {

using net::event_form;

constexpr form_traits vllm(event_form form, std::string_view name) {
  return {.form = form, .name = name, .type = "vLLM", .has_copies_without_tokens = true};
}

/// The forms before media were told.
constexpr form_traits early(form_traits of, bool has_rank) {
  of.has_media = false;
  of.has_rank = has_rank;
  of.has_copies_without_tokens = false;
  return of;
}

/// The forms with KV-cache groups and their kinds.
constexpr form_traits grouped(form_traits of) {
  of.tells_kinds_of_groups = true;
  return of;
}

constexpr form_traits with_adapter(form_traits of) {
  of.tells_adapter = true;
  return of;
}

constexpr form_traits with_salt(form_traits of) {
  of.tells_salt = true;
  return of;
}

constexpr form_traits engine(event_form form, std::string_view name, std::string_view type) {
  return {.form = form, .name = name, .type = type};
}

/// Stores know objects, or names at most.
constexpr form_traits store(event_form form, std::string_view name, bool can_clear, bool tells_medium) {
  return {.form = form,
          .name = name,
          .type = "Mooncake",
          .has_rank = false,
          .has_tokens = false,
          .tells_medium_of_clear = tells_medium,
          .can_clear = can_clear,
          .has_copies_without_tokens = true};
}

constexpr std::array<form_traits, net::event_form_count> forms{
    with_adapter(grouped(vllm(event_form::vllm_array, "vllm_array"))),
    with_adapter(grouped(vllm(event_form::vllm_map, "vllm_map"))),
    with_adapter(grouped(vllm(event_form::vllm_map_batch, "vllm_map_batch"))),
    early(vllm(event_form::vllm_2025_04, "vllm_2025_04"), false),
    early(vllm(event_form::vllm_2025_06, "vllm_2025_06"), true),
    vllm(event_form::vllm_2025_09, "vllm_2025_09"),
    with_adapter(vllm(event_form::vllm_2025_12, "vllm_2025_12")),
    with_adapter(vllm(event_form::vllm_2026_02, "vllm_2026_02")),
    with_adapter(vllm(event_form::vllm_2026_04, "vllm_2026_04")),
    early(engine(event_form::sglang_2025_05, "sglang_2025_05", "SGLang"), false),
    early(engine(event_form::sglang_2025_06, "sglang_2025_06", "SGLang"), true),
    with_salt(engine(event_form::sglang_2026_02, "sglang_2026_02", "SGLang")),
    with_salt(engine(event_form::sglang_map, "sglang_map", "SGLang")),
    with_adapter(grouped(engine(event_form::tensorrt_llm, "tensorrt_llm", "TensorRT-LLM"))),
    early(engine(event_form::tensorrt_llm_relay, "tensorrt_llm_relay", "TensorRT-LLM"), true),
    form_traits{.form = event_form::standard,
                .name = "standard",
                .type = "standard",
                .has_own_names = false,
                .tells_medium_of_clear = true,
                .has_copies_without_tokens = true,
                .tells_adapter = true,
                .tells_salt = true},
    store(event_form::mooncake_array, "mooncake_array", true, false),
    store(event_form::mooncake_master, "mooncake_master", false, false),
    store(event_form::mooncake_branch, "mooncake_branch", true, true),
};

constexpr bool is_in_order() {
  for (std::size_t i = 0; i < forms.size(); ++i) {
    if (static_cast<std::size_t>(forms[i].form) != i) return false;
  }
  return true;
}
static_assert(is_in_order());

}  // namespace

const std::array<form_traits, net::event_form_count>& all_forms() noexcept {
  return forms;
}

const form_traits& traits_of(event_form form) noexcept {
  return forms[static_cast<std::size_t>(form)];
}

std::optional<event_form> form_of_name(std::string_view name) noexcept {
  if (name == "map") return event_form::vllm_map;
  if (name == "array") return event_form::vllm_array;
  for (const form_traits& each : forms) {
    if (each.name == name) return each.form;
  }
  return std::nullopt;
}

std::string form_names() {
  std::string names;
  for (const form_traits& each : forms) names += (names.empty() ? "" : ", ") + std::string(each.name);
  return names;
}

bool is_of_engines(event_form form) noexcept {
  return traits_of(form).has_tokens && traits_of(form).has_own_names;
}

std::string engine_form_names() {
  std::string names;
  for (const form_traits& each : forms) {
    if (is_of_engines(each.form)) names += (names.empty() ? "" : ", ") + std::string(each.name);
  }
  return names;
}

}  // namespace kvc::sim

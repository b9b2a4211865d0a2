// The forms of engines: vLLM's positions and maps, and what SGLang and TensorRT-LLM make of them.
#include <array>
#include <variant>

#include "net/event_encode_parts.hpp"

namespace kvc::net {
namespace {

/// How much of an event a form has room for.
struct layout {
  bool is_map = false;
  bool is_signed = false;
  std::uint32_t stored = 0;   ///< elements of a stored array with its tag, or members of a map with its type
  std::uint32_t removed = 0;  ///< the same of a removal
};

layout layout_of(event_form form) noexcept {
  switch (form) {
    case event_form::vllm_2025_04:
    case event_form::vllm_2025_06: return {.stored = 6, .removed = 2};
    case event_form::vllm_2025_09: return {.stored = 7, .removed = 3};
    case event_form::vllm_2025_12: return {.stored = 8, .removed = 3};
    case event_form::vllm_2026_02: return {.stored = 9, .removed = 3};
    case event_form::vllm_2026_04: return {.stored = 10, .removed = 4};
    case event_form::sglang_2025_05:
    case event_form::sglang_2025_06: return {.is_signed = true, .stored = 6, .removed = 2};
    case event_form::sglang_2026_02: return {.is_signed = true, .stored = 7, .removed = 3};
    case event_form::sglang_map: return {.is_map = true, .is_signed = true, .stored = 7, .removed = 3};
    case event_form::tensorrt_llm: return {.is_map = true, .is_signed = true, .stored = 11, .removed = 4};
    case event_form::tensorrt_llm_relay: return {.is_map = true, .is_signed = true, .stored = 6, .removed = 2};
    case event_form::vllm_map:
    case event_form::vllm_map_batch: return {.is_map = true, .stored = 11, .removed = 4};
    default: return {.stored = 12, .removed = 4};
  }
}

bool is_sglang(event_form form) noexcept {
  return form == event_form::sglang_2025_05 || form == event_form::sglang_2025_06 || form == event_form::sglang_2026_02 ||
         form == event_form::sglang_map;
}

class engine_writer {
 public:
  explicit engine_writer(event_parts& to) : to_(&to), with_(layout_of(to.options().form)) {}

  void operator()(const core::stored_event& event) {
    const event_form form = to_->options().form;
    const bool has_salt = event.scope.salt && (form == event_form::sglang_2026_02 || form == event_form::sglang_map);
    begin(with_.stored + (has_salt ? 1 : 0), "BlockStored");
    to_->hashes(name("block_hashes"), event.hashes, with_.is_signed);
    to_->parent(name("parent_block_hash"), event.parent, with_.is_signed);
    to_->tokens(name("token_ids"), event.tokens);
    to_->number(name("block_size"), event.scope.block_size);
    to_->nothing(name("lora_id"));
    if (with_.stored > 6) to_->medium(name("medium"), event.scope);
    if (is_sglang(form)) {
      if (has_salt) salt(*event.scope.salt);
      return;
    }
    if (with_.stored > 7) to_->text(name("lora_name"), event.scope.lora);
    if (with_.stored > 8) to_->extra_keys(name("extra_keys"), event.extra_keys);
    if (with_.stored > 9) to_->number(name("group_idx"), event.scope.group);
    if (with_.stored > 10)
      to_->text(name("kv_cache_spec_kind"), std::string_view(event.scope.prefix_complete ? "full_attention" : "sliding_window"));
    if (with_.stored > 11) to_->nothing(name("kv_cache_spec_sliding_window"));
  }

  void operator()(const core::removed_event& event) {
    begin(with_.removed, "BlockRemoved");
    to_->hashes(name("block_hashes"), event.hashes, with_.is_signed);
    if (with_.removed > 2) to_->medium(name("medium"), event.scope);
    if (with_.removed > 3) to_->number(name("group_idx"), event.scope.group);
  }

  void operator()(const core::cleared_event&) { begin(1, "AllBlocksCleared"); }
  void operator()(const core::object_event&) {}  // no engine says such a thing

 private:
  [[nodiscard]] std::string_view name(std::string_view wanted) const noexcept { return with_.is_map ? wanted : std::string_view(); }

  void begin(std::uint32_t size, std::string_view tag) { with_.is_map ? to_->begin_map(size, tag) : to_->begin_array(size, tag); }

  void salt(const std::string& value) {
    if (!with_.is_map) to_->writer().map(1);
    to_->text("cache_salt", std::string_view(value));
  }

  event_parts* to_;
  layout with_;
};

}  // namespace

void write_engine_event(const core::event& what, event_parts& to) {
  std::visit(engine_writer(to), what);
}

}  // namespace kvc::net

#include "core/event_counts.hpp"

namespace kvc::core {
namespace {

template <class Word, std::size_t count>
std::string_view word_at(const std::array<std::string_view, count>& words, Word which) noexcept {
  const auto index = static_cast<std::size_t>(which);
  return index < count ? words[index] : std::string_view("unknown");
}

}  // namespace

std::string_view to_string(event_dialect dialect) noexcept {
  static constexpr std::array<std::string_view, event_dialect_count> words{"vllm_array",   "vllm_map", "sglang_array",   "sglang_map",
                                                                           "tensorrt_llm", "standard", "mooncake_array", "mooncake_map"};
  return word_at(words, dialect);
}

std::string_view to_string(event_kind kind) noexcept {
  static constexpr std::array<std::string_view, event_kind_count> words{"stored", "removed", "cleared", "object"};
  return word_at(words, kind);
}

std::string_view to_string(reject_reason reason) noexcept {
  static constexpr std::array<std::string_view, reject_reason_count> words{
      "none",      "not_an_event",      "unknown_tag",   "missing_field", "wrong_type",
      "bad_token", "too_many_elements", "repeated_hash", "own_parent",    "remote"};
  return word_at(words, reason);
}

std::string_view to_string(word_kind kind) noexcept {
  static constexpr std::array<std::string_view, word_kind_count> words{"tag", "field", "medium"};
  return word_at(words, kind);
}

void batch_counts::reset() noexcept {
  events = {};
  rejected = {};
  unknown.clear();
}

void batch_counts::add_unknown(word_kind kind, std::string_view text) {
  text = text.substr(0, max_word_bytes);
  const auto is_same = [&](const unknown_word& each) { return each.kind == kind && each.text == text; };
  auto found = std::ranges::find_if(unknown, is_same);
  if (found == unknown.end() && unknown.size() >= max_words) {
    text = {};
    found = std::ranges::find_if(unknown, is_same);
  }
  if (found == unknown.end()) found = unknown.insert(unknown.end(), unknown_word{kind, std::string(text), 0});
  ++found->times;
}

}  // namespace kvc::core

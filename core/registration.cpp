#include "core/registration.hpp"

#include <algorithm>
#include <cctype>

namespace kvc::core {

std::string_view to_string(publisher_type type) noexcept {
  switch (type) {
    case publisher_type::automatic: return "auto";
    case publisher_type::vllm: return "vLLM";
    case publisher_type::sglang: return "SGLang";
    case publisher_type::tensorrt_llm: return "TensorRT-LLM";
    case publisher_type::mooncake: return "Mooncake";
    case publisher_type::standard: return "standard";
  }
  return "auto";
}

publisher_type parse_publisher_type(std::string_view word, bool& known) {
  std::string lower(word);
  std::ranges::transform(lower, lower.begin(), [](unsigned char letter) { return static_cast<char>(std::tolower(letter)); });
  known = true;
  if (lower == "vllm") return publisher_type::vllm;
  if (lower == "sglang") return publisher_type::sglang;
  if (lower == "tensorrt-llm" || lower == "trtllm" || lower == "tensorrt_llm") return publisher_type::tensorrt_llm;
  if (lower == "mooncake") return publisher_type::mooncake;
  if (lower == "standard") return publisher_type::standard;
  known = lower == "auto";
  return publisher_type::automatic;
}

std::optional<loss_policy> parse_loss_policy(std::string_view word) noexcept {
  if (word == "drop") return loss_policy::drop;
  if (word == "keep") return loss_policy::keep;
  return std::nullopt;
}

bool is_topic_wanted(std::string_view wanted, std::string_view topic) noexcept {
  if (wanted.empty()) return true;
  return wanted.back() == '*' ? topic.starts_with(topic_prefix(wanted)) : topic == wanted;
}

std::string_view topic_prefix(std::string_view wanted) noexcept {
  if (!wanted.empty() && wanted.back() == '*') wanted.remove_suffix(1);
  return wanted;
}

}  // namespace kvc::core

#include "core/medium.hpp"

#include <algorithm>
#include <cctype>
#include <span>
#include <utility>

namespace kvc::core {
namespace {

constexpr std::size_t max_word_bytes = 32;
constexpr std::string_view overflow_word = "OTHER";
/// The key of the ranks in the row of an answer, beside which the media stand.
constexpr std::string_view key_of_ranks = "DP";
/// Words whose places nobody else gets: SGLang's storage backends, vLLM's object store (kv-events.md section 10, case 20), our own for
/// pools.
constexpr std::array<std::string_view, 4> reserved_words{"EXTERNAL", "OBJ", "MIXED", overflow_word};

std::string upper_case(std::string_view word) {
  std::string upper(word.substr(0, max_word_bytes));
  std::ranges::transform(upper, upper.begin(), [](unsigned char letter) {
    const int raised = std::toupper(letter);
    return std::isprint(raised) != 0 ? static_cast<char>(raised) : '?';
  });
  return upper;
}

/// What a word is kept under.
std::string spelling_of(std::string_view word) {
  std::string upper = upper_case(word);
  return upper == key_of_ranks ? std::string(overflow_word) : upper;
}

bool is_one_of(std::string_view word, std::span<const std::string_view> words) {
  return std::ranges::find(words, word) != words.end();
}

/// Folds a known spelling; false when the word is nobody's synonym.
bool fold(std::string_view upper, medium_id& folded) {
  static constexpr std::array<std::string_view, 6> device{"GPU", "CUDA", "HBM", "NPU", "XPU", "DEVICE"};
  static constexpr std::array<std::string_view, 6> host{"CPU", "CPU_PINNED", "DRAM", "MEMORY", "HOST", "RAM"};
  static constexpr std::array<std::string_view, 9> disk{"DISK", "SSD", "STORAGE", "FS", "3FS", "DFS", "NFS", "LOCAL_DISK", "NVME"};
  if (is_one_of(upper, device) || upper.starts_with("CUDA:") || upper.starts_with("NPU:") || upper.starts_with("GPU:")) {
    folded = medium_id::gpu;
  } else if (is_one_of(upper, host) || upper.starts_with("CPU_TIER")) {
    folded = medium_id::cpu;
  } else if (is_one_of(upper, disk)) {
    folded = medium_id::disk;
  } else {
    return false;
  }
  return true;
}

}  // namespace

medium_table::medium_table() {
  names_[0] = "GPU";
  names_[1] = "CPU";
  names_[2] = "DISK";
  size_.store(3, std::memory_order_release);
}

bool medium_table::find(std::string_view word, medium_id& found) const {
  const std::string upper = spelling_of(word);
  if (fold(upper, found)) return true;
  const std::size_t known = size();
  for (std::size_t i = 0; i < known; ++i) {
    if (names_[i] == upper) {
      found = static_cast<medium_id>(i);
      return true;
    }
  }
  return false;
}

medium_id medium_table::intern(std::string_view word) {
  medium_id found{};
  if (find(word, found)) return found;
  const std::lock_guard lock(learning_);
  if (find(word, found)) return found;  // another lane was faster
  const std::size_t next = size();
  std::string spelling = spelling_of(word);
  const auto is_missing = [this](std::string_view reserved) {
    medium_id known{};
    return !find(reserved, known);
  };
  const auto kept_free = static_cast<std::size_t>(std::ranges::count_if(reserved_words, is_missing));
  if (!is_one_of(spelling, reserved_words) && next + kept_free >= max_media) {
    if (find(overflow_word, found)) return found;
    spelling = overflow_word;
  }
  names_[next] = std::move(spelling);
  size_.store(next + 1, std::memory_order_release);
  return static_cast<medium_id>(next);
}

std::string_view medium_table::name(medium_id medium) const noexcept {
  return names_[static_cast<std::size_t>(medium)];
}

bool medium_table::is_known_word(medium_id medium, std::string_view word) noexcept {
  if (tier_of(medium) != tier::external) return true;
  // SGLang's storage backends, and vLLM's object store (kv-events.md section 10, case 20).
  static constexpr std::array<std::string_view, 2> others{"EXTERNAL", "OBJ"};
  const auto same_letter = [](char left, char right) { return left == std::toupper(static_cast<unsigned char>(right)); };
  return std::ranges::any_of(others, [&](std::string_view each) { return std::ranges::equal(each, word, same_letter); });
}

tier medium_table::tier_of(medium_id medium) noexcept {
  return static_cast<unsigned>(medium) < 3 ? static_cast<tier>(medium) : tier::external;
}

}  // namespace kvc::core

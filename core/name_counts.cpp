#include "core/name_counts.hpp"

#include <algorithm>

namespace kvc::core {

void name_counts::add(std::string_view text, std::uint64_t times) noexcept {
  if (text.empty()) return others_.add(times);
  entry made;
  made.length = static_cast<std::uint8_t>(std::min(text.size(), max_bytes));
  std::ranges::transform(text.substr(0, made.length), made.text.begin(),
                         [](char letter) { return letter > ' ' && letter <= '~' ? letter : '?'; });
  const std::string_view printable(made.text.data(), made.length);
  const std::size_t known = size();
  for (std::size_t i = 0; i < known; ++i) {
    if (name(i) == printable) return entries_[i].times.add(times);
  }
  if (known == max_names) return others_.add(times);
  entries_[known].text = made.text;
  entries_[known].length = made.length;
  entries_[known].times.add(times);
  size_.store(known + 1, std::memory_order_release);  // readers see the text before they see that it is there
}

}  // namespace kvc::core

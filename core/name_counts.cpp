#include "core/name_counts.hpp"

#include <algorithm>
#include <new>

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
    if (name(i) == printable) return (*entries_)[i].times.add(times);
  }
  if (!entries_) entries_.reset(new (std::nothrow) std::array<entry, max_names>());
  if (known == max_names || !entries_) return others_.add(times);
  entry& added = (*entries_)[known];
  added.text = made.text;
  added.length = made.length;
  added.times.add(times);
  size_.store(known + 1, std::memory_order_release);  // readers see the text before they see that it is there
}

}  // namespace kvc::core

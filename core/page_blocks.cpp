#include "core/page_blocks.hpp"

#include <bit>
#include <cstring>
#include <new>
#include <utility>
#include <vector>

namespace kvc::core {
namespace {

std::uintptr_t page_number(const void* at) noexcept {
  return reinterpret_cast<std::uintptr_t>(at) / large_page_bytes;
}
std::size_t step_in_page(const void* at) noexcept {
  return reinterpret_cast<std::uintptr_t>(at) % large_page_bytes / page_blocks::step;
}
std::size_t steps_for(std::size_t bytes) noexcept {
  return (bytes + page_blocks::step - 1) / page_blocks::step;
}

}  // namespace

page_blocks::free_range* page_blocks::page::range_at(std::size_t first) noexcept {
  return std::launder(reinterpret_cast<free_range*>(begin + first * step));
}

/// The length of the free range that ends before `end`.
std::size_t page_blocks::page::steps_before(std::size_t end) const noexcept {
  std::size_t steps = 0;
  std::memcpy(&steps, begin + end * step - sizeof(steps), sizeof(steps));
  return steps;
}

void page_blocks::put(page& of, std::size_t first, std::size_t steps) noexcept {
  free_range*& top = free_[bin_of(steps)];
  auto* const made = new (of.begin + first * step) free_range{top, &top, steps};
  std::memcpy(of.begin + (first + steps) * step - sizeof(steps), &steps, sizeof(steps));
  if (top != nullptr) top->link = &made->next;
  top = made;
  is_any_free_[bin_of(steps) / 64] |= std::uint64_t{1} << bin_of(steps) % 64;
  of.is_free.set(first);
  of.is_free.set(first + steps - 1);
}

void page_blocks::unlink(page& of, free_range* gone) noexcept {
  const std::size_t first = step_in_page(gone);
  of.is_free.reset(first);
  of.is_free.reset(first + gone->steps - 1);
  *gone->link = gone->next;
  if (gone->next != nullptr) gone->next->link = gone->link;
  const std::size_t bin = bin_of(gone->steps);
  if (free_[bin] == nullptr) is_any_free_[bin / 64] &= ~(std::uint64_t{1} << bin % 64);
}

void page_blocks::add(std::unique_ptr<page> fresh) {
  page& entered = *pages_.emplace(page_number(fresh->begin), std::move(fresh)).first->second;
  mapped_.fetch_add(large_page_bytes, std::memory_order_relaxed);
  put(entered, 0, page_steps);
}

/// A range of the next bin that has one.
page_blocks::free_range* page_blocks::any_longer(std::size_t bin) noexcept {
  std::size_t word = (bin + 1) / 64;
  std::uint64_t longer = is_any_free_[word] >> (bin + 1) % 64 << (bin + 1) % 64;
  while (longer == 0) {
    if (++word == is_any_free_.size()) return nullptr;
    longer = is_any_free_[word];
  }
  return free_[word * 64 + static_cast<std::size_t>(std::countr_zero(longer))];
}

/// Null when no free range is long enough, as far as can be seen soon: in the bin of this length not all of them are looked at.
page_blocks::free_range* page_blocks::find(std::size_t steps) noexcept {
  constexpr int most_looked_at = 8;
  const std::size_t first_bin = bin_of(steps);
  free_range* same = free_[first_bin];
  for (int i = 0; same != nullptr && i < most_looked_at; same = same->next, ++i) {
    if (same->steps >= steps) return same;
  }
  return any_longer(first_bin);
}

/// A block of that many steps, from the beginning of a free range; null when there is none.
void* page_blocks::cut(std::size_t steps) noexcept {
  free_range* const from = find(steps);
  if (from == nullptr) return nullptr;
  page& of = *pages_.find(page_number(from))->second;
  const std::size_t found = from->steps;
  unlink(of, from);
  if (found > steps) put(of, step_in_page(from) + steps, found - steps);
  return from;
}

void* page_blocks::take(std::size_t bytes) {
  const std::size_t steps = steps_for(bytes);
  {
    const std::lock_guard locked(lock_);
    if (void* const block = cut(steps)) return block;
  }
  auto fresh = std::make_unique<page>();
  *static_cast<volatile std::byte*>(fresh->begin) = std::byte{0};  // who else wants a block does not wait for the system to clear the page
  const std::lock_guard locked(lock_);
  add(std::move(fresh));
  return cut(steps);
}

void page_blocks::give(void* block, std::size_t bytes) noexcept {
  const std::lock_guard locked(lock_);
  page& of = *pages_.find(page_number(block))->second;
  std::size_t first = step_in_page(block);
  std::size_t end = first + steps_for(bytes);
  if (end < page_steps && of.is_free[end]) {
    free_range* const behind = of.range_at(end);
    end += behind->steps;
    unlink(of, behind);
  }
  if (first > 0 && of.is_free[first - 1]) {
    first -= of.steps_before(first);
    unlink(of, of.range_at(first));
  }
  put(of, first, end - first);
}

std::size_t page_blocks::trim() {
  std::vector<std::unique_ptr<page>> gone;
  {
    const std::lock_guard locked(lock_);
    while (free_range* const whole = free_[bin_of(page_steps)]) {
      const auto found = pages_.find(page_number(whole));
      gone.push_back(nullptr);  // before anything has changed
      unlink(*found->second, whole);
      gone.back() = std::move(found->second);
      pages_.erase(found);
    }
  }
  const std::size_t bytes = gone.size() * large_page_bytes;
  mapped_.fetch_sub(bytes, std::memory_order_relaxed);
  return bytes;
}

}  // namespace kvc::core

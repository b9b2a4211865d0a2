#include "core/large_page.hpp"

#include <cstdlib>
#include <new>

#if defined(__linux__)
#include <sys/mman.h>
#endif

namespace kvc::core {

void large_page_free::operator()(void* page) const noexcept { std::free(page); }

large_page make_large_page() {
  large_page page(std::aligned_alloc(large_page_bytes, large_page_bytes));
  if (!page) throw std::bad_alloc();
#if defined(__linux__)
  ::madvise(page.get(), large_page_bytes, MADV_HUGEPAGE);  // advice: nothing is lost when the system declines
#endif
  return page;
}

}  // namespace kvc::core

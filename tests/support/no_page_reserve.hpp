// A test that wants the reserve of large pages empty, before it and after it.
#pragma once

#include "core/large_page.hpp"
#include "core/page_reserve.hpp"

namespace kvc::test {

/// Fixture: what lies in the reserve goes back to the system.
struct no_page_reserve {
  no_page_reserve() { empty(); }
  ~no_page_reserve() { empty(); }
  no_page_reserve(const no_page_reserve&) = delete;
  no_page_reserve& operator=(const no_page_reserve&) = delete;

  static void empty() {
    while (core::page_reserve_bytes() != 0) {
      core::keep_page_reserve(1);  // so that pages are taken from it
      void* const taken = core::map_large_pages(core::large_page_bytes);
      core::keep_page_reserve(0);  // and do not come back
      core::unmap_large_pages(taken, core::large_page_bytes);
    }
    core::keep_page_reserve(0);
  }
};

}  // namespace kvc::test

// Elements that a vector makes without a value, for whoever is about to write them.
#pragma once

#include <memory>
#include <new>
#include <type_traits>
#include <utility>

namespace kvc::core {

/// The heap, for vectors of elements that are nothing but their bytes: `resize` leaves what it adds as it finds it, where std::allocator
/// has it cleared. Whoever makes an element that way writes it before anybody reads it. Any lane.
template <class Element>
struct bare_allocator : std::allocator<Element> {
  static_assert(std::is_trivially_default_constructible_v<Element> && std::is_trivially_destructible_v<Element>);

  template <class Other>
  struct rebind {
    using other = bare_allocator<Other>;
  };

  bare_allocator() = default;
  template <class Other>
  bare_allocator(const bare_allocator<Other>&) noexcept {}

  template <class Made>
  void construct(Made* at) noexcept {
    ::new (static_cast<void*>(at)) Made;
  }
  template <class Made, class... Values>
  void construct(Made* at, Values&&... values) {
    std::construct_at(at, std::forward<Values>(values)...);
  }
};

}  // namespace kvc::core

// Memory for one handler, so that what must go on does so when there is none left.
#pragma once

#include <array>
#include <cstddef>
#include <memory>
#include <new>
#include <utility>

namespace kvc::net {

/// Room for what Asio keeps of one handler that is on its way. Another one at the same time, or one that is too large, takes the heap's,
/// and may throw. Shared with its handler, which the context may drop when everybody else has gone. Lane: one.
class handler_place {
 public:
  handler_place() = default;
  handler_place(const handler_place&) = delete;
  handler_place& operator=(const handler_place&) = delete;

  [[nodiscard]] void* take(std::size_t bytes) {
    if (is_taken_ || bytes > bytes_.size()) return ::operator new(bytes);
    is_taken_ = true;
    return bytes_.data();
  }
  void give_back(void* memory) noexcept {
    if (memory != bytes_.data()) return ::operator delete(memory);
    is_taken_ = false;
  }

 private:
  alignas(std::max_align_t) std::array<std::byte, 512> bytes_{};
  bool is_taken_ = false;
};

/// What has Asio take a handler's memory from its place.
template <class T>
struct place_allocator {
  using value_type = T;

  explicit place_allocator(std::shared_ptr<handler_place> of) noexcept : place(std::move(of)) {}
  template <class Other>
  place_allocator(const place_allocator<Other>& other) noexcept : place(other.place) {}  // as allocators are made of each other

  [[nodiscard]] T* allocate(std::size_t count) { return static_cast<T*>(place->take(count * sizeof(T))); }
  void deallocate(T* memory, std::size_t) noexcept { place->give_back(memory); }
  template <class Other>
  bool operator==(const place_allocator<Other>& other) const noexcept {
    return place == other.place;
  }

  std::shared_ptr<handler_place> place;
};

/// A handler whose memory is in `place`.
template <class Handler>
struct placed_handler {
  using allocator_type = place_allocator<void>;

  std::shared_ptr<handler_place> place;
  Handler handler;

  [[nodiscard]] allocator_type get_allocator() const noexcept { return allocator_type(place); }
  template <class... Arguments>
  void operator()(Arguments&&... arguments) {
    handler(std::forward<Arguments>(arguments)...);
  }
};
template <class Handler>
placed_handler(std::shared_ptr<handler_place>, Handler) -> placed_handler<Handler>;

}  // namespace kvc::net

// A short run of bytes kept where its owner lies; only long ones go to the heap.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <string_view>

namespace kvc::core {

/// Bytes of any length in 33 bytes without alignment: up to 32 lie inside, which covers the digests in use today (SHA-256, BLAKE3), longer
/// ones on the heap. A `std::string` would take 32 bytes and the digest besides. Pure; not thread-safe.
class inline_bytes {
 public:
  static constexpr std::size_t room = 32;  ///< the longest that needs no heap

  inline_bytes() = default;
  ~inline_bytes() { clear(); }
  inline_bytes(const inline_bytes&) = delete;
  inline_bytes& operator=(const inline_bytes&) = delete;

  /// Copies `bytes`, which must not lie in this object. May throw std::bad_alloc when they are longer than `room`.
  void assign(std::string_view bytes) {
    clear();
    if (bytes.size() <= room) {
      if (!bytes.empty()) std::memcpy(inside_.data(), bytes.data(), bytes.size());
      size_ = static_cast<std::uint8_t>(bytes.size());
      return;
    }
    const outside far{.data = new char[bytes.size()], .size = bytes.size()};
    std::memcpy(far.data, bytes.data(), bytes.size());
    std::memcpy(inside_.data(), &far, sizeof far);
    size_ = on_heap;
  }

  void clear() noexcept {
    if (size_ == on_heap) delete[] far().data;
    size_ = 0;
  }

  /// Valid until this object changes or goes.
  [[nodiscard]] std::string_view view() const noexcept {
    if (size_ != on_heap) return {inside_.data(), size_};
    return {far().data, far().size};
  }

  /// Bytes on the heap.
  [[nodiscard]] std::size_t heap_bytes() const noexcept { return size_ == on_heap ? far().size : 0; }

 private:
  static constexpr std::uint8_t on_heap = 255;
  struct outside {
    char* data;
    std::size_t size;
  };
  [[nodiscard]] outside far() const noexcept {
    outside found{};
    std::memcpy(&found, inside_.data(), sizeof found);
    return found;
  }

  std::array<char, room> inside_{};
  std::uint8_t size_ = 0;
};

}  // namespace kvc::core

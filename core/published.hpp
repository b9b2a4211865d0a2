// A value that one writer replaces and many lanes read without touching a shared cache line per read.
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <mutex>
#include <utility>

namespace kvc::core {

/// An immutable value that is replaced as a whole.
///
/// Writers (any lane, serialised by the caller or by `update`) publish a new value; each lane reads through a `reader` of its own, which
/// keeps a copy of the pointer and looks at one rarely written version number per read. An old value lives until the last reader that holds
/// it has moved on.
template <class T>
class published {
 public:
  using pointer = std::shared_ptr<const T>;

  explicit published(pointer first = std::make_shared<const T>()) : current_(std::move(first)) {}

  /// The current value. Takes a lock: for the rare paths.
  [[nodiscard]] pointer get() const {
    const std::lock_guard lock(mutex_);
    return current_;
  }

  void publish(pointer next) {
    const std::lock_guard lock(mutex_);
    current_.swap(next);  // what was current goes with `next`, behind the lock: to free it may take long
    version_.fetch_add(1, std::memory_order_release);
  }

  /// A lane's view. Belongs to one lane; the reference from `get` is valid until the next `get` on the same reader, so copy the pointer
  /// (`share`) before a co_await.
  class reader {
   public:
    explicit reader(const published& source) : source_(&source) {}

    [[nodiscard]] const T& get() {
      refresh();
      return *seen_;
    }
    [[nodiscard]] pointer share() {
      refresh();
      return seen_;
    }

   private:
    void refresh() {
      const std::uint64_t now = source_->version_.load(std::memory_order_acquire);
      if (seen_ && now == version_) return;
      seen_ = source_->get();
      version_ = now;
    }

    const published* source_;
    pointer seen_;
    std::uint64_t version_ = 0;
  };

 private:
  mutable std::mutex mutex_;
  pointer current_;
  std::atomic<std::uint64_t> version_{1};
};

}  // namespace kvc::core

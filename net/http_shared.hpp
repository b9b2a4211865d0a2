// What the sessions of all lanes share: limits, and the two numbers that bound the whole process.
#pragma once

#include <atomic>
#include <cstddef>
#include <ctime>
#include <string>
#include <string_view>

#include "net/http_server.hpp"
#include "net/http_service.hpp"

namespace kvc::net {

/// Bytes that may be held for some purpose by everybody together.
/// Thread-safety: all members from anywhere.
class byte_budget {
 public:
  explicit byte_budget(std::size_t most) : most_(most) {}

  /// False, and nothing taken, when it would be more than there is.
  [[nodiscard]] bool take(std::size_t bytes) noexcept {
    const std::size_t before = taken_.fetch_add(bytes, std::memory_order_relaxed);
    if (before + bytes <= most_) return true;
    give_back(bytes);
    return false;
  }
  void give_back(std::size_t bytes) noexcept { taken_.fetch_sub(bytes, std::memory_order_relaxed); }
  [[nodiscard]] std::size_t taken() const noexcept { return taken_.load(std::memory_order_relaxed); }

 private:
  std::size_t most_;
  std::atomic<std::size_t> taken_{0};
};

/// A growing share of a budget, given back at its end. The first `free_bytes` cost nothing, so that small bodies never touch what all
/// lanes share. One owner.
class budget_share {
 public:
  static constexpr std::size_t free_bytes = 64U << 10;
  static constexpr std::size_t step_bytes = 1U << 20;  ///< taken at a time, while there is as much

  explicit budget_share(byte_budget& from) : from_(from) {}
  ~budget_share() { from_.give_back(taken_); }
  budget_share(const budget_share&) = delete;
  budget_share& operator=(const budget_share&) = delete;

  /// Makes the share cover `bytes`. False when the budget does not allow it.
  [[nodiscard]] bool cover(std::size_t bytes) noexcept {
    if (bytes <= free_bytes || bytes <= taken_) return true;
    const std::size_t needed = bytes - taken_;
    std::size_t more = (needed + step_bytes - 1) / step_bytes * step_bytes;
    if (!from_.take(more)) {
      more = needed;  // the last of a budget need not be a whole step
      if (!from_.take(more)) return false;
    }
    taken_ += more;
    return true;
  }

  /// Whether nothing is taken.
  [[nodiscard]] bool is_free() const noexcept { return taken_ == 0; }

 private:
  byte_budget& from_;
  std::size_t taken_ = 0;
};

/// What every session refers to. Outlives them all.
struct http_shared {
  http_shared(http_service& to, http_settings limits)
      : service(to), settings(std::move(limits)), bodies(settings.body_budget_bytes), replies(settings.body_budget_bytes) {}

  http_service& service;
  const http_settings settings;
  byte_budget bodies;
  byte_budget replies;  ///< finished ones of more than `budget_share::free_bytes`, until clients have taken them
  std::atomic<std::size_t> connections{0};
};

/// The value of the Date header, made once a second. One per lane.
class date_header {
 public:
  /// Valid until the next call.
  [[nodiscard]] std::string_view at(std::time_t now);

 private:
  std::time_t made_ = -1;
  std::string text_;
};

}  // namespace kvc::net

// Counts values so that their mean and any percentile can be told, in little memory.
#pragma once

#include <array>
#include <bit>
#include <cstddef>
#include <cstdint>

namespace kvc::sim {

/// A histogram whose buckets grow with the value: up to 63 exact, above that within 1/32 of the value. One owner, one thread.
class quantiles {
 public:
  void add(std::uint64_t value) noexcept {
    ++counts_[bucket_of(value)];
    ++count_;
    sum_ += static_cast<double>(value);
    if (value > largest_) largest_ = value;
  }

  void merge(const quantiles& other) noexcept {
    for (std::size_t i = 0; i < counts_.size(); ++i) counts_[i] += other.counts_[i];
    count_ += other.count_;
    sum_ += other.sum_;
    if (other.largest_ > largest_) largest_ = other.largest_;
  }

  [[nodiscard]] std::uint64_t count() const noexcept { return count_; }
  [[nodiscard]] std::uint64_t largest() const noexcept { return largest_; }
  [[nodiscard]] double mean() const noexcept { return count_ == 0 ? 0 : sum_ / static_cast<double>(count_); }

  /// The value that the share `part` (0 .. 1) of all values does not exceed, rounded up to its bucket's end; 0 without values.
  [[nodiscard]] std::uint64_t at(double part) const noexcept {
    if (count_ == 0) return 0;
    const double wanted = part * static_cast<double>(count_);
    std::uint64_t seen = 0;
    for (std::size_t i = 0; i < counts_.size(); ++i) {
      seen += counts_[i];
      if (seen > 0 && static_cast<double>(seen) >= wanted) return end_of(i) < largest_ ? end_of(i) : largest_;
    }
    return largest_;
  }

 private:
  static constexpr unsigned precision = 5;                               ///< bits kept after the leading one
  static constexpr std::uint64_t exact = std::uint64_t{2} << precision;  ///< smaller values have a bucket each
  static constexpr std::size_t bucket_count = (64 - precision + 1) << precision;

  [[nodiscard]] static constexpr std::size_t bucket_of(std::uint64_t value) noexcept {
    if (value < exact) return value;
    const auto shift = static_cast<unsigned>(std::bit_width(value)) - 1 - precision;
    return (static_cast<std::size_t>(shift) << precision) + static_cast<std::size_t>(value >> shift);
  }
  [[nodiscard]] static constexpr std::uint64_t end_of(std::size_t bucket) noexcept {
    if (bucket < exact) return bucket;
    const std::size_t shift = (bucket >> precision) - 1;
    const std::uint64_t lead = (bucket & ((std::size_t{1} << precision) - 1)) + (std::size_t{1} << precision);
    return ((lead + 1) << shift) - 1;
  }

  std::array<std::uint64_t, bucket_count> counts_{};
  std::uint64_t count_ = 0;
  std::uint64_t largest_ = 0;
  double sum_ = 0;
};

}  // namespace kvc::sim

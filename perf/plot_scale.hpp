// From values to pixels along one axis, and where its ticks stand.
#pragma once

#include <vector>

namespace kvc::perf {

/// One axis, from the least and the greatest value on it to a stretch of pixels. Immutable.
class plot_scale {
 public:
  /// Rounds the ends outwards to ticks. Preconditions: low <= high, both finite; above 0 when logarithmic.
  plot_scale(double low, double high, bool is_log, double from_pixel, double to_pixel);

  [[nodiscard]] double at(double value) const noexcept;
  /// Values that have a label.
  [[nodiscard]] const std::vector<double>& ticks() const noexcept { return ticks_; }

 private:
  double low_;
  double high_;
  bool is_log_;
  double from_;
  double to_;
  std::vector<double> ticks_;
};

}  // namespace kvc::perf

#include "perf/plot_scale.hpp"

#include <cmath>

namespace kvc::perf {
namespace {

/// The step between ticks: 1, 2 or 5 times a power of ten, so that there are about `wanted` of them.
double step_for(double range, int wanted) {
  const double rough = range / wanted;
  const double power = std::pow(10, std::floor(std::log10(rough)));
  for (const double each : {1.0, 2.0, 5.0}) {
    if (rough <= each * power) return each * power;
  }
  return 10 * power;
}

}  // namespace

plot_scale::plot_scale(double low, double high, bool is_log, double from_pixel, double to_pixel)
    : low_(low), high_(high), is_log_(is_log), from_(from_pixel), to_(to_pixel) {
  if (is_log) {
    const auto first = static_cast<int>(std::floor(std::log10(low) + 1e-9));
    auto last = static_cast<int>(std::ceil(std::log10(high) - 1e-9));
    if (last == first) ++last;
    low_ = std::pow(10, first);
    high_ = std::pow(10, last);
    const bool is_short = last - first <= 2;
    const int every = (last - first + 7) / 8;
    for (int power = first; power <= last; power += every) {
      for (const double each : {1.0, 2.0, 5.0}) {
        const double tick = each * std::pow(10, power);
        if ((each == 1 || is_short) && tick <= high_ * 1.0001) ticks_.push_back(tick);
      }
    }
    return;
  }
  if (high_ <= low_) high_ = low_ + (low_ == 0 ? 1 : std::abs(low_));
  constexpr int wanted = 6;
  const double step = step_for(high_ - low_, wanted);
  const auto first = static_cast<long long>(std::floor(low_ / step + 1e-9));
  const auto last = static_cast<long long>(std::ceil(high_ / step - 1e-9));
  low_ = static_cast<double>(first) * step;
  high_ = static_cast<double>(last) * step;
  for (long long i = first; i <= last; ++i) ticks_.push_back(static_cast<double>(i) * step);
}

double plot_scale::at(double value) const noexcept {
  const double share =
      is_log_ ? (std::log10(value) - std::log10(low_)) / (std::log10(high_) - std::log10(low_)) : (value - low_) / (high_ - low_);
  return from_ + share * (to_ - from_);
}

}  // namespace kvc::perf

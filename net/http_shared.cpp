#include "net/http_shared.hpp"

#include <array>

namespace kvc::net {

std::string_view date_header::at(std::time_t now) {
  if (now == made_) return text_;
  // Written out by hand, because the library's names of days and months follow the locale. (Form: RFC 9110, section 5.6.7.)
  constexpr std::array<std::string_view, 7> days{"Sun", "Mon", "Tue", "Wed", "Thu", "Fri", "Sat"};
  constexpr std::array<std::string_view, 12> months{"Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"};
  std::tm parts{};
  if (gmtime_r(&now, &parts) == nullptr) return text_;
  const auto two_digits = [](int value) { return std::string(value < 10 ? "0" : "") + std::to_string(value); };
  text_ = std::string(days[static_cast<std::size_t>(parts.tm_wday)]) + ", " + two_digits(parts.tm_mday) + " " +
          std::string(months[static_cast<std::size_t>(parts.tm_mon)]) + " " + std::to_string(1900 + parts.tm_year) + " " +
          two_digits(parts.tm_hour) + ":" + two_digits(parts.tm_min) + ":" + two_digits(parts.tm_sec) + " GMT";
  made_ = now;
  return text_;
}

}  // namespace kvc::net

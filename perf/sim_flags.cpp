#include "perf/sim_flags.hpp"

#include "core/utf8.hpp"

namespace kvc::sim::flags {

refusal number(std::string_view text, double& into, double most, std::string_view range) {
  double value = 0;
  const auto [end, failed] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (failed != std::errc() || end != text.data() + text.size() || !(value >= 0) || value > most) {
    return "must be a number from " + std::string(range);
  }
  into = value;
  return std::nullopt;
}

refusal non_empty(std::string_view text, std::string& into) {
  if (text.empty()) return "must not be empty";
  into = text;
  return std::nullopt;
}

refusal name(std::string_view text, std::string& into) {
  if (!core::is_utf8(text)) return "must be UTF-8";
  return non_empty(text, into);
}

refusal address(std::string_view text, std::string& into_host, std::uint16_t& into_port, std::string_view example) {
  refusal wrong = "must be HOST:PORT, for example 127.0.0.1:" + std::string(example) + " or [::1]:" + std::string(example);
  std::string_view host = text;
  std::string_view port;
  if (text.starts_with('[')) {
    const auto closing = text.find(']');
    if (closing == std::string_view::npos) return wrong;
    host = text.substr(1, closing - 1);
    port = text.substr(closing + 1);
  } else if (const auto colon = text.rfind(':'); colon != std::string_view::npos) {
    host = text.substr(0, colon);
    port = text.substr(colon);
  }
  if (host.empty()) return wrong;
  if (!port.empty() && (port[0] != ':' || whole(port.substr(1), into_port, 1, 65'535))) return wrong;
  into_host = host;
  return std::nullopt;
}

}  // namespace kvc::sim::flags

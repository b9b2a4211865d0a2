#include "net/endpoint_host.hpp"

#include <algorithm>
#include <array>

#include <boost/system/error_code.hpp>

namespace kvc::net {
namespace {

constexpr std::string_view scheme = "tcp://";

/// Whether it is an address as written down. Asio would make a string of a view first, where an exception is the end of the process.
bool is_address(std::string_view host) noexcept {
  std::array<char, 128> text{};  // no address, of whichever zone, is as long
  if (host.size() >= text.size() || host.find('\0') != std::string_view::npos) return false;
  std::ranges::copy(host, text.begin());
  boost::system::error_code is_other;
  (void)boost::asio::ip::make_address(text.data(), is_other);
  return !is_other;
}

}  // namespace

std::string_view name_in_endpoint(std::string_view endpoint) noexcept {
  if (!endpoint.starts_with(scheme)) return {};
  endpoint.remove_prefix(scheme.size());
  const std::size_t colon = endpoint.rfind(':');
  if (colon == std::string_view::npos || colon == 0) return {};
  const std::string_view host = endpoint.substr(0, colon);
  if (host == "*" || host.front() == '[') return {};
  return is_address(host) ? std::string_view() : host;
}

std::string endpoint_at(std::string_view endpoint, const boost::asio::ip::address& address) {
  const std::size_t length = name_in_endpoint(endpoint).size();
  std::string at(scheme);
  at += address.is_v6() ? "[" + address.to_string() + "]" : address.to_string();
  at += endpoint.substr(scheme.size() + length);
  return at;
}

}  // namespace kvc::net

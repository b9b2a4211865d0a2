#include "net/endpoint_host.hpp"

#include <boost/system/error_code.hpp>

namespace kvc::net {
namespace {

constexpr std::string_view scheme = "tcp://";

}  // namespace

std::string_view name_in_endpoint(std::string_view endpoint) noexcept {
  if (!endpoint.starts_with(scheme)) return {};
  endpoint.remove_prefix(scheme.size());
  const std::size_t colon = endpoint.rfind(':');
  if (colon == std::string_view::npos || colon == 0) return {};
  const std::string_view host = endpoint.substr(0, colon);
  if (host == "*" || host.front() == '[') return {};
  boost::system::error_code is_name;
  (void)boost::asio::ip::make_address(host, is_name);
  return is_name ? host : std::string_view();
}

std::string endpoint_at(std::string_view endpoint, const boost::asio::ip::address& address) {
  const std::size_t length = name_in_endpoint(endpoint).size();
  std::string at(scheme);
  at += address.is_v6() ? "[" + address.to_string() + "]" : address.to_string();
  at += endpoint.substr(scheme.size() + length);
  return at;
}

}  // namespace kvc::net

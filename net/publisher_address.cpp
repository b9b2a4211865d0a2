#include "net/publisher_address.hpp"

#include <charconv>
#include <cstdint>
#include <string>
#include <sys/un.h>
#include <system_error>

#include <boost/asio/ip/address.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/local/stream_protocol.hpp>

namespace kvc::net {
namespace {

namespace asio = boost::asio;
using address = asio::generic::stream_protocol::endpoint;

std::optional<address> tcp_address(std::string_view text) {
  const std::size_t colon = text.rfind(':');
  if (colon == std::string_view::npos) return std::nullopt;
  const std::string_view number = text.substr(colon + 1);
  std::uint16_t port = 0;
  const auto [end, failed] = std::from_chars(number.data(), number.data() + number.size(), port);
  if (failed != std::errc() || end != number.data() + number.size() || port == 0) return std::nullopt;
  std::string_view host = text.substr(0, colon);
  const bool is_bracketed = host.size() > 2 && host.front() == '[' && host.back() == ']';
  if (is_bracketed) host = host.substr(1, host.size() - 2);
  boost::system::error_code unknown;
  const asio::ip::address found = asio::ip::make_address(std::string(host), unknown);
  if (unknown || found.is_v6() != is_bracketed) return std::nullopt;
  return address(asio::ip::tcp::endpoint(found, port));
}

std::optional<address> ipc_address(std::string_view path) {
  if (path.empty() || path == "*" || path == "@" || path.size() >= sizeof(sockaddr_un::sun_path)) return std::nullopt;
  std::string name(path);
  if (name.front() == '@') name.front() = '\0';  // as libzmq writes them
  return address(asio::local::stream_protocol::endpoint(name));
}

}  // namespace

std::optional<address> publisher_address(std::string_view endpoint) {
  constexpr std::string_view tcp = "tcp://";
  constexpr std::string_view ipc = "ipc://";
  if (endpoint.starts_with(tcp)) return tcp_address(endpoint.substr(tcp.size()));
  if (endpoint.starts_with(ipc)) return ipc_address(endpoint.substr(ipc.size()));
  return std::nullopt;
}

}  // namespace kvc::net

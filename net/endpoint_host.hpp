// The host in an endpoint of the transport: tcp://host:port.
#pragma once

#include <string>
#include <string_view>

#include <boost/asio/ip/address.hpp>

namespace kvc::net {

/// The name that has to be looked up before `endpoint` can be connected to; empty: it has an address, or is no tcp endpoint. Pure.
[[nodiscard]] std::string_view name_in_endpoint(std::string_view endpoint) noexcept;

/// `endpoint` with `address` in place of the name that `name_in_endpoint` finds in it. Pure.
[[nodiscard]] std::string endpoint_at(std::string_view endpoint, const boost::asio::ip::address& address);

}  // namespace kvc::net

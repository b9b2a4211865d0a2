// Where an endpoint of the transport is, in the kernel's terms.
#pragma once

#include <optional>
#include <string_view>

#include <boost/asio/generic/stream_protocol.hpp>

namespace kvc::net {

/// Of `tcp://address:port`, an IPv6 address in brackets, and of `ipc://path` or `ipc://@name` (an abstract one). None: it is neither, or
/// there is something that has to be looked up, or nobody can connect to it. Pure.
[[nodiscard]] std::optional<boost::asio::generic::stream_protocol::endpoint> publisher_address(std::string_view endpoint);

}  // namespace kvc::net

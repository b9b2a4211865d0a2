// A host as somebody wrote it: what is looked up for it, and what it is called in a request.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace kvc::net {

/// The name or address to look up: the text without the brackets that an IPv6 address may stand in, as in URLs. Nothing when it is no host:
/// empty, or with blanks or control characters, which could end a line of a request. Pure.
[[nodiscard]] std::optional<std::string_view> host_to_find(std::string_view text) noexcept;

/// The value of a `Host` field (RFC 9110, section 7.2). `host` as from `host_to_find`; the zone of an IPv6 address, which means something
/// on this machine only, is left out. Pure.
[[nodiscard]] std::string host_field(std::string_view host, std::uint16_t port);

}  // namespace kvc::net

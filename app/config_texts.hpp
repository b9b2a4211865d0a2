// Settings that are more than a number: how their text is checked and read. Used by the table of settings only.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "app/settings.hpp"

namespace kvc::app {

// Each `put_` changes nothing and answers false when what it is given is not legal; legal values stand in config_fields.cpp.

[[nodiscard]] std::string get_http_host(const settings& from);
[[nodiscard]] bool put_http_host(settings& into, const std::string& text);

[[nodiscard]] std::vector<std::string> get_http_ports(const settings& from);
[[nodiscard]] bool put_http_ports(settings& into, const std::vector<std::string>& items);

[[nodiscard]] std::uint64_t get_first_port(const settings& from);
/// Replaces the first port. When another entry is the same port, that entry goes, so that the list stays one of different ports.
void put_first_port(settings& into, std::uint64_t port);

/// The last of `http_ports`, which is another one than the first: one is added where there is only one.
[[nodiscard]] std::uint64_t get_last_port(const settings& from);
void put_last_port(settings& into, std::uint64_t port);

/// As `put_http_host`, and takes the word `localhost`, which the other service's users write.
[[nodiscard]] bool put_coordinator_host(settings& into, const std::string& text);

/// `keys` or `bytes`.
[[nodiscard]] std::string get_eviction_unit(const settings& from);
[[nodiscard]] bool put_eviction_unit(settings& into, const std::string& text);

/// Any path; whether it can be written is found out at the start.
[[nodiscard]] std::string get_quota_file(const settings& from);
[[nodiscard]] bool put_quota_file(settings& into, const std::string& text);

[[nodiscard]] std::string get_log_level(const settings& from);
[[nodiscard]] bool put_log_level(settings& into, const std::string& text);

/// Items are `module=level`.
[[nodiscard]] std::string get_after_loss(const settings& from);
[[nodiscard]] bool put_after_loss(settings& into, const std::string& text);

[[nodiscard]] std::vector<std::string> get_log_modules(const settings& from);
[[nodiscard]] bool put_log_modules(settings& into, const std::vector<std::string>& items);

/// Whether every item can be a bearer token: 1 to 4096 of the characters RFC 6750 section 2.1 allows.
[[nodiscard]] bool are_tokens(const std::vector<std::string>& items) noexcept;

/// Whether the text is digits alone, or these behind a minus.
[[nodiscard]] bool looks_whole(std::string_view text) noexcept;

/// Reads all of `text` as a whole decimal number. False when it is anything else or does not fit.
[[nodiscard]] bool parse_whole(const std::string& text, std::uint64_t& parsed) noexcept;

}  // namespace kvc::app

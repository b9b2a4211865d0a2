#include "app/config_texts.hpp"

#include <algorithm>
#include <arpa/inet.h>
#include <charconv>
#include <string_view>
#include <utility>

namespace kvc::app {

std::string get_http_host(const settings& from) {
  return from.http_host;
}

bool put_http_host(settings& into, const std::string& text) {
  in6_addr scratch{};
  if (inet_pton(AF_INET, text.c_str(), &scratch) != 1 && inet_pton(AF_INET6, text.c_str(), &scratch) != 1) return false;
  into.http_host = text;
  return true;
}

bool put_coordinator_host(settings& into, const std::string& text) {
  return put_http_host(into, text == "localhost" ? "127.0.0.1" : text);
}

std::vector<std::string> get_http_ports(const settings& from) {
  std::vector<std::string> items;
  for (const std::uint16_t port : from.http_ports) items.push_back(std::to_string(port));
  return items;
}

bool put_http_ports(settings& into, const std::vector<std::string>& items) {
  constexpr std::size_t most_ports = 16;
  if (items.empty() || items.size() > most_ports) return false;
  std::vector<std::uint16_t> ports;
  for (const std::string& item : items) {
    std::uint64_t port = 0;
    if (!parse_whole(item, port) || port > 65'535) return false;
    const auto narrow = static_cast<std::uint16_t>(port);
    // Zero asks for any free port, so it may be there more than once.
    if (narrow != 0 && std::ranges::find(ports, narrow) != ports.end()) return false;
    ports.push_back(narrow);
  }
  into.http_ports = std::move(ports);
  return true;
}

std::uint64_t get_first_port(const settings& from) {
  return from.http_ports.front();
}

void put_first_port(settings& into, std::uint64_t port) {
  const auto narrow = static_cast<std::uint16_t>(port);
  into.http_ports.front() = narrow;
  if (narrow == 0) return;
  const auto twice = std::remove(into.http_ports.begin() + 1, into.http_ports.end(), narrow);
  into.http_ports.erase(twice, into.http_ports.end());
}

std::uint64_t get_last_port(const settings& from) {
  return from.http_ports.back();
}

void put_last_port(settings& into, std::uint64_t port) {
  const auto narrow = static_cast<std::uint16_t>(port);
  if (into.http_ports.size() > 1) into.http_ports.pop_back();
  if (narrow != 0) std::erase(into.http_ports, narrow);
  into.http_ports.push_back(narrow);
}

std::string get_eviction_unit(const settings& from) {
  return from.coordinator.eviction_unit == core::eviction_unit::bytes ? "bytes" : "keys";
}

bool put_eviction_unit(settings& into, const std::string& text) {
  if (text != "keys" && text != "bytes") return false;
  into.coordinator.eviction_unit = text == "bytes" ? core::eviction_unit::bytes : core::eviction_unit::keys;
  return true;
}

std::string get_quota_file(const settings& from) {
  return from.coordinator.quota_file;
}

bool put_quota_file(settings& into, const std::string& text) {
  into.coordinator.quota_file = text;
  return true;
}

std::string get_log_level(const settings& from) {
  return std::string(net::log::to_string(from.log_level));
}

bool put_log_level(settings& into, const std::string& text) {
  return net::log::parse_level(text, into.log_level);
}

std::string get_after_loss(const settings& from) {
  return std::string(core::to_string(from.streams.after_loss));
}

bool put_after_loss(settings& into, const std::string& text) {
  const auto policy = core::parse_loss_policy(text);
  if (policy) into.streams.after_loss = *policy;
  return policy.has_value();
}

std::vector<std::string> get_log_modules(const settings& from) {
  std::vector<std::string> items;
  for (const auto& [module, level] : from.log_modules) {
    items.push_back(std::string(net::log::to_string(module)) + "=" + std::string(net::log::to_string(level)));
  }
  return items;
}

bool put_log_modules(settings& into, const std::vector<std::string>& items) {
  std::vector<std::pair<net::log::module, net::log::level>> modules;
  for (const std::string_view item : items) {
    const std::size_t equals = item.find('=');
    if (equals == std::string_view::npos) return false;
    std::pair<net::log::module, net::log::level> entry;
    if (!net::log::parse_module(item.substr(0, equals), entry.first)) return false;
    if (!net::log::parse_level(item.substr(equals + 1), entry.second)) return false;
    modules.push_back(entry);
  }
  into.log_modules = std::move(modules);
  return true;
}

bool are_tokens(const std::vector<std::string>& items) noexcept {
  constexpr std::size_t longest = 4096;
  constexpr std::string_view signs = "-._~+/=";
  const auto legal_letter = [&](char letter) {
    return (letter >= '0' && letter <= '9') || (letter >= 'a' && letter <= 'z') || (letter >= 'A' && letter <= 'Z') ||
           signs.find(letter) != std::string_view::npos;
  };
  return std::ranges::all_of(
      items, [&](const std::string& item) { return !item.empty() && item.size() <= longest && std::ranges::all_of(item, legal_letter); });
}

bool looks_whole(std::string_view text) noexcept {
  if (text.starts_with('-')) text.remove_prefix(1);
  return !text.empty() && std::ranges::all_of(text, [](char letter) { return letter >= '0' && letter <= '9'; });
}

bool parse_whole(const std::string& text, std::uint64_t& parsed) noexcept {
  const char* const end = text.data() + text.size();
  const auto [stop, failure] = std::from_chars(text.data(), end, parsed);
  return failure == std::errc{} && stop == end;
}

}  // namespace kvc::app

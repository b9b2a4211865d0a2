// Every setting of the process as a plain value, at its default until something says otherwise.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "core/block_hasher.hpp"
#include "net/coordinator_settings.hpp"
#include "net/fleet_service.hpp"
#include "net/http_server.hpp"
#include "net/log.hpp"
#include "net/store_settings.hpp"

namespace kvc::app {

/// A publisher the configuration file names, not yet validated: the same JSON that POST /register takes.
struct publisher_entry {
  std::string name;    ///< where it stands, for messages: kvevent_instance.<name> or kvevent_instance[<index>]
  std::string json;    ///< one JSON object
  std::string source;  ///< which file
};

/// Meanings, legal ranges and what zero means stand in config_fields.cpp, one row per setting.
struct settings {
  std::size_t lanes = 0;
  bool pin_lanes = false;
  int zmq_io_threads = 1;
  std::uint64_t hash_seed = core::default_hash_seed;
  std::uint64_t index_reserve = 0;  ///< bytes
  std::chrono::milliseconds shutdown_timeout{10'000};

  std::string http_host = "0.0.0.0";
  std::vector<std::uint16_t> http_ports{13333, 9300};
  net::http_settings http;
  net::stream_settings streams;

  net::coordinator_settings coordinator;
  net::store_settings stores;

  net::log::level log_level = net::log::level::info;
  std::vector<std::pair<net::log::module, net::log::level>> log_modules;
  bool to_journal = false;    ///< standard error is connected to the systemd journal (JOURNAL_STREAM)
  std::string notify_socket;  ///< of the service manager (NOTIFY_SOCKET); empty: there is none

  std::vector<publisher_entry> publishers;
  std::vector<publisher_entry> store_entries;  ///< as `publishers`, of POST /stores
};

}  // namespace kvc::app

// What the stores' half of the service may do; see app/config for meanings and ranges.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

namespace kvc::net {

struct store_settings {
  std::size_t max_objects = 100'000'000;                ///< of all stores that share a table
  std::size_t max_key_bytes = 1'024;                    ///< longer keys are no keys
  std::size_t exist_max_keys = 16'384;                  ///< of one request
  std::chrono::milliseconds exist_wait{25'000};         ///< a probe that wants to wait for longer is answered then
  std::chrono::milliseconds prefetch_dedup{30'000};     ///< how long a promoted object is left alone
  std::chrono::milliseconds prefetch_cooldown{5'000};   ///< and one whose promotion failed
  std::chrono::milliseconds prefetch_deadline{10'000};  ///< of one promotion
  std::size_t prefetch_in_flight = 4'096;               ///< objects being promoted or waiting for it
  std::size_t prefetch_concurrency = 4;                 ///< calls for promotions at one time, per store
  std::uint64_t prefetch_max_blocks = 256;              ///< of one query
  std::size_t promotion_hits = 2;  ///< how often a master is asked for an object before it promotes it (promotion_admission_threshold)
  std::chrono::milliseconds reconcile_age{10'000};      ///< what is known of an object and older than this is read again when it is touched
  std::size_t reconcile_rate = 1'000;                   ///< objects read again per second and store, whether touched or not; 0: none
  std::chrono::milliseconds store_call_timeout{2'000};  ///< one call to a store
  std::vector<std::string> auth_tokens = {};            ///< may do everything; with both lists empty, anybody may
  std::vector<std::string> auth_read_tokens = {};       ///< may do what changes nothing
};

}  // namespace kvc::net

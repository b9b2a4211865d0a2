// What clients may ask, as checked values: a query, a registration, which registrations to end.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "core/ids.hpp"
#include "core/medium.hpp"
#include "core/registration.hpp"
#include "net/refusal.hpp"
#include "net/request_document.hpp"

namespace kvc::net {

/// How far a prompt is cached, where. Views live as long as the document it was read from.
struct query_request {
  core::partition_key partition;
  bool by_hash = false;
  std::span<const std::uint32_t> tokens;              ///< the prompt, when not by hash
  std::span<const core::seq_hash> hashes;             ///< its rolling hashes, when by hash
  bool by_names = false;                              ///< `hashes` are the engines' names for its blocks, until find_named_blocks
  std::size_t unknown_names = 0;                      ///< behind `hashes`, since then: nobody knows the first of them
  std::vector<std::string> extra_keys;                ///< per block; may be shorter
  std::span<const core::local_hash> locals;           ///< of `tokens`, where they have been hashed already (see long_prompt.hpp)
  std::optional<std::uint64_t> seed_of_locals;        ///< with this seed; absent: they have not
  std::string instance;                               ///< only this row; empty: all
  std::optional<std::vector<std::string>> instances;  ///< only these rows
  std::optional<std::vector<std::string>> media;      ///< only these media, as the client spells them
  std::uint64_t min_match = 0;                        ///< tokens; rows below are left out
  std::optional<std::uint64_t> top_k;                 ///< at most this many rows, the longest
  bool detail = false;
  bool prefetch = false;                  ///< blocks behind what is in memory are to be brought there
  std::string preferred;                  ///< where to; empty: anywhere
  std::uint64_t prefetch_max_blocks = 0;  ///< at most so many blocks; 0: the server's setting
};

/// Which of the two query routes, or either (in a batch, where `token_ids` decides when both lists are there).
enum class query_kind : std::uint8_t { tokens, hashes, either };

/// Reads one query into `out`. (Contract: spec indexer-api, POST /query and /query_by_hash.)
[[nodiscard]] checked read_query(const request_document& document, const request_item& item, query_kind wanted, query_request& out);

/// A registration and what the client should know about it.
struct registration_request {
  core::registration registration;
  std::string
      new_medium;  ///< the word for its medium, if nobody has used it yet: to be learned once the registration is not refused any more
  std::vector<std::string> warnings;
};

/// Reads a registration into `out`, every absent member filled in. `default_seed` is the server's.
/// (Contract: spec indexer-api, POST /register.)
[[nodiscard]] checked read_registration(const request_document& document, const request_item& item, std::uint64_t default_seed,
                                        const core::medium_table& media, registration_request& out);

/// Which registrations to end; absent: any.
struct unregistration {
  std::string tenant = "default";
  std::string instance;
  std::optional<core::dp_rank> rank;
  std::optional<core::publisher_class> kind;  ///< from `type`: Mooncake is a pool, every other known word an engine
};

/// Reads which registrations to end. (Contract: spec indexer-api, POST /unregister.)
[[nodiscard]] checked read_unregistration(const request_document& document, const request_item& item, unregistration& out);

/// Whether `endpoint` is tcp://host:port, tcp://[v6]:port or ipc://path. Pure.
[[nodiscard]] bool is_endpoint(std::string_view endpoint) noexcept;

}  // namespace kvc::net

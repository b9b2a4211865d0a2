// Texts between a store's side and the conductor: registrations, probes and their answers. Pure.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "perf/sim_store_options.hpp"

namespace kvc::sim {

/// Body of POST /register for the publisher of a master; `instance` names it.
[[nodiscard]] std::string store_publisher_body(const store_options& chosen, std::string_view instance, std::string_view endpoint,
                                               std::string_view replay_endpoint);
/// Body of POST /stores for a master at `url`.
[[nodiscard]] std::string store_executor_body(const store_options& chosen, std::string_view url);

/// Body of POST /exist for several keys.
[[nodiscard]] std::string exist_body(const store_options& chosen, std::span<const std::string> keys, bool with_prefetch);

/// What may have been done about a key that is to be in memory.
inline constexpr std::array<std::string_view, 5> store_outcome_words{"none", "started", "joined", "suppressed", "failed"};

/// What is answered of a key that is not known while its store cannot be asked. (Source: store-prefetch.md, "POST /exist".)
inline constexpr std::int64_t unavailable = -2000;

/// An answer to several keys.
struct exist_answer {
  std::vector<std::int64_t> exists;   ///< 1, 0, or a negative code
  std::vector<std::size_t> outcomes;  ///< as in `store_outcome_words`; empty when there was no prefetch
};
/// Nothing when it is none: other members, other words, other sizes than `keys`.
[[nodiscard]] std::optional<exist_answer> read_exist(std::string_view body, std::size_t keys, bool with_prefetch);

/// How many batches of each stream of `instance` the conductor has applied, from an answer of GET /services; 0: none yet, or no such
/// stream.
[[nodiscard]] std::uint64_t read_applied(std::string_view body, std::string_view instance);

/// Whether a look-up can name the key at all: it is sent as it is, and there are bytes that cannot stand in a request.
[[nodiscard]] bool can_be_looked_up(std::string_view key) noexcept;

}  // namespace kvc::sim

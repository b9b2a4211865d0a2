// The words in which tests tell an index, real or model, what happened.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "core/ids.hpp"
#include "core/medium.hpp"

namespace kvc::test {

/// How a store says where its first block stands; the strict model's own copy of the rule, so that it shares none with the index.
enum class link : std::uint8_t { root, parent, standard, by_name };

/// Consecutive blocks of one chain, stored by one worker.
struct store_step {
  std::size_t partition = 0;  ///< number of a partition of the test, from 0
  core::medium_id medium = core::medium_id::gpu;
  link how = link::root;
  core::engine_hash parent{};  ///< for link::parent
  std::vector<core::engine_hash> names;
  std::vector<core::local_hash> locals;  ///< as many as names for root and parent; empty otherwise
};

/// What a removal says of the partition it means.
struct removal_step {
  std::optional<std::size_t> partition;
  bool is_explicit = false;  ///< it means nothing but what stands there
};

/// What a worker is, for the rules that depend on it.
struct worker_traits {
  std::string instance = "instance";
  std::uint32_t rank = 0;
  bool copy_counting = true;
  bool is_pool = false;
  bool is_shared = false;  ///< a pool for every worker of the partition
  std::size_t max_orphans = 65'536;
};

/// The hash seed of every partition of the tests; any number will do.
inline constexpr std::uint64_t test_seed = 1337;

}  // namespace kvc::test

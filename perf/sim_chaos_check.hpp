// Whether a conductor's account of a chaos run agrees with what the publishers hold, as far as anybody can know. Pure.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "perf/sim_chaos_world.hpp"
#include "perf/sim_conductor.hpp"

namespace kvc::sim {

/// The row of one instance in an answer; lengths in tokens.
struct chaos_row {
  std::uint64_t longest = 0;
  std::map<std::string, std::uint64_t> media;
  std::map<std::uint32_t, std::uint64_t> ranks;
};
using chaos_answer = std::map<std::string, chaos_row>;  ///< by instance

/// Reads the answer to a query. False, with a sentence in `wrong`, when it is none.
[[nodiscard]] bool read_chaos_answer(std::string_view body, const std::string& tenant, chaos_answer& into, std::string& wrong);

/// What a conductor may do with what it cannot be sure of any more.
enum class doubt_policy : std::uint8_t {
  keeps,  ///< leaves blocks where they are that a lost batch may have removed
  drops,  ///< gives up everything that a lost batch may have removed
};

/// Holds a conductor against the world, once everything published has been applied.
///
/// The property: a stream that calls itself whole is answered for exactly. One that calls itself incomplete has lost something that cannot
/// be had
/// (`chaos_losses`), no more than that, and answers differ by no more than what the lost batches spoke of. `rows` are those of the members,
/// in their order; `answers` those to the prompts of the text, in theirs, asked for the blocks of `whose`. Returns sentences about what
/// does not hold.
[[nodiscard]] std::vector<std::string> check_chaos(const chaos_world& world, const std::vector<stream_row>& rows,
                                                   const std::vector<chaos_answer>& answers, doubt_policy policy,
                                                   const chaos_partition& whose = {});

}  // namespace kvc::sim

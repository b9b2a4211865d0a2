// The requests of made workloads: what is asked, in which order, and what belongs together.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "core/ids.hpp"

namespace kvc::perf {

/// One request in blocks. Reused from one to the next.
struct made_request {
  std::vector<core::local_hash> locals;  ///< of the prompt, then of the answer
  std::size_t prompt_blocks = 0;
  std::uint64_t affinity = 0;  ///< equal for requests that cache-affine routing sends to one worker
};

/// Gives requests in order; the same arguments give the same requests on every machine. One owner, one thread.
class bench_traffic {
 public:
  bench_traffic() = default;
  bench_traffic(const bench_traffic&) = delete;
  bench_traffic& operator=(const bench_traffic&) = delete;
  virtual ~bench_traffic() = default;

  /// False at the end, and at a fault; then `error` tells.
  [[nodiscard]] virtual bool next(made_request& into) = 0;
  /// A sentence; empty when nothing went wrong.
  [[nodiscard]] virtual const std::string& error() const noexcept = 0;
};

/// People chatting: every prompt begins with the same system prompt, then comes the whole conversation so far. Lengths are in blocks.
struct conversation_shape {
  std::uint32_t system_blocks = 64;  ///< at least 1
  std::uint32_t turn_blocks = 16;    ///< that a turn adds on average; at least 1
  std::uint32_t answer_blocks = 4;   ///< that an answer has on average; 0: none
  std::uint32_t chats = 4'096;       ///< conversations remembered, at least 1; beyond it a random one is forgotten
  double new_share = 0.3;            ///< of requests that begin a conversation
};
/// A conversation ends when it has this many blocks of its own.
inline constexpr std::uint32_t max_chat_blocks = 2'048;

/// Agents: a task has a trunk (system prompt and findings so far) off which many short branches are asked at once; then the trunk grows by
/// what they found, and the next fan opens. Lengths are in blocks.
struct agent_shape {
  std::uint32_t system_blocks = 32;  ///< shared by all tasks, at least 1
  std::uint32_t turn_blocks = 8;     ///< that the trunk grows by from fan to fan on average; at least 1
  std::uint32_t branch_blocks = 3;   ///< of a branch on average, at least 1
  std::uint32_t fan_out = 64;        ///< branches of one fan, at least 1
  std::uint32_t fans = 6;            ///< that a task opens at most, at least 1
  std::uint32_t tasks = 32;          ///< under way at once, at least 1
};

/// A Mooncake trace, every request as often as there are copies, each copy with texts of its own.
struct trace_shape {
  std::string path;
  std::uint32_t block_size = 64;  ///< tokens, a divisor of 512
  std::uint32_t copies = 1;       ///< at least 1
};

/// The first two never end.
[[nodiscard]] std::unique_ptr<bench_traffic> make_conversations(const conversation_shape& shape, std::uint64_t seed);
[[nodiscard]] std::unique_ptr<bench_traffic> make_agents(const agent_shape& shape, std::uint64_t seed);
[[nodiscard]] std::unique_ptr<bench_traffic> make_trace(const trace_shape& shape, std::uint64_t seed);

}  // namespace kvc::perf

// What a client says about a publisher when it registers it.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "core/ids.hpp"
#include "core/medium.hpp"

namespace kvc::core {

/// Which dialect a publisher speaks. `automatic`: decided by what its messages look like.
enum class publisher_type : std::uint8_t { automatic, vllm, sglang, tensorrt_llm, mooncake, standard };

[[nodiscard]] std::string_view to_string(publisher_type type) noexcept;
/// Case-insensitive; `TRTLLM` is TensorRT-LLM. Unknown words give `automatic` and false in `known`.
[[nodiscard]] publisher_type parse_publisher_type(std::string_view word, bool& known);

/// Whether publishers of this type announce every physical copy, so that a removal takes one away: vLLM's do; the others say once that a
/// block is there or gone (kv-events.md sections 0.8 and 11.5). A dialect that is not known yet is taken for vLLM's: counting a copy too
/// many overstates a block, counting one too few would hide it.
[[nodiscard]] constexpr bool counts_copies(publisher_type type) noexcept {
  return type == publisher_type::vllm || type == publisher_type::automatic;
}

/// What happens to blocks that may have gone with a lost batch, or in an absence without proof (stream_fsm). `drop`: they leave, and
/// answers only ever miss blocks. `keep`: they stay, and answers may overstate them until the publisher starts again or clears everything.
enum class loss_policy : std::uint8_t { drop, keep };

[[nodiscard]] constexpr std::string_view to_string(loss_policy policy) noexcept {
  return policy == loss_policy::keep ? "keep" : "drop";
}
/// Absent for any other word.
[[nodiscard]] std::optional<loss_policy> parse_loss_policy(std::string_view word) noexcept;

/// Whether a message with this topic is meant for a registration with `wanted`: the whole topic must agree, since `kv@10.0.0.1` is not
/// `kv@10.0.0.10` (kv-events.md section 10, case 30). Empty: any topic; with a `*` at its end: any that begins with what stands before.
[[nodiscard]] bool is_topic_wanted(std::string_view wanted, std::string_view topic) noexcept;
/// What to subscribe to, as the transport compares beginnings only.
[[nodiscard]] std::string_view topic_prefix(std::string_view wanted) noexcept;

/// A validated registration: every optional field has its final value. (Source: seed 000 and spec indexer-api, POST /register.)
struct registration {
  worker_key worker;
  partition_key partition;  ///< tenant, model, lora, salt, block size
  publisher_type type = publisher_type::vllm;
  std::string endpoint;         ///< tcp://host:port, tcp://[v6]:port or ipc://path
  std::string replay_endpoint;  ///< empty: none
  std::string topic;            ///< see `is_topic_wanted`
  bool bind = false;            ///< we bind and the publisher connects
  std::uint64_t hash_seed = 0;
  medium_id medium = medium_id::gpu;  ///< assumed when an event carries none
  std::string backend_id;
  bool copy_counting = true;              ///< the publisher announces physical copies: a removal takes one away; see `counts_copies`
  bool shared = false;                    ///< a pool whose blocks every instance of the partition can use
  std::uint32_t shards = 0;               ///< of a pool: how many objects make up a block; 0: to be learned (see pool_layouts)
  std::optional<loss_policy> after_loss;  ///< absent: as the server is set
  bool expects_idle = false;              ///< silence means nothing: the stream never becomes stale, and its blocks stay

  friend bool operator==(const registration&, const registration&) = default;
};

}  // namespace kvc::core

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

/// A validated registration: every optional field has its final value. (Source: seed 000 and spec indexer-api, POST /register.)
struct registration {
  worker_key worker;
  partition_key partition;         ///< tenant, model, lora, salt, block size
  publisher_type type = publisher_type::vllm;
  std::string endpoint;            ///< tcp://host:port, tcp://[v6]:port or ipc://path
  std::string replay_endpoint;     ///< empty: none
  std::string topic;               ///< subscription prefix; empty: everything
  bool bind = false;               ///< we bind and the publisher connects
  std::uint64_t hash_seed = 0;
  medium_id medium = medium_id::gpu;  ///< assumed when an event carries none
  std::string backend_id;
  bool copy_counting = true;       ///< the publisher announces physical copies: a removal takes one away; see `counts_copies`
  bool shared = false;             ///< a pool whose blocks every instance of the partition can use

  friend bool operator==(const registration&, const registration&) = default;
};

}  // namespace kvc::core

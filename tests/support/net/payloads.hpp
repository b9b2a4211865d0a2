// vLLM batches for tests: tokens in, the bytes an engine would publish out.
#pragma once

#include <chrono>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace kvc::test {

/// Token ids first, first + 1, ... : `blocks` blocks of `block_size`.
[[nodiscard]] std::vector<std::uint32_t> tokens_from(std::uint32_t first, std::uint32_t blocks, std::uint32_t block_size = 4);

/// A batch with one BlockStored in map form.
[[nodiscard]] std::string stored_payload(const std::vector<std::uint64_t>& hashes, std::optional<std::uint64_t> parent,
                                         const std::vector<std::uint32_t>& tokens, std::uint32_t block_size = 4,
                                         const std::string& medium = "GPU");
/// A root chain in a batch that speaks for a rank.
[[nodiscard]] std::string stored_for_rank_payload(std::uint32_t rank, const std::vector<std::uint64_t>& hashes,
                                                  const std::vector<std::uint32_t>& tokens);
/// The same for one root block, with a member nobody knows that makes it large.
[[nodiscard]] std::string padded_payload(std::uint64_t hash, const std::vector<std::uint32_t>& tokens, const std::string& padding);
/// A batch with a BlockStored of its own for each name, all of them roots, under an adapter.
[[nodiscard]] std::string stored_one_by_one_payload(const std::vector<std::uint64_t>& hashes, const std::string& adapter);
[[nodiscard]] std::string removed_payload(const std::vector<std::uint64_t>& hashes, const std::string& medium = "GPU");
[[nodiscard]] std::string cleared_payload();
/// The batch with another time, `age` before now.
[[nodiscard]] std::string aged(std::string payload, std::chrono::seconds age);

}  // namespace kvc::test

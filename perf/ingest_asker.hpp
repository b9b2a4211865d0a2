// Queries over HTTP at a fixed rate, on one connection and one thread.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

namespace kvc::perf {

/// The bytes of POST /query for each prompt, in the order they are asked.
[[nodiscard]] std::vector<std::string> ingest_questions(const std::vector<std::vector<std::uint32_t>>& prompts);

/// Asks `questions` in turn at `rate` per second until `is_over()`, and returns the nanoseconds from the moment each was due to the last
/// byte of its answer: what a queue costs is in it. Throws std::runtime_error when an answer is not 200 or the connection breaks.
[[nodiscard]] std::vector<std::uint32_t> ask_at_rate(std::uint16_t port, const std::vector<std::string>& questions, double rate,
                                                     const std::function<bool()>& is_over);

}  // namespace kvc::perf

// Batches as publishers send them, written down before anything is measured.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include <boost/system/result.hpp>

#include "perf/ingest_plan.hpp"
#include "perf/large_page_allocator.hpp"

namespace kvc::perf {

/// Tokens per block of every stream.
inline constexpr std::uint32_t ingest_block_tokens = 16;

/// One batch of one stream, in the order of publication.
struct ingest_batch {
  std::size_t begin = 0;  ///< of the payload
  std::uint32_t bytes = 0;
  std::uint32_t stream = 0;
  std::uint32_t blocks = 0;  ///< stored and removed
  std::uint32_t time = 0;    ///< where the payload has its time, eight bytes of a big-endian double; 0: its form has none
};

/// Payloads of several streams, one after the other in memory. Immutable once made; shared with forked processes.
class ingest_frames {
 public:
  explicit ingest_frames(std::uint32_t streams) : held_(streams) {}

  /// `time` as in the batch.
  void append(std::uint32_t stream, std::string_view payload, std::uint32_t stored, std::uint32_t removed, std::uint32_t time = 0);
  void set_held(std::uint32_t stream, std::uint64_t blocks) { held_[stream] = blocks; }

  [[nodiscard]] const std::vector<ingest_batch>& batches() const noexcept { return batches_; }
  [[nodiscard]] std::string_view payload(const ingest_batch& of) const noexcept {
    return std::string_view(bytes_.data(), bytes_.size()).substr(of.begin, of.bytes);
  }
  [[nodiscard]] std::uint32_t streams() const noexcept { return static_cast<std::uint32_t>(held_.size()); }
  [[nodiscard]] std::uint64_t stored() const noexcept { return stored_; }
  [[nodiscard]] std::uint64_t removed() const noexcept { return removed_; }
  [[nodiscard]] std::uint64_t blocks() const noexcept { return stored_ + removed_; }
  [[nodiscard]] std::size_t bytes() const noexcept { return bytes_.size(); }
  /// Reads something of every page. For a process that shares them since it was forked and is about to be timed: a hypervisor that keeps
  /// the tables of pages itself finds each page when it is first used there, which takes longer than sending what lies in it.
  void bring_near() const noexcept;
  /// What all engines hold after the last batch: the truth that the index is compared with.
  [[nodiscard]] std::uint64_t held() const noexcept;

 private:
  std::vector<char, large_page_allocator<char>> bytes_;  ///< read by publishers long after it was written
  std::vector<ingest_batch> batches_;
  std::vector<std::uint64_t> held_;
  std::uint64_t stored_ = 0;
  std::uint64_t removed_ = 0;
};

/// The eight bytes of a double as MessagePack has them.
[[nodiscard]] std::string big_endian(double value);

/// Serves the plan's requests on its engines, one after the other, until they have told of `blocks` blocks, and writes down what they say
/// in `form`. Error: a sentence about the trace.
[[nodiscard]] boost::system::result<ingest_frames, std::string> frames_of_requests(const ingest_plan& plan, net::event_form form);

/// One stream of batches of 64 blocks each, 16 batches to a chain.
[[nodiscard]] ingest_frames frames_to_replay(std::uint32_t batches, net::event_form form);

/// Prompts of the plan's requests, cut to `tokens`, shorter ones left out: what is asked beside the events.
[[nodiscard]] std::vector<std::vector<std::uint32_t>> prompts_to_ask(const ingest_plan& plan, std::size_t count, std::size_t tokens);

}  // namespace kvc::perf

// One dialect's decoder with all that is behind it: payloads of a publisher registered for the dialect, through to the index.
#pragma once

#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <variant>
#include <vector>

#include "core/block_hasher.hpp"
#include "core/event_applier.hpp"
#include "core/worker_numbers.hpp"
#include "net/event_codec.hpp"
#include "net/event_encode.hpp"
#include "net/msgpack_tape.hpp"
#include "tests/support/fuzz_events.hpp"
#include "tests/support/fuzz_require.hpp"

namespace kvc::fuzz {

/// The index with one stream of events; made anew for each input, so that an input alone decides what happens.
class dialect_stream {
 public:
  explicit dialect_stream(core::publisher_type type) {
    core::registration as;
    const bool is_pool = type == core::publisher_type::mooncake;
    as.worker = {.tenant = "default", .instance = "a", .kind = is_pool ? core::publisher_class::pool : core::publisher_class::engine};
    as.partition = {.tenant = "default", .model = "m", .lora = "", .salt = "", .block_size = 16};
    as.type = type;
    as.hash_seed = 1337;
    as.medium = is_pool ? core::medium_id::cpu : core::medium_id::gpu;
    as.copy_counting = core::counts_copies(type);
    const core::member who{.id = *numbers_.next(),
                           .key = core::shared_key(as.worker),
                           .shared_pool = is_pool,
                           .status = nullptr,
                           .media_seen = std::make_shared<std::atomic<core::media_mask>>(core::media_mask{0})};
    core::event_applier::options limits;
    limits.max_orphans = 64;  // small enough to be reached
    limits.next_worker = [this] { return numbers_.next(); };
    stream_ = std::make_unique<core::event_applier>(as, who, partitions_, limits);
  }

  void apply(const core::event_batch& batch) {
    core::event_applier::progress at;
    for (std::size_t turns = 0; !stream_->apply_some(batch, at, 64, tally_); ++turns)
      require(turns < 1'000'000, "a batch comes to its end");
    require(stream_->orphans() <= 64 * stream_->owners(), "orphans are bounded");
    require(stream_->owners() <= core::event_applier::max_owners, "owners are bounded");
  }

  [[nodiscard]] std::optional<core::hash_recipe> recipe() const { return stream_->recipe(); }

  /// Whatever has been stored can be forgotten again.
  void leave() {
    for (std::size_t turns = 0; !stream_->drop_some(64, tally_); ++turns) require(turns < 1'000'000, "forgetting comes to its end");
    require(stream_->names() == 0 && stream_->orphans() == 0, "nothing is left of a stream that has left");
    for (const auto& [key, each] : partitions_.view().get()->partitions) {
      require(each->partition->index().blocks() == 0, "nothing is left in the index");
    }
  }

 private:
  core::catalog partitions_;
  core::worker_numbers numbers_;
  std::unique_ptr<core::event_applier> stream_;
  core::apply_tally tally_;
};

/// The payload an input stands for. Its first byte says what the rest is: a payload (0), or one event, to be put into a batch of three (1),
/// of two (2), or that is a map (3): so the fuzzer need not find the batch before it finds the event.
inline std::string payload_of(const std::uint8_t* data, std::size_t size) {
  const std::string_view rest(reinterpret_cast<const char*>(data + 1), size - 1);
  const unsigned around = data[0] % 4U;
  std::string payload;
  if (around == 0) return std::string(rest);
  msgpack_writer to(payload);
  around == 3 ? to.map(3) : to.array(around == 1 ? 3 : 2);
  if (around == 3) to.string("ts");
  to.real(1763700000.5);
  if (around == 3) to.string("events");
  to.array(1);
  payload += rest;
  if (around == 3) to.string("data_parallel_rank");
  if (around != 2) to.unsigned_integer(0);
  return payload;
}

/// That hashes stand only where tokens were, and are theirs.
inline void check_hashes(const core::event_batch& batch, const core::event_batch& hashed, const std::optional<core::hash_recipe>& recipe) {
  require(batch.events.size() == hashed.events.size(), "hashing changes no events");
  for (std::size_t i = 0; i < batch.events.size(); ++i) {
    const auto* const stored = std::get_if<core::stored_event>(&batch.events[i]);
    if (stored == nullptr) continue;
    const auto& other = std::get<core::stored_event>(hashed.events[i]);
    require(other.has_tokens == stored->has_tokens, "hashes say that there were tokens");
    if (other.locals.empty()) {
      require(other.tokens == stored->tokens, "tokens that are not hashed stay");
      continue;
    }
    std::vector<core::local_hash> wanted;
    core::hash_blocks(stored->tokens, recipe->block_size, recipe->seed, wanted);
    require(other.tokens.empty() && other.locals == wanted && wanted.size() == stored->hashes.size(), "hashes are those of the tokens");
  }
}

/// What a fuzz target of a dialect does with its input: decode, check, write in the dialect's `forms`, which say all, and in its `lesser`
/// ones, which do not, and read again, apply twice, forget.
inline int run_dialect(core::publisher_type type, std::initializer_list<event_form> forms, std::initializer_list<event_form> lesser,
                       const std::uint8_t* data, std::size_t size) {
  if (size == 0) return 0;
  static core::medium_table media;
  event_decoder decoder(type, media);
  event_decoder reader(type, media);
  static core::event_batch batch;
  static core::event_batch again;
  const std::string payload = payload_of(data, size);
  const error_code failed = decoder.decode(std::as_bytes(std::span(payload)), batch);
  require(check_both_ways(std::as_bytes(std::span(payload)), type, {}) == failed, "what is refused is refused always");
  if (failed) {
    require(batch.events.empty() && batch.rejected_events == 0, "a refused payload leaves nothing behind");
    return 0;
  }
  require(batch.events.size() + batch.joined_events + batch.rejected_events <= max_batch_events, "events are bounded");
  for (const core::event& each : batch.events) check_bounds(each);
  check_counts(batch);
  for (const event_form form : forms) check_survives(batch, media, form, reader, again);
  for (const event_form form : lesser) check_readable(batch, media, form, reader, again);
  if (batch.events.empty()) return 0;
  dialect_stream stream(type);
  event_decoder hasher(type, media);
  hasher.hash_by(stream.recipe());
  require(!hasher.decode(std::as_bytes(std::span(payload)), again), "what is read is read with hashes in place of tokens as well");
  check_hashes(batch, again, stream.recipe());
  stream.apply(again);
  stream.apply(batch);  // replays and publishers repeat themselves
  stream.leave();
  return 0;
}

}  // namespace kvc::fuzz

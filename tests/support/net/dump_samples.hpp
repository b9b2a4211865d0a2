// Dumps for tests: one worker with all that a dump can tell, and the way back from bytes to an index.
#pragma once

#include <cstddef>
#include <memory>
#include <span>
#include <stdexcept>
#include <string>
#include <vector>

#include "core/lane_blocks.hpp"
#include "core/snapshot.hpp"
#include "core/snapshot_loader.hpp"
#include "net/dump_decode.hpp"
#include "net/dump_encode.hpp"

namespace kvc::test {

/// A worker that was loaded from a compact dump, in partitions of its own.
struct restored_worker {
  net::dump_owner owner;
  net::dump_end end;
  std::vector<std::shared_ptr<core::partition>> homes;
  std::unique_ptr<core::lane_blocks> blocks;
};

/// Loads a whole dump; throws when it is refused.
inline std::vector<restored_worker> restore(const std::string& bytes, core::medium_table& media) {
  std::vector<restored_worker> made;
  net::dump_decoder from(std::as_bytes(std::span(bytes)), media);
  std::unique_ptr<core::snapshot_loader> loader;
  core::apply_tally tally;
  for (;;) {
    const auto found = from.next();
    if (!found) throw std::runtime_error(found.error().message());
    switch (*found) {
      case net::dump_decoder::record::owner: {
        restored_worker& next = made.emplace_back();
        next.owner = from.owner;
        next.blocks = std::make_unique<core::lane_blocks>(core::lane_blocks::options{
            .worker = core::worker_id{static_cast<std::uint32_t>(made.size())}, .copy_counting = from.owner.copy_counting});
        loader = std::make_unique<core::snapshot_loader>(*next.blocks);
        break;
      }
      case net::dump_decoder::record::home:
        made.back().homes.push_back(std::make_shared<core::partition>(from.home.key, from.home.seed));
        loader->add_home(made.back().homes.back());
        break;
      case net::dump_decoder::record::slice:
        if (const auto failed = loader->load(from.slice, tally)) throw std::runtime_error(failed.message());
        break;
      case net::dump_decoder::record::end:
        made.back().end = from.end;
        loader->finish(tally);
        loader.reset();
        break;
      case net::dump_decoder::record::end_of_dump: return made;
    }
  }
}

/// How deep a worker that stands alone in its first partition holds these blocks.
inline std::uint32_t depth_of(const restored_worker& who, std::uint32_t number, std::span<const core::local_hash> query) {
  core::match_result answer;
  who.homes.front()->index().match(query, core::match_scope{}, answer);
  return answer.of(core::worker_id{number}).any;
}

/// Three blocks with a hole behind the first, a name with two copies, a block known by its sequence hash only, and one that waits.
inline core::dump_slice sample_slice() {
  core::dump_slice told;
  told.waiting.push_back({core::engine_hash{90}, core::engine_hash{89}, core::local_hash{9}, 0, 0, 1});
  told.waiting_copies.push_back({core::medium_id::gpu, 1});
  told.paths.push_back({.number = 0, .count = 3, .first_hash = core::seq_hash{1}});
  told.locals = {core::local_hash{1}, core::local_hash{2}, core::local_hash{3}};
  told.parts.push_back({.path = 0, .offset = 0, .medium = core::medium_id::gpu, .first_name = 0, .count = 1});
  told.parts.push_back({.path = 0, .offset = 2, .medium = core::medium_id::cpu, .first_name = 1, .count = 1});
  told.names = {core::engine_hash{11}, core::engine_hash{13}};
  told.odd_names.push_back({core::engine_hash{21}, 0, 1});
  told.odd_names.push_back({core::engine_hash{500}, 1, 1});
  told.copies.push_back({.path = 0,
                         .offset = 0,
                         .base = 0,
                         .local = core::local_hash{1},
                         .block = core::seq_hash{1},
                         .home = 0,
                         .medium = core::medium_id::gpu,
                         .count = 2});
  told.copies.push_back({.block = core::seq_hash{500}, .home = 0, .medium = core::medium_id::disk, .count = 1});
  return told;
}

inline net::dump_owner sample_owner() {
  return {.worker = {.tenant = "default", .instance = "engine-1", .rank = core::dp_rank{2}},
          .backend_id = "",
          .copy_counting = true,
          .seqno = core::seqno{7}};
}

inline net::dump_home sample_home() {
  return {{.tenant = "default", .model = "m", .lora = "", .salt = "s", .block_size = 4}, 1337};
}

inline std::string sample_dump(const core::medium_table& media) {
  std::string bytes;
  net::dump_encoder encoder(media);
  net::dump_encoder::header(bytes);
  net::dump_encoder::owner(sample_owner(), bytes);
  net::dump_encoder::home(sample_home(), bytes);
  encoder.slice(sample_slice(), bytes);
  net::dump_encoder::end({core::seqno{7}, 5}, bytes);
  net::dump_encoder::end_of_dump(1, bytes);
  return bytes;
}

}  // namespace kvc::test

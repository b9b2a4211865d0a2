// The flags of kv-conductor-sim: names, ranges, defaults, and the help text that teaches them.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "net/event_encode.hpp"

namespace kvc::sim {

/// Who decides which engine a request goes to.
enum class routing_kind : std::uint8_t { random, round_robin, conductor };
/// How block hashes are written: the low 64 bits, or a 32-byte digest that ends in them.
enum class hash_form : std::uint8_t { integer, bytes };
/// How queries and answers are written.
enum class query_form : std::uint8_t { json, msgpack };

[[nodiscard]] std::string_view to_string(routing_kind kind) noexcept;

/// What a run does. The ranges are checked by `parse_options`.
struct options {
  std::uint64_t requests = 2'000;       ///< 0: the whole trace (the generator never ends)
  std::uint32_t engines = 8;            ///< instances, 1 .. 1024
  std::uint32_t ranks = 1;              ///< data-parallel ranks per instance, 1 .. 64
  std::uint32_t block_size = 64;        ///< tokens, 1 .. 65,536
  std::uint32_t cache_blocks = 16'384;  ///< capacity of one rank, 1 .. 16,777,216
  routing_kind routing = routing_kind::conductor;
  double load_weight = 1;  ///< tokens of prefill that one token of waiting work is worth, 0 .. 1000; 0: only ties look at load
  double speed = 0;        ///< the trace's clock runs this much faster; 0: as fast as possible
  std::uint64_t seed = 1;  ///< of generator, random routing and engine secrets
  std::string trace;       ///< file; empty: the generator
  bool strict = false;
  bool plain = false;  ///< lines instead of a picture
  bool keep = false;   ///< stay registered at the end
  bool serve = false;  ///< keep the publishers up after the run until told to stop
  std::string server_host = "127.0.0.1";
  std::uint16_t server_port = 13'333;
  std::string engine_host = "127.0.0.1";  ///< address the simulated engines bind, as the server reaches it
  query_form wire = query_form::json;
  net::event_form events = net::event_form::vllm_map;  ///< one that engines write, with tokens and names of their own
  hash_form hashes = hash_form::integer;
  std::uint32_t clients = 4;  ///< concurrent askers in a free-running run, or fleets in a chaos run, 1 .. 1024
  std::string tenant = "default";
  std::string model = "sim-model";
  std::string json_file;  ///< summary for programs; empty: none
  bool chaos = false;     ///< seeded fleets that go wrong instead of requests
  std::uint64_t chaos_seed = 1;
  std::uint32_t chaos_seeds = 1;      ///< how many, from `chaos_seed` on, 1 .. 1,000,000
  std::uint32_t minutes = 0;          ///< as many seeds as fit into these; 0: `chaos_seeds`
  std::uint32_t watched_process = 0;  ///< whose memory must stay flat; 0: nobody's
};

/// What the command line says.
struct parsed_options {
  options chosen;
  bool help = false;
  std::string error;  ///< empty: everything is fine
};

/// Reads `--name value` and `--name=value`. Never exits, never prints. Pure.
[[nodiscard]] parsed_options parse_options(const std::vector<std::string>& arguments);

/// What --help prints. Pure.
[[nodiscard]] std::string_view help_text() noexcept;

}  // namespace kvc::sim

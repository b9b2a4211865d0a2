#include "perf/http_questions.hpp"

#include <cstddef>
#include <cstdint>
#include <span>
#include <stdexcept>
#include <string_view>

#include "core/block_hasher.hpp"
#include "net/msgpack_tape.hpp"
#include "perf/bench_load.hpp"
#include "perf/ingest_frames.hpp"

namespace kvc::perf {
namespace {

using prompt = std::vector<std::uint32_t>;

constexpr std::string_view head = R"({"model":"bench","block_size":16,)";

template <class Numbers>
std::string listed(std::string_view member, const Numbers& numbers) {
  std::string body(head);
  body.append("\"").append(member).append("\":[");
  bool is_first = true;
  for (const auto& each : numbers) {
    if (!is_first) body += ',';
    is_first = false;
    if constexpr (requires { each.get(); }) {
      body += std::to_string(each.get());
    } else {
      body += std::to_string(each);
    }
  }
  return body + "]}";
}

std::string by_hash(const prompt& tokens) {
  std::vector<core::local_hash> locals;
  core::hash_blocks(tokens, ingest_block_tokens, core::default_hash_seed, locals);
  std::vector<core::seq_hash> hashes;
  core::roll_from_root(locals, core::default_hash_seed, hashes);
  return request_text("POST", "/query_by_hash", listed("seq_hashes", hashes));
}

std::string by_msgpack(const prompt& tokens) {
  std::string bytes;
  for (const std::uint32_t token : tokens) {
    for (unsigned shift = 0; shift < 32; shift += 8) bytes.push_back(static_cast<char>(token >> shift & 0xFFU));
  }
  std::string body;
  net::msgpack_writer to(body);
  to.map(3);
  to.string("model");
  to.string("bench");
  to.string("block_size");
  to.unsigned_integer(ingest_block_tokens);
  to.string("token_ids");
  to.binary(std::as_bytes(std::span(bytes)));
  return "POST /query HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Type: application/msgpack\r\nContent-Length: " + std::to_string(body.size()) +
         "\r\n\r\n" + body;
}

/// Prompts of requests, one behind the other, cut into pieces of the length that is wanted.
std::vector<prompt> prompts_of(const http_load_plan& plan, const http_workload_name& workload) {
  const ingest_plan traffic{.trace = plan.trace};
  constexpr std::size_t shortest = 4'096;
  std::vector<prompt> made;
  if (workload.tokens <= shortest) {
    made = prompts_to_ask(traffic, workload.distinct, workload.tokens);
  } else {
    const std::size_t pieces = workload.tokens / shortest;
    const auto parts = prompts_to_ask(traffic, pieces * workload.distinct, shortest);
    for (std::size_t i = 0; !parts.empty() && i < workload.distinct; ++i) {
      prompt& whole = made.emplace_back();
      for (std::size_t part = 0; part < pieces; ++part) {
        const prompt& next = parts[(i * pieces + part) % parts.size()];
        whole.insert(whole.end(), next.begin(), next.end());
      }
    }
  }
  if (made.empty()) throw std::runtime_error("no prompt of the trace is long enough");
  return made;
}

}  // namespace

std::vector<std::string> http_questions(const http_load_plan& plan, const http_workload_name& workload) {
  if (workload.workload == http_workload::healthz) return {request_text("GET", "/healthz")};
  std::vector<std::string> made;
  for (const prompt& each : prompts_of(plan, workload)) {
    switch (workload.workload) {
      case http_workload::by_hash: made.push_back(by_hash(each)); break;
      case http_workload::msgpack: made.push_back(by_msgpack(each)); break;
      default: made.push_back(request_text("POST", "/query", listed("token_ids", each)));
    }
  }
  return made;
}

}  // namespace kvc::perf

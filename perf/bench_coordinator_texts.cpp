#include "perf/bench_coordinator_texts.hpp"

#include <random>
#include <string_view>

#include "perf/bench_load.hpp"

namespace kvc::perf {
namespace {

constexpr std::string_view model = "meta-llama/Llama-3.1-70B-Instruct";
constexpr std::uint32_t vocabulary = 128'256;

std::string hex_text(std::mt19937_64& random, std::size_t digits) {
  std::string text;
  for (std::size_t i = 0; i < digits; ++i) text.push_back("0123456789abcdef"[random() % 16]);
  return text;
}

std::string base64_text(std::string_view bytes) {
  constexpr std::string_view digits = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
  std::string text;
  for (std::size_t at = 0; at < bytes.size(); at += 3) {
    std::uint32_t three = 0;
    for (std::size_t i = 0; i < 3; ++i) three = three << 8 | (at + i < bytes.size() ? static_cast<unsigned char>(bytes[at + i]) : 0U);
    for (std::size_t i = 0; i < 4; ++i) text.push_back(at + i > bytes.size() ? '=' : digits[three >> (18 - 6 * i) & 63U]);
  }
  return text;
}

}  // namespace

event_texts::event_texts(std::size_t keys, std::size_t salts) {
  std::mt19937_64 random(21);
  events_.reserve(keys);
  for (std::size_t i = 0; i < keys; ++i) {
    const std::uint64_t rank = i % 8;
    std::string text = R"({"type":"store","key":{"chunk_hash_hex":")" + hex_text(random, 64) + R"(","model_name":")";
    text.append(model).append(R"(","kv_rank":)").append(std::to_string(std::uint64_t{8} << 24 | rank << 16 | std::uint64_t{8} << 8 | rank));
    text.append(R"(,"object_group_id":0,"cache_salt":"tenant-)").append(std::to_string(i / 8 % salts));
    text.append(R"("},"bytes":2097152})");
    events_.push_back(std::move(text));
  }
}

std::string event_texts::batch(std::uint64_t number, std::span<const std::uint32_t> keys) const {
  std::string body = R"({"instance_id":"mp-0","seq":)" + std::to_string(number) + R"(,"events":[)";
  for (std::size_t i = 0; i < keys.size(); ++i) {
    if (i > 0) body += ',';
    body += events_[keys[i]];
  }
  body += R"(],"tier":"l2"})";
  return request_text("POST", "/quota/events", body);
}

blend_texts::blend_texts() {
  for (std::uint32_t i = 0; i < vocabulary; ++i) words_.push_back(std::to_string(i));
}

std::vector<std::uint32_t> blend_texts::tokens(std::size_t number, std::size_t count) {
  std::mt19937_64 random(number + 1'000);
  std::vector<std::uint32_t> made(count);
  for (auto& each : made) each = static_cast<std::uint32_t>(random() % vocabulary);
  return made;
}

std::string blend_texts::publication(std::size_t number) const {
  std::string body = R"({"ranges":[{"model_scope":")";
  body.append(model).append(R"(","tokens":[)");
  const auto made = tokens(number, chunk_tokens * chunks_per_request);
  for (std::size_t i = 0; i < made.size(); ++i) {
    if (i > 0) body += ',';
    body += words_[made[i]];
  }
  body += R"(],"object_keys":[)";
  std::mt19937_64 random(number);
  for (std::size_t i = 0; i < chunks_per_request; ++i) {
    if (i > 0) body += ',';
    body.append("\"").append(hex_text(random, 64)).append("\"");
  }
  body += R"(],"old_st_base":0}]})";
  return request_text("POST", "/blend/fingerprints", body);
}

std::string blend_texts::match(std::size_t count, bool is_known) const {
  constexpr std::size_t stretch = chunk_tokens * chunks_per_request;
  std::string bytes;
  for (std::size_t at = 0; at < count; at += stretch) {
    // Publications have small numbers, what nobody published large ones.
    const std::size_t number = is_known && at / stretch % 2 == 0 ? at / stretch : 1'000'000'000 + at;
    for (const std::uint32_t token : tokens(number, stretch)) {
      for (unsigned shift = 0; shift < 32; shift += 8) bytes.push_back(static_cast<char>(token >> shift & 0xFFU));
    }
  }
  std::string body = R"({"model_scope":")";
  body.append(model).append(R"(","tokens_b64":")").append(base64_text(bytes)).append(R"("})");
  return request_text("POST", "/blend/match", body);
}

}  // namespace kvc::perf

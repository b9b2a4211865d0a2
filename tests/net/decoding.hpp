// An event decoder at work in a test: payload in, checked events out.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include <boost/test/unit_test.hpp>

#include "net/event_codec.hpp"
#include "tests/net/event_samples.hpp"

namespace kvc::net::test {

/// A decoder with what it needs, and the batch it filled last.
struct decoding {
  core::medium_table media;
  event_decoder decoder;
  core::event_batch batch;

  explicit decoding(core::publisher_type type = core::publisher_type::vllm, bool has_adapter = false)
      : decoder(type, media, "tenant-salt", nullptr, has_adapter) {}

  error_code decode(const std::string& payload) { return decoder.decode(samples::as_payload(payload), batch); }

  /// Decodes and expects exactly one event of this kind.
  template <class Event>
  const Event& only(const std::string& payload) {
    const error_code failed = decode(payload);
    BOOST_TEST_REQUIRE(!failed, failed.message());
    BOOST_TEST_REQUIRE(batch.rejected_events == 0U);
    BOOST_TEST_REQUIRE(batch.events.size() == 1U);
    BOOST_TEST_REQUIRE(std::holds_alternative<Event>(batch.events[0]));
    return std::get<Event>(batch.events[0]);
  }

  template <class Event>
  const Event& sample(std::string_view hex) {
    return only<Event>(samples::from_hex(hex));
  }

  [[nodiscard]] std::uint64_t rejected(reject_reason why) const { return decoder.counts().rejected[static_cast<std::size_t>(why)]; }
};

/// A batch around events that `write` puts down.
inline std::string batch_of(std::uint32_t events, const std::function<void(msgpack_writer&)>& write) {
  std::string out;
  msgpack_writer writer(out);
  writer.array(3);
  writer.real(1763700000.5);
  writer.array(events);
  write(writer);
  writer.unsigned_integer(1);
  return out;
}

inline std::vector<std::uint64_t> bare(const std::vector<core::engine_hash>& hashes) {
  std::vector<std::uint64_t> values;
  for (const core::engine_hash hash : hashes) values.push_back(hash.get());
  return values;
}

}  // namespace kvc::net::test

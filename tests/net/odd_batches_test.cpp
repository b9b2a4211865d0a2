// The short way for plain batches against the general one, over bytes that no encoder of ours writes: members in any order, twice, nil or
// of another type, numbers, texts and lists in any width, and streams whose events look alike.
#include <algorithm>
#include <cstdint>
#include <cstring>
#include <functional>
#include <iterator>
#include <random>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

#include <boost/test/unit_test.hpp>

#include "core/block_hasher.hpp"
#include "net/event_codec.hpp"
#include "tests/net/event_samples.hpp"
#include "tests/net/plain_batches.hpp"
#include "tests/support/same_batch.hpp"
#include "tests/support/setting.hpp"

BOOST_AUTO_TEST_SUITE(odd_batches)

namespace {

using namespace kvc;
using namespace kvc::net;
using namespace kvc::net::test;

/// MessagePack in every form that the format allows, mostly the shortest.
class odd_writer {
 public:
  explicit odd_writer(std::mt19937_64& random) : random_(&random) {}

  std::uint64_t below(std::uint64_t bound) { return (*random_)() % bound; }
  bool once_in(std::uint64_t so_many) { return below(so_many) == 0; }

  void integer(std::uint64_t bits, bool is_signed = false) {
    const bool is_negative = is_signed && static_cast<std::int64_t>(bits) < 0;
    if (!is_negative && bits < 0x80 && !once_in(8)) return byte(static_cast<unsigned>(bits));
    if (is_negative && static_cast<std::int64_t>(bits) >= -32 && !once_in(8)) return byte(static_cast<unsigned>(bits & 0xff));
    const bool as_signed = is_negative || (static_cast<std::int64_t>(bits) >= 0 && once_in(8));
    unsigned width = 0;
    while (width < 3 && !fits(bits, width, as_signed)) ++width;
    while (width < 3 && once_in(8)) ++width;
    number((as_signed ? 0xd0U : 0xccU) + width, bits, 1U << width);
  }
  void text(std::string_view what) {
    if (what.size() < 32 && !once_in(30)) {
      byte(0xa0U + static_cast<unsigned>(what.size()));
    } else {
      const std::uint64_t width = what.size() > 255 ? 1 + below(2) : once_in(3) ? below(3) : 0;
      number(0xd9U + static_cast<unsigned>(width), what.size(), 1U << width);
    }
    to.append(what);
  }
  void binary(std::string_view what) {
    number(0xc4, what.size(), 1);
    to.append(what);
  }
  void array(std::size_t length) { head(0x90, 0xdc, length); }
  void map(std::size_t length) { head(0x80, 0xde, length); }
  void nil() { byte(0xc0); }
  void real(double value) {
    std::uint64_t bits = 0;
    std::memcpy(&bits, &value, sizeof bits);
    number(0xcb, bits, 8);
  }
  void any() {
    switch (below(14)) {
      case 0: return nil();
      case 1: return byte(0xc2 + static_cast<unsigned>(below(2)));
      case 2: return integer((*random_)() >> below(64));
      case 3: return integer(~((*random_)() >> below(64)), true);
      case 4: return text(std::vector<std::string_view>{"", "GPU", "x", "LOCAL", "7"}[below(5)]);
      case 5: return real(0.5);
      case 6: return number(0xca, 0x3f000000, 4);
      case 7: return binary(std::string(below(3) * 16, 'b'));
      case 8: return number(0xd4, 0x0100, 2);  // an extension of one byte
      case 9: return array(0);
      case 10: return map(0);
      case 11:
        array(2);
        any();
        return any();
      case 12:
        map(1);
        any();
        return any();
      default: return integer(below(3));
    }
  }

  std::string to;

 private:
  static bool fits(std::uint64_t bits, unsigned width, bool as_signed) {
    const unsigned used = 8U << width;
    if (used == 64) return true;
    if (!as_signed) return bits >> used == 0;
    const auto value = static_cast<std::int64_t>(bits);
    return value >= -(std::int64_t{1} << (used - 1)) && value < std::int64_t{1} << (used - 1);
  }
  void byte(unsigned value) { to.push_back(static_cast<char>(value)); }
  void number(unsigned format, std::uint64_t bits, unsigned bytes) {
    byte(format);
    for (unsigned i = bytes; i > 0; --i) byte(static_cast<unsigned>(bits >> (8 * (i - 1)) & 0xff));
  }
  void head(unsigned few, unsigned many, std::size_t length) {
    if (length < 16 && !once_in(8)) return byte(few + static_cast<unsigned>(length));
    const bool is_wide = once_in(4);
    number(many + (is_wide ? 1U : 0U), length, is_wide ? 4 : 2);
  }

  std::mt19937_64* random_;
};

/// One publisher, which writes a few sorts of events again and again, and now and then something else.
class odd_publisher {
 public:
  explicit odd_publisher(std::uint64_t seed) : random_(seed), odd_(random_() % 3 == 0 ? 12 : 4'000) {}

  std::uint64_t below(std::uint64_t bound) { return random_() % bound; }

  std::string batch() {
    odd_writer out(random_);
    const bool is_map = below(4) == 0;
    const bool has_rank = below(3) != 0;
    is_map ? out.map(has_rank ? 3 : 2) : out.array(has_rank ? 3 : 2);
    if (is_map) out.text("ts");
    is_odd() ? out.any() : out.real(is_odd() ? -1.0 : 1763700000.5);
    if (is_map) out.text("events");
    std::vector<std::string> events;
    for (std::uint64_t left = below(10); left > 0; --left) {
      const sort& which = usual();
      const std::uint64_t row = below(3) == 0 ? (below(12) == 0 ? 300 : below(12)) : 1;
      for (std::uint64_t i = 0; i < row; ++i) events.push_back(event(which));
    }
    out.array(events.size());
    for (const std::string& each : events) out.to += each;
    if (is_map && has_rank) out.text(is_odd() ? "dp_rank" : "data_parallel_rank");
    if (has_rank) is_odd() ? out.any() : out.integer(below(3));
    if (is_odd()) out.to.resize(below(out.to.size() + 1));
    if (is_odd() && !out.to.empty()) out.to[below(out.to.size())] = static_cast<char>(random_());
    return out.to;
  }

 private:
  enum class part : std::uint8_t { names, parent, tokens, fixed };
  struct member {
    std::string name;  ///< with its format
    part what = part::fixed;
    std::string value;  ///< if it is fixed
  };
  struct sort {
    bool is_map = false;
    std::string tag;
    std::uint32_t tokens_per_block = 4;
    std::vector<member> members;
  };

  bool is_odd() { return below(odd_) == 0; }

  const sort& usual() {
    constexpr std::size_t most = 6;  // more than a decoder remembers
    if (sorts_.size() < most) {
      sorts_.push_back(new_sort());
    } else if (below(20) == 0) {
      sorts_[below(most)] = new_sort();
    }
    return sorts_[below(sorts_.size())];
  }

  std::string written(const std::function<void(odd_writer&)>& write) {
    odd_writer out(random_);
    is_odd() ? out.any() : write(out);
    return out.to;
  }

  sort new_sort() {
    sort made;
    made.is_map = below(3) != 0;
    const bool is_stored = below(2) == 0;
    constexpr std::string_view others[] = {"AllBlocksCleared", "BlockStoreEvent", "BlockUpdateEvent", "RemoveAllEvent",
                                           "stored",           "removed",         "Ignored",          ""};
    const std::string_view tag = is_odd() ? others[below(std::size(others))] : is_stored ? "BlockStored" : "BlockRemoved";
    made.tag = written([tag](odd_writer& out) { out.text(tag); });
    made.tokens_per_block = is_odd() ? 1 + static_cast<std::uint32_t>(below(5)) : 4;
    const auto add = [&](std::string_view name, part what, std::string value = {}) {
      odd_writer out(random_);
      out.text(is_odd() ? std::string_view("nobody_knows") : name);
      made.members.push_back({out.to, what, std::move(value)});
    };
    const auto nil_or = [&](const std::function<void(odd_writer&)>& write) {
      return written([&](odd_writer& out) { below(3) == 0 ? out.nil() : write(out); });
    };
    const auto word = [](std::string_view what) { return [what](odd_writer& out) { out.text(what); }; };
    const auto small = [this](std::uint64_t bound) { return [this, bound](odd_writer& out) { out.integer(below(bound)); }; };
    constexpr std::string_view media[] = {"GPU", "gpu", "CPU", "CPU_PINNED", "DISK", "STORAGE", "EXTERNAL", "FS", "OBJ"};
    constexpr std::string_view kinds[] = {"full_attention", "mla_attention", "sliding_window", "mamba", "unknown", "sink_full_attention"};
    const std::string medium = nil_or([&](odd_writer& out) { out.text(is_odd() ? "cuda:0" : media[below(std::size(media))]); });
    const std::string kind = nil_or(word(kinds[below(std::size(kinds))]));
    const std::string lora = written([&](odd_writer& out) { is_rare() ? out.text(below(4) == 0 ? "" : "sql") : out.nil(); });
    const std::string lora_id = written([&](odd_writer& out) { is_rare() ? out.integer(below(3)) : out.nil(); });
    const std::string size = written([&](odd_writer& out) { out.integer(made.tokens_per_block); });
    const std::string keys = nil_or([&](odd_writer& out) {
      const std::size_t length = below(4);
      out.array(length);
      for (std::size_t i = 0; i < length; ++i) is_odd() ? out.any() : out.nil();
    });
    add("block_hashes", part::names);
    if (is_stored) {
      add("parent_block_hash", part::parent);
      add("token_ids", part::tokens);
      add("block_size", part::fixed, size);
      add("lora_id", part::fixed, lora_id);
      add("medium", part::fixed, medium);
      add("lora_name", part::fixed, lora);
      add("extra_keys", part::fixed, keys);
    } else {
      add("medium", part::fixed, medium);
    }
    add("group_idx", part::fixed, nil_or(small(3)));
    if (is_stored || made.is_map) add("kv_cache_spec_kind", part::fixed, kind);
    if (!made.is_map) {
      if (is_stored) add("kv_cache_spec_sliding_window", part::fixed, nil_or(small(5'000)));
      if (is_odd()) add("more", part::fixed, written([](odd_writer& out) { out.any(); }));
      if (below(2) == 0) made.members.resize(1 + below(made.members.size()));
      return made;
    }
    constexpr std::string_view more[] = {"session_id",
                                         "locality",
                                         "ownership",
                                         "cache_salt",
                                         "event_id",
                                         "timestamp",
                                         "dp_rank",
                                         "event_version",
                                         "remaining_copy_counts",
                                         "block_mm_infos",
                                         "token_offset",
                                         "group_id",
                                         "worker_id",
                                         "object_key",
                                         "event_type",
                                         "kv_cache_spec_kind",
                                         "lora_id",
                                         "medium",
                                         "block_size",
                                         "block_hashes"};
    const bool is_unusual = is_rare();
    for (std::uint64_t left = below(4); left > 0; --left) {
      const std::string_view name = more[below(is_unusual ? std::size(more) : 11)];
      const bool is_nil = !is_unusual && (name == "ownership" || name == "cache_salt" || name == "block_mm_infos");
      const bool is_locality = name == "locality";
      add(name, part::fixed, nil_or([&](odd_writer& out) {
            is_nil ? out.nil() : is_locality ? out.text("LOCAL") : out.integer(below(4));
          }));
    }
    while (is_unusual && below(3) == 0) made.members.push_back(made.members[below(made.members.size())]);
    while (is_unusual && made.members.size() > 1 && below(3) == 0) {
      made.members.erase(made.members.begin() + static_cast<std::ptrdiff_t>(below(made.members.size())));
    }
    if (below(3) == 0) std::ranges::shuffle(made.members, random_);
    return made;
  }

  bool is_rare() { return below(6) == 0; }

  std::string event(const sort& which) {
    odd_writer out(random_);
    which.is_map ? out.map(which.members.size() + 1) : out.array(which.members.size() + 1);
    if (which.is_map) out.text(is_odd() ? "event_type" : "type");
    out.to += which.tag;
    const std::size_t blocks = is_rare() ? below(6) : 1;
    for (const member& each : which.members) {
      if (which.is_map) out.to += each.name;
      if (is_odd()) {
        out.any();
      } else if (each.what == part::names) {
        out.array(blocks);
        for (std::size_t i = 0; i < blocks; ++i) name(out);
      } else if (each.what == part::parent) {
        below(3) == 0 ? out.nil() : name(out);
      } else if (each.what == part::tokens) {
        const std::size_t tokens = is_rare() && is_rare() ? below(20) : blocks * which.tokens_per_block;
        if (is_rare() && is_rare()) {
          out.nil();
          continue;
        }
        out.array(tokens);
        for (std::size_t i = 0; i < tokens; ++i) is_odd() ? out.any() : shortest(out, below(128'000) >> below(17));
      } else {
        out.to += each.value;
      }
    }
    return out.to;
  }

  void name(odd_writer& out) {
    if (is_odd()) return out.any();
    const bool is_wide = below(12) != 0;
    const std::uint64_t bits = random_() >> (is_wide ? 0 : below(64));
    if (is_odd()) return out.binary(std::string(16, static_cast<char>(bits)));
    is_wide ? out.integer(bits | 1ULL << 63) : out.integer(bits, below(2) == 0);
  }

  /// As all engines write tokens.
  static void shortest(odd_writer& out, std::uint64_t token) {
    if (token < 0x80) {
      out.to.push_back(static_cast<char>(token));
      return;
    }
    const unsigned width = token < 0x100 ? 0 : token < 0x10000 ? 1 : 2;
    out.to.push_back(static_cast<char>(0xcc + width));
    for (unsigned i = 1U << width; i > 0; --i) out.to.push_back(static_cast<char>(token >> (8 * (i - 1))));
  }

  std::mt19937_64 random_;
  std::uint64_t odd_;  ///< once in so many times something is not as usual
  std::vector<sort> sorts_;
};

/// What of it stands for the tokens that `other` has kept, where there are hashes.
bool is_same_but_for_hashes(core::event_batch hashed, const core::event_batch& other, const core::hash_recipe& recipe) {
  for (std::size_t i = 0; i < hashed.events.size() && i < other.events.size(); ++i) {
    auto* const stored = std::get_if<core::stored_event>(&hashed.events[i]);
    const auto* const kept = std::get_if<core::stored_event>(&other.events[i]);
    if (stored == nullptr || kept == nullptr || stored->locals.empty()) continue;
    std::vector<core::local_hash> wanted;
    core::hash_blocks(kept->tokens, recipe.block_size, recipe.seed, wanted);
    const bool is_covered = kept->extra_keys.empty() && !kept->scope.lora && wanted.size() == kept->hashes.size() &&
                            (kept->scope.block_size == 0 || kept->scope.block_size == recipe.block_size);
    if (!is_covered || stored->locals != wanted || !stored->tokens.empty()) return false;
    stored->tokens = kept->tokens;
    stored->locals.clear();
  }
  return kvc::test::is_same(hashed, other);
}

}  // namespace

BOOST_AUTO_TEST_CASE(streams_of_odd_batches_are_read_the_same_both_ways) {
  const std::uint64_t first_seed = kvc::test::setting("KVC_PROPERTY_SEED", std::random_device()());
  const std::uint64_t streams = kvc::test::setting("KVC_PROPERTY_STREAMS", 300);
  BOOST_TEST_MESSAGE("first seed " << first_seed);
  std::uint64_t plain = 0;
  std::uint64_t joined = 0;
  std::uint64_t hashes = 0;
  std::uint64_t rejected = 0;
  for (std::uint64_t seed = first_seed; seed < first_seed + streams; ++seed) {
    BOOST_TEST_CONTEXT("seed " << seed) {
      odd_publisher publisher(seed);
      const core::publisher_type type = types[publisher.below(std::size(types))];
      const bool has_adapter = publisher.below(4) == 0;
      const core::hash_recipe recipe{4, seed};
      spare_lists used;
      core::medium_table media[3];
      event_decoder quick(type, media[0], "tenant-salt", &used, has_adapter);
      event_decoder slow(type, media[1], "tenant-salt", nullptr, has_adapter);
      event_decoder hashing(type, media[2], "tenant-salt", &used, has_adapter);
      core::event_batch batch;
      core::event_batch other;
      core::event_batch hashed;
      for (int number = 0; number < 40; ++number) {
        const std::string payload = publisher.batch();
        const error_code failed = slow.decode_by_tape(samples::as_payload(payload), other);
        BOOST_TEST_REQUIRE((quick.decode(samples::as_payload(payload), batch) == failed), "batch " << number);
        BOOST_TEST_REQUIRE(kvc::test::is_same(batch, other), "batch " << number);
        BOOST_TEST_REQUIRE((quick.counts().rejected == slow.counts().rejected && media[0].size() == media[1].size()));
        hashing.hash_by(recipe);
        BOOST_TEST_REQUIRE((hashing.decode(samples::as_payload(payload), hashed) == failed), "batch " << number);
        BOOST_TEST_REQUIRE(is_same_but_for_hashes(hashed, other, recipe), "batch " << number << ", hashed");
        for (const core::event& each : hashed.events) {
          const auto* const stored = std::get_if<core::stored_event>(&each);
          hashes += stored != nullptr ? stored->locals.size() : 0;
        }
        plain += is_plain(payload, type) ? 1 : 0;
        joined += batch.joined_events;
        rejected += batch.rejected_events;
        used.take_back(batch.events);
        used.take_back(hashed.events);
      }
    }
  }
  // Else this has compared nothing.
  BOOST_TEST(plain > streams);
  BOOST_TEST(hashes > streams);
  BOOST_TEST(joined > streams);
  BOOST_TEST(rejected > streams);
  BOOST_TEST_MESSAGE(plain << " plain batches, " << hashes << " hashes, " << joined << " joined, " << rejected << " rejected");
}

BOOST_AUTO_TEST_SUITE_END()

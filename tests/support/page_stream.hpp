// A stream of pages under blocks of four tokens, for the tests of blocks of another size than registered.
#pragma once

#include <cstdint>
#include <optional>
#include <utility>

#include "tests/support/applier_stream.hpp"

namespace kvc::test::applier {

inline constexpr std::uint32_t large = 4;

inline partition_key large_key() {
  partition_key key = registered(publisher_type::sglang).partition;
  key.block_size = large;
  return key;
}

inline registration in_large_blocks(bool copy_counting = false) {
  registration made = registered(publisher_type::sglang);
  made.partition = large_key();
  made.copy_counting = copy_counting;
  return made;
}

/// A stream of small pages under large blocks.
struct page_stream : stream {
  explicit page_stream(bool copy_counting = false) : stream(in_large_blocks(copy_counting)) {}

  static stored_event page_event(std::uint64_t name, std::optional<std::uint64_t> parent, const words& tokens) {
    stored_event made;
    made.scope = of_size(static_cast<std::uint32_t>(tokens.size()));
    made.hashes = names({name});
    if (parent) made.parent = engine_hash{*parent};
    made.tokens = tokens;
    made.has_tokens = true;
    return made;
  }
  void page(std::uint64_t name, std::optional<std::uint64_t> parent, const words& tokens, medium_id medium = medium_id::gpu) {
    stored_event made = page_event(name, parent, tokens);
    made.scope.medium = medium;
    apply(std::move(made));
  }
  [[nodiscard]] std::uint32_t reach(const words& tokens, media_mask media = all_media) const { return depth(tokens, media, large_key()); }
};

}  // namespace kvc::test::applier

// One prompt held against the blend table: every offset, one pass, in slices.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include <boost/unordered/unordered_flat_set.hpp>

#include "core/blend_table.hpp"
#include "core/polynomial_hash.hpp"

namespace kvc::core {

/// A chunk of the prompt that is cached: what begins at `cur_st` here was published from `old_st` there. In tokens.
struct blend_match {
  std::string object_key;
  std::uint64_t old_st = 0;
  std::uint64_t cur_st = 0;

  friend bool operator==(const blend_match&, const blend_match&) = default;
};

/// The matches of one prompt, by rising position; each object key once, where it is met first. Overlapping ones are all told: the client
/// chooses. (Spec coordinator-api, "CacheBlend directory".) Several queries may be under way at once, and the table may change between two
/// slices. Pure; one lane, the table's.
class blend_query {
 public:
  /// `scope`: a model, whose name outlives this and may be as long as a client likes. `stride`: tokens from one looked-at offset to the
  /// next, at least 1.
  blend_query(const blend_table& table, std::string_view scope, std::size_t stride = 1)
      : scope_(scope), stride_(stride), hashes_(table.chunk_tokens()) {}

  /// Looks at about `budget` more offsets, some 10 ns each. `tokens`: the same whole prompt in every call. True when the prompt is done.
  template <token_value Token>
  [[nodiscard]] bool advance(blend_table& table, std::span<const Token> tokens, std::size_t budget);

  /// What was found so far.
  [[nodiscard]] const std::vector<blend_match>& matches() const noexcept { return matches_; }
  [[nodiscard]] std::vector<blend_match>& matches() noexcept { return matches_; }

 private:
  std::string_view scope_;
  std::size_t stride_;
  rolling_hash hashes_;
  std::size_t at_ = 0;                             ///< the next window to hash
  std::size_t probe_ = 0;                          ///< the next one to look at: a multiple of the stride
  boost::unordered_flat_set<std::uint64_t> told_;  ///< digests of the object keys that were found: a key may go and come again meanwhile
  std::vector<blend_match> matches_;
};

}  // namespace kvc::core

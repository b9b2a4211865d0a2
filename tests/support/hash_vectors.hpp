// Published vectors of the block hash standard: tokens, block size and seed to local and sequence hashes. (Source: spec indexer-api,
// "Hashing".)
#pragma once

#include <cstddef>
#include <cstdint>
#include <numeric>
#include <vector>

namespace kvc::test {

struct hash_vector {
  const char* why;
  std::vector<std::uint32_t> tokens;
  std::uint32_t block_size;
  std::uint64_t seed;
  std::vector<std::uint64_t> locals;
  std::vector<std::uint64_t> sequence;
};

/// `count` tokens from `from` on; wraps after the largest u32.
inline std::vector<std::uint32_t> counting(std::uint32_t from, std::size_t count) {
  std::vector<std::uint32_t> tokens(count);
  std::iota(tokens.begin(), tokens.end(), from);
  return tokens;
}

inline const std::vector<hash_vector>& hash_vectors() {
  static const std::vector<hash_vector> all{
      {"one block, seed 0", counting(0, 16), 16, 0U, {8773583392624668237U}, {8773583392624668237U}},
      {"one block, the default seed", counting(0, 16), 16, 1337U, {15310707395893867146U}, {15310707395893867146U}},
      {"three blocks",
       counting(0, 48),
       16,
       1337U,
       {15310707395893867146U, 15292316782987903195U, 5532946206955930018U},
       {15310707395893867146U, 13769157705258532664U, 11879827756109914528U}},
      {"three blocks, seed 0",
       counting(0, 48),
       16,
       0U,
       {8773583392624668237U, 1001869557805846782U, 2958191142325480937U},
       {8773583392624668237U, 14571380008329203442U, 11945112457626780899U}},
      {"a tail of 9 tokens is left out",
       counting(0, 41),
       16,
       1337U,
       {15310707395893867146U, 15292316782987903195U},
       {15310707395893867146U, 13769157705258532664U}},
      {"no complete block", counting(0, 15), 16, 1337U, {}, {}},
      {"blocks of 64",
       counting(1000, 192),
       64,
       1337U,
       {7337154364384838499U, 8394412188204864904U, 10159065599664913187U},
       {7337154364384838499U, 11788397496893737194U, 1978969906735676774U}},
      {"blocks of 64, a tail of 8, seed 0",
       counting(1000, 200),
       64,
       0U,
       {10178551723721333509U, 2415816562719047692U, 8162487565483173901U},
       {10178551723721333509U, 850264576074113275U, 12523578536108595844U}},
      {"tokens up to the largest, then from 0 again",
       counting(4294967280U, 32),
       16,
       1337U,
       {3786716618172165354U, 15310707395893867146U},
       {3786716618172165354U, 10353722512617589578U}},
      {"two equal blocks",
       std::vector<std::uint32_t>(32, 7),
       16,
       1337U,
       {8771127959296939342U, 8771127959296939342U},
       {8771127959296939342U, 11551211962395075892U}},
      {"the largest seed",
       counting(0, 32),
       16,
       18446744073709551615U,
       {7942969074206709779U, 7054599008907608790U},
       {7942969074206709779U, 2800481614477361040U}},
      {"blocks of one token",
       {5, 5, 6},
       1,
       1337U,
       {17311669453583354541U, 17311669453583354541U, 11958596045112940425U},
       {17311669453583354541U, 6689547720507111094U, 11608024443036021357U}},
      {"blocks of four, seed 1",
       counting(1, 8),
       4,
       1U,
       {13285683668287661135U, 15839299691592801146U},
       {13285683668287661135U, 8044539932172448781U}},
      {"the seed an adapter gets elsewhere",
       counting(0, 32),
       16,
       9867606577583457700U,
       {14536852851305923245U, 7140174819136409355U},
       {14536852851305923245U, 10998628525674901374U}},
  };
  return all;
}

}  // namespace kvc::test

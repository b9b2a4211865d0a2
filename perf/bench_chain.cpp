#include "perf/bench_chain.hpp"

#include <random>

namespace kvc::perf {

bench_chain make_chain(std::size_t length, std::uint64_t seed) {
  std::mt19937_64 random(seed);
  bench_chain made;
  for (std::size_t i = 0; i < length; ++i) {
    made.names.emplace_back(random());
    made.locals.emplace_back(random());
  }
  return made;
}

}  // namespace kvc::perf

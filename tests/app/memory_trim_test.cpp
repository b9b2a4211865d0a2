#include "app/memory_trim.hpp"

#include <atomic>
#include <chrono>
#include <functional>
#include <future>
#include <memory>

#include <boost/test/unit_test.hpp>

BOOST_AUTO_TEST_SUITE(memory_trim)

using namespace kvc;

namespace {

constexpr std::size_t mapped = std::size_t{1} << 30;

/// An arena of 1 GiB of which a part is in use; counts looks and trims and tells when one of them has happened often enough.
struct made_up_arena {
  explicit made_up_arena(double used_share) { now.used[0] = static_cast<std::size_t>(used_share * static_cast<double>(mapped)); }

  core::arena_usage now{.used = {}, .mapped = mapped, .reclaimed = 0};
  std::size_t gives_back = mapped / 4;
  std::atomic<int> looks{0};
  std::atomic<int> trims{0};
  std::atomic<int> awaited_looks{-1};
  std::promise<void> looked;
  std::promise<void> trimmed;

  app::memory_trim::access access() {
    return {.look =
                [this] {
                  if (++looks == awaited_looks) looked.set_value();
                  return now;
                },
            .trim =
                [this] {
                  if (++trims == 1) trimmed.set_value();
                  return gives_back;
                }};
  }
};

bool comes(std::promise<void>& what) {
  return what.get_future().wait_for(std::chrono::seconds(20)) == std::future_status::ready;
}

app::memory_trim::rules quick() {
  app::memory_trim::rules rules;
  rules.period = std::chrono::milliseconds(1);
  return rules;
}

}  // namespace

BOOST_AUTO_TEST_CASE(much_unused_memory_is_given_back) {
  // After the fleet has shrunk, its memory is of more use to others.
  made_up_arena arena(0.5);
  const app::memory_trim trim(quick(), arena.access());

  BOOST_TEST(comes(arena.trimmed));
}

BOOST_AUTO_TEST_CASE(a_little_is_kept) {
  // Lanes will need it again soon, and so does an index that is small altogether.
  made_up_arena full(0.8);
  made_up_arena small(0.1);
  small.now.mapped = std::size_t{64} << 20;
  small.now.used[0] = 1;
  full.awaited_looks = 5;
  small.awaited_looks = 5;
  {
    const app::memory_trim trim(quick(), full.access());
    const app::memory_trim trim_small(quick(), small.access());
    BOOST_TEST(comes(full.looked));
    BOOST_TEST(comes(small.looked));
  }

  BOOST_TEST(full.trims == 0);
  BOOST_TEST(small.trims == 0);
}

BOOST_AUTO_TEST_CASE(stopping_does_not_wait_for_the_next_look) {
  // The process must be able to leave at any time.
  made_up_arena arena(0.5);
  const auto begun = std::chrono::steady_clock::now();
  auto trim = std::make_unique<app::memory_trim>(app::memory_trim::rules{.period = std::chrono::hours(1)}, arena.access());
  trim.reset();

  BOOST_TEST((std::chrono::steady_clock::now() - begun < std::chrono::minutes(30)));
  BOOST_TEST(arena.looks == 0);
}

BOOST_AUTO_TEST_CASE(out_of_memory_is_survived) {
  // Whatever goes wrong while trimming, the service goes on, and so does the next look.
  made_up_arena arena(0.5);
  app::memory_trim::access access = arena.access();
  access.trim = [&arena]() -> std::size_t {
    if (++arena.trims == 3) arena.trimmed.set_value();
    throw std::bad_alloc();
  };
  const app::memory_trim trim(quick(), access);

  BOOST_TEST(comes(arena.trimmed));
}

BOOST_AUTO_TEST_SUITE_END()

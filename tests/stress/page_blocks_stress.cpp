// Blocks of large pages, taken and given back by four threads at once while a fifth gives whole pages back to the system.
#include <algorithm>
#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <random>
#include <thread>
#include <utility>
#include <vector>

#include <boost/test/unit_test.hpp>

#include "core/large_page.hpp"
#include "core/page_blocks.hpp"

namespace kvc::test {
BOOST_AUTO_TEST_SUITE(page_blocks_stress)

namespace {

using core::page_blocks;

/// What one thread does: it writes its mark over whole blocks, now and then hands one to the next thread, and finds all marks again.
/// Answers how many were wrong.
class block_user {
 public:
  block_user(page_blocks& from, std::uint64_t seed) : from_(from), random_(seed) {}

  [[nodiscard]] std::size_t run(std::atomic<std::byte*>& mine, std::atomic<std::byte*>& next) {
    constexpr std::size_t steps = 8'000;
    for (std::size_t step = 0; step < steps; ++step) {
      if (all_.size() < 200 && random_() % 3 != 0) {
        take(1 + random_() % 20'000);
      } else if (!all_.empty()) {
        give_any();
      }
      if (step % 16 == 0) pass_on(mine, next);
    }
    while (!all_.empty()) give_any();
    return wrong_;
  }

 private:
  static constexpr std::size_t passed_bytes = 5'000;  ///< of those that go from thread to thread
  struct block {
    std::byte* at;
    std::size_t bytes;
    std::byte mark;
  };

  void take(std::size_t bytes) {
    const block made{static_cast<std::byte*>(from_.take(bytes)), bytes, static_cast<std::byte>(random_())};
    std::memset(made.at, static_cast<int>(made.mark), bytes);
    all_.push_back(made);
  }
  void give_any() {
    std::swap(all_[random_() % all_.size()], all_.back());
    const block gone = all_.back();
    all_.pop_back();
    if (!std::all_of(gone.at, gone.at + gone.bytes, [&](std::byte each) { return each == gone.mark; })) ++wrong_;
    from_.give(gone.at, gone.bytes);
  }
  void pass_on(std::atomic<std::byte*>& mine, std::atomic<std::byte*>& next) {
    if (std::byte* const got = mine.exchange(nullptr, std::memory_order_acq_rel)) from_.give(got, passed_bytes);
    auto* const fresh = static_cast<std::byte*>(from_.take(passed_bytes));
    std::memset(fresh, 1, passed_bytes);
    if (std::byte* const unread = next.exchange(fresh, std::memory_order_acq_rel)) from_.give(unread, passed_bytes);
  }

  page_blocks& from_;
  std::mt19937_64 random_;
  std::vector<block> all_;
  std::size_t wrong_ = 0;
};

}  // namespace

BOOST_AUTO_TEST_CASE(blocks_stay_apart_while_pages_come_and_go) {
  constexpr std::size_t threads = 4;
  page_blocks subject;
  std::array<std::atomic<std::byte*>, threads> passed{};
  std::array<std::size_t, threads> wrong{};
  std::atomic<bool> stop{false};
  std::thread trimmer([&] {
    while (!stop.load(std::memory_order_relaxed)) static_cast<void>(subject.trim());
  });
  std::vector<std::thread> users;
  for (std::size_t i = 0; i < threads; ++i)
    users.emplace_back([&, i] { wrong[i] = block_user(subject, 31 + i).run(passed[i], passed[(i + 1) % threads]); });
  for (std::thread& each : users) each.join();
  stop.store(true);
  trimmer.join();
  for (const std::size_t each : wrong) BOOST_TEST(each == 0U);
  for (std::atomic<std::byte*>& each : passed) {
    if (each.load() != nullptr) subject.give(each.load(), 5'000);
  }
  static_cast<void>(subject.trim());
  BOOST_TEST(subject.mapped() == 0U);
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace kvc::test

// A life of promotions: probes that ask, join, wait and go away, and stores that come and go, with what may be said of it all.
#pragma once

#include <array>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <boost/asio/awaitable.hpp>
#include <boost/asio/cancellation_signal.hpp>

#include "core/replica.hpp"
#include "net/exist_lookup.hpp"
#include "net/object_shelves.hpp"
#include "net/promotion_service.hpp"
#include "net/store_reconciler.hpp"
#include "tests/support/net/moody_mover.hpp"
#include "tests/support/net/told_stream.hpp"

namespace kvc::test {

/// What the contract says of an object of which a copy in memory is wanted.
enum class wanted : std::uint8_t { missing, nothing, join, start };

/// Lane: all of it on the test's thread, which runs the lanes; whatever is ready is done by `drain`.
class promotion_stage {
 public:
  promotion_stage(two_lanes& in, std::uint64_t seed);

  /// Something happens, and all that follows at once.
  void act();
  /// Everything that is ready.
  void drain();
  /// Nothing goes wrong any more.
  void come_to_rest();
  /// What has not been brought to memory since then is wanted there. False: all has been.
  bool ask_for_rest(std::chrono::steady_clock::time_point since);
  /// Everything is wanted, and nobody answers any more.
  void fall_silent();

  [[nodiscard]] bool is_at_rest() const;
  /// What is still going on.
  [[nodiscard]] std::string unrest() const;
  /// What was wrong, and what the counters are wrong about, at rest.
  [[nodiscard]] std::vector<std::string> wrongs() const;
  [[nodiscard]] std::uint64_t seed() const { return seed_; }
  [[nodiscard]] std::uint64_t count(net::promotion_service::outcome what) const { return promotions_.counts().outcomes[what].load(); }

 private:
  /// A probe, which may wait.
  struct client {
    client(promotion_stage& in, net::lane& on);

    net::lane& where;
    net::exist_lookup lookup;
    std::vector<std::string> texts;
    net::exist_request request;
    net::exist_answer answer;
    std::uint32_t backend = 0;
    std::vector<net::prefetch_word> first;    ///< words
    std::vector<std::shared_ptr<flight>> of;  ///< what each key waits for; null: nothing that was started here
    std::chrono::milliseconds longest{};
    std::chrono::steady_clock::time_point asked;
    net::asio::cancellation_signal leave;
  };
  /// One that has been begun and whose first words have not been looked at.
  struct beginning {
    std::shared_ptr<client> by;
    std::vector<wanted> needs;
    bool may_be_full = false;
  };
  using time_point = std::chrono::steady_clock::time_point;

  bool chance(unsigned percent) { return ledger_.chance(percent); }
  [[nodiscard]] static std::string tenant_of(std::size_t key) { return key % 3 == 0 ? "ada" : "default"; }
  void put(std::uint32_t backend, std::size_t key, std::span<const core::replica_view> replicas);
  void place(std::uint32_t backend, std::size_t key);
  [[nodiscard]] core::replica_set where(std::uint32_t backend, const std::string& tenant, const std::string& key) const;

  void forget(std::uint32_t backend);
  void add(std::uint32_t backend);
  void remove(std::uint32_t backend);
  void begin_anew(std::uint32_t backend);

  [[nodiscard]] std::vector<std::size_t> some_keys();
  [[nodiscard]] std::shared_ptr<client> make_client(std::uint32_t backend, std::span<const std::size_t> keys);
  [[nodiscard]] std::vector<wanted> needs_of(const client& by) const;
  void probe(std::uint32_t backend);
  void ask_for_prompt(std::uint32_t backend);
  void wait_for(std::uint32_t backend, std::uint64_t wait_ms, std::chrono::milliseconds longest, std::span<const std::size_t> keys);
  [[nodiscard]] static net::asio::awaitable<void> ask_and_wait(promotion_stage* in, std::shared_ptr<client> by);
  void hear();

  std::shared_ptr<flight> judge(const flight_ledger::name& whose, wanted need, net::prefetch_word word, const std::string& preferred,
                                time_point from, time_point to, bool may_be_full);
  std::shared_ptr<flight> judge_wish(const flight_ledger::name& whose, net::prefetch_word word, const std::string& preferred,
                                     time_point from, time_point to, bool may_be_full);
  void judge_all(client& by, time_point to, bool may_be_full, std::span<const wanted> needs);
  void check(const client& by);
  void note(std::string_view key, net::prefetch_word word, std::string_view why);

  two_lanes& in_;
  std::uint64_t seed_;
  net::store_settings settings_;
  flight_ledger ledger_;
  std::vector<std::string> keys_{"a", "b", "c", "d", "e", "f", "g", "h"};
  net::object_shelves objects_{core::object_table::options()};
  net::store_reconciler reconciler_{in_.lanes.at(0), objects_, settings_};
  moody_truth truth_{reconciler_, ledger_};
  net::promotion_service promotions_{in_.lanes.at(0), objects_, settings_, truth_};
  std::vector<std::shared_ptr<client>> clients_;  ///< that wait
  beginning newest_;
  std::vector<std::uint32_t> lost_;  ///< backends whose queue has gone since everything was done
  std::array<std::uint64_t, net::prefetch_words.size()> said_{};
};

}  // namespace kvc::test

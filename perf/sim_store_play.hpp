// A stand-in store in use, with a conductor that is told of it, asked about it, and held against it.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <future>
#include <memory>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <vector>

#include <boost/asio/awaitable.hpp>

#include "perf/sim_player_of.hpp"
#include "perf/sim_store_cluster.hpp"
#include "perf/sim_store_probe.hpp"

namespace kvc::sim {

/// How a run went.
struct store_outcome {
  store_counts counts;
  store_storage::counters storage;
  std::uint64_t objects = 0;        ///< in the store at the end of the play
  std::uint64_t on_ssd_only = 0;    ///< of them
  std::uint64_t keys_compared = 0;  ///< every key there has been
  std::uint64_t unheard = 0;        ///< of them: in the store, and the conductor may not know, as the event was lost for good
  std::uint64_t brought = 0;        ///< objects that were on SSD only and were in memory after they were asked for at the end
  std::uint64_t replays = 0;        ///< served
  bool was_compared = false;
  std::uint64_t complaint_count = 0;
  std::vector<std::string> complaints;  ///< the first ones

  [[nodiscard]] bool is_fine() const noexcept { return complaint_count == 0 && was_compared; }
};

/// A run against a conductor.
///
/// Story: publishers and masters are registered; objects are put; turns follow, until they or the time are over: something goes wrong
/// perhaps, objects are put, read, removed, copied, some are probed for, with prefetch or without. Then faults end, and the conductor is
/// asked about every key there has been, again and again, until its answers are the truth: what happened silently it has to find out, and
/// is given `store_patience` for that. At last some of what is on SSD only is asked for with prefetch until it is in memory.
/// Thread: `run` blocks the calling thread, once. Everything else happens on the store's lane.
class store_play {
 public:
  explicit store_play(const store_options& chosen);
  ~store_play();
  store_play(const store_play&) = delete;
  store_play& operator=(const store_play&) = delete;

  /// The whole run. With `with_progress` it prints a line a second, and INT or TERM end the play early, a second one the process.
  [[nodiscard]] store_outcome run(bool with_progress);

 private:
  [[nodiscard]] boost::asio::awaitable<void> go_on(bool with_progress, std::promise<void>& ended);
  [[nodiscard]] boost::asio::awaitable<void> whole(bool with_progress);
  [[nodiscard]] boost::asio::awaitable<void> play();
  [[nodiscard]] boost::asio::awaitable<void> turn(std::uint32_t events);
  void have_trouble();
  void work(std::uint32_t events);
  [[nodiscard]] boost::asio::awaitable<void> probe_some();
  [[nodiscard]] boost::asio::awaitable<void> show_progress();

  // Registering (sim_store_joining.cpp).
  [[nodiscard]] boost::asio::awaitable<void> register_all();
  [[nodiscard]] boost::asio::awaitable<void> be_heard(std::size_t master);
  [[nodiscard]] boost::asio::awaitable<void> be_asked();
  [[nodiscard]] boost::asio::awaitable<void> leave();

  /// What was answered of a key where that is not the truth.
  struct difference {
    std::string key;
    std::int64_t told = 0;  ///< as in `exist_answer`
  };

  // The end (sim_store_settling.cpp).
  [[nodiscard]] boost::asio::awaitable<void> settle();
  [[nodiscard]] boost::asio::awaitable<void> hear_out();
  [[nodiscard]] boost::asio::awaitable<void> compare();
  [[nodiscard]] boost::asio::awaitable<std::vector<difference>> differing(std::span<const std::string> among);
  [[nodiscard]] bool agrees(const std::string& key, std::int64_t told) const;
  [[nodiscard]] boost::asio::awaitable<void> bring_back();

  [[nodiscard]] boost::asio::awaitable<std::optional<exist_answer>> probe(std::span<const std::string> keys, bool with_prefetch);
  [[nodiscard]] static std::string instance(std::size_t master);

  store_cluster store_;
  store_world& world_;
  player_of<store_world> service_;
  const std::uint64_t objects_to_put_;  ///< at the start
  std::vector<std::string> ever_;       ///< every key there has been, in the order of their making
  std::set<std::string> unheard_;       ///< those whose put was dropped on its way
  std::uint32_t pressed_turns_ = 0;
  std::optional<std::size_t> successor_;  ///< who leads from the next turn on
  bool is_playing_ = false;
  store_outcome outcome_;
};

}  // namespace kvc::sim

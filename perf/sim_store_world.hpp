// What the stand-in masters of one process share: the store, who leads, chance, counts, complaints.
#pragma once

#include <array>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include <boost/asio/steady_timer.hpp>

#include "core/ids.hpp"
#include "net/runtime.hpp"
#include "perf/sim_mix.hpp"
#include "perf/sim_store_options.hpp"
#include "perf/sim_store_publisher.hpp"
#include "perf/sim_store_storage.hpp"

namespace kvc::sim {

/// How long a stand-in waits for the conductor, and for what must come at last.
inline constexpr std::chrono::seconds store_patience{30};

/// Figures of a run, all rising.
struct store_counts {
  std::uint64_t batch_queries = 0;
  std::uint64_t keys_queried = 0;
  std::uint64_t longest_query = 0;  ///< keys of one call
  std::uint64_t look_ups = 0;
  std::uint64_t promotions_started = 0;
  std::uint64_t refused_as_follower = 0;
  std::uint64_t leader_changes = 0;
  std::uint64_t probes = 0;  ///< batches asked of the conductor
  std::uint64_t keys_probed = 0;
  std::array<std::uint64_t, 5> outcomes{};  ///< what probes said of prefetches, in the order of `store_outcome_words`
  std::array<std::uint64_t, store_fault_kinds> faults{};
};

/// One store, its masters and their publishers.
///
/// Lane: `home`, all of it. Outlives the masters; `home` outlives it.
class store_world {
 public:
  using milliseconds = std::chrono::milliseconds;

  store_world(net::lane& where, net::zmq_engine& engine, const store_options& with);

  net::lane& home;
  const store_options chosen;
  dice random;
  store_storage storage;
  store_counts counts;
  std::vector<std::unique_ptr<store_publisher>> publishers;  ///< one per master
  std::vector<std::string> urls;                             ///< of the masters' admin interfaces, once they listen
  bool is_stopping = false;
  bool is_quiet = false;              ///< no more faults
  boost::asio::steady_timer news;     ///< cancelled when something was asked or has happened
  boost::asio::steady_timer release;  ///< cancelled to answer what hangs

  /// Since the world began.
  [[nodiscard]] milliseconds now() const;

  /// The master that leads; nothing while one is being elected.
  [[nodiscard]] std::optional<std::size_t> leader() const noexcept { return leader_; }
  /// Nobody leads until the next call. What happens meanwhile the old leader has still told.
  void depose();
  void elect(std::size_t master);

  /// What happened to the store goes out, as far as it is told.
  void tell();

  /// A kind of fault, if one is to happen at this occasion; one of the possible ones that the options allow.
  [[nodiscard]] bool happens(std::initializer_list<store_fault> possible, store_fault& which);

  /// An object nobody has put yet: the next block of one of the prompts under way.
  struct draft {
    std::string key;
    std::shared_ptr<const store_block> block;
  };
  [[nodiscard]] draft new_object();

  /// Something the conductor should not have done or said. The first 20 are kept, all are counted.
  void complain(std::string what);
  [[nodiscard]] const std::vector<std::string>& complaints() const noexcept { return complaints_; }
  [[nodiscard]] std::uint64_t complaint_count() const noexcept { return complaint_count_; }

 private:
  struct prompt {
    std::uint64_t number = 0;
    std::uint32_t blocks = 0;  ///< of it that have been put
    core::seq_hash last{};
  };

  const std::chrono::steady_clock::time_point began_;
  std::optional<std::size_t> leader_ = 0;
  std::size_t speaker_ = 0;  ///< the last leader
  std::vector<prompt> prompts_;
  std::uint64_t prompts_begun_ = 0;
  std::uint64_t objects_made_ = 0;
  std::vector<std::string> complaints_;
  std::uint64_t complaint_count_ = 0;
};

}  // namespace kvc::sim

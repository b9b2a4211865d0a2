// What the stand-in MP servers of one process share: storage, model, chance, counts, complaints.
#pragma once

#include <array>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <map>
#include <string>
#include <vector>

#include <boost/asio/steady_timer.hpp>

#include "net/runtime.hpp"
#include "perf/sim_mix.hpp"
#include "perf/sim_mp_model.hpp"
#include "perf/sim_mp_options.hpp"
#include "perf/sim_mp_storage.hpp"

namespace kvc::sim {

/// How long a stand-in waits for the coordinator, and for what must come at last.
inline constexpr std::chrono::seconds mp_patience{30};

/// Figures of a run, all rising.
struct mp_counts {
  std::uint64_t registrations = 0;
  std::uint64_t re_registrations = 0;  ///< as the coordinator says
  std::uint64_t deregistrations = 0;
  std::uint64_t heartbeats = 0;
  std::uint64_t unknown_heartbeats = 0;  ///< answered 404
  std::uint64_t batches = 0;             ///< acknowledged, repeats included
  std::uint64_t duplicates = 0;          ///< batches the coordinator recognised
  std::uint64_t lost_batches = 0;        ///< that never went out
  std::uint64_t stores = 0;              ///< acknowledged, like the next two
  std::uint64_t lookups = 0;
  std::uint64_t removals = 0;
  std::uint64_t deletion_requests = 0;
  std::uint64_t keys_asked = 0;  ///< in those requests
  std::uint64_t longest_request = 0;
  std::uint64_t deleted = 0;  ///< objects
  std::uint64_t pages = 0;
  std::uint64_t listed = 0;  ///< entries in those pages
  std::uint64_t prefetches = 0;
  std::uint64_t prefetches_completed = 0;
  std::uint64_t prefetches_failed = 0;
  std::uint64_t coordinator_restarts = 0;
  std::array<std::uint64_t, mp_fault_kinds> faults{};
};

/// Shared by the servers of a fleet and their driver.
///
/// Lane: `home`, all of it. Outlives the servers; `home` outlives it.
class mp_world {
 public:
  mp_world(net::lane& where, const mp_options& with);

  net::lane& home;
  const mp_options chosen;
  dice random;
  mp_storage storage;
  mp_model model;
  mp_counts counts;
  bool is_stopping = false;
  bool is_quiet = false;        ///< no more faults
  bool resync_is_over = false;  ///< no page can change the coordinator's tables any more
  bool last_page_served = false;
  boost::asio::steady_timer news;         ///< cancelled when a deletion or a page was served
  boost::asio::steady_timer release;      ///< cancelled to answer what hangs
  std::uint64_t incarnations = 0;         ///< given out
  std::uint64_t coordinator_changes = 0;  ///< rises when a coordinator is about to end, and when the next one is there

  /// A kind of fault, if one is to happen at this occasion; one of the possible ones that the options allow.
  [[nodiscard]] bool happens(std::initializer_list<mp_fault> possible, mp_fault& which);

  /// Another coordinator is there, which nobody has told anything.
  void meet_coordinator();

  [[nodiscard]] core::owned_object_key new_key();
  [[nodiscard]] std::string salt_name(std::size_t index) const;

  /// Something the coordinator should not have done or said. The first 20 are kept, all are counted.
  void complain(std::string what);
  [[nodiscard]] const std::vector<std::string>& complaints() const noexcept { return complaints_; }
  [[nodiscard]] std::uint64_t complaint_count() const noexcept { return complaint_count_; }

  /// From now on deletions must come in the model's order within each salt. The model must not change until all have come.
  void begin_drain();
  /// A server was asked to delete these keys.
  void note_deletion(const std::vector<core::owned_object_key>& keys);
  /// Keys whose deletion was not asked for since the drain began, and that cannot be in flight from before.
  [[nodiscard]] std::size_t left_to_drain() const noexcept { return left_to_drain_; }

 private:
  struct drain_place {
    std::size_t position = 0;
    bool is_expected = false;  ///< not asked for yet and not in flight
  };

  std::vector<std::string> complaints_;
  std::uint64_t complaint_count_ = 0;
  bool is_draining_ = false;
  std::map<core::owned_object_key, drain_place> places_;
  std::size_t left_to_drain_ = 0;
};

}  // namespace kvc::sim

// What the coordinator must believe, kept as plainly as it can be said, from what it has answered to.
#pragma once

#include <cstddef>
#include <cstdint>
#include <list>
#include <map>
#include <set>
#include <string>
#include <vector>

#include "perf/sim_mp_storage.hpp"

namespace kvc::sim {

/// The ledger and the order of use per salt (spec coordinator-api, sections 3 and 9), from the batches the coordinator has acknowledged, in
/// the order in which they were posted, and the pages it was given.
///
/// A store makes its key the most recent one, a look-up too if the key is known, a removal takes it away; listed keys go to the old end in
/// their order, unless they are known or were removed before. Besides, the model remembers which keys a server was asked to delete since
/// they were last stored: those may be in flight, and the coordinator need not ask for them again yet. Lane: one thread.
class mp_model {
 public:
  void apply(const std::vector<mp_event>& events);
  /// A listed object.
  void seed(const core::owned_object_key& key, std::uint64_t bytes);
  /// A server was asked to delete it.
  void ask(const core::owned_object_key& key) { asked_.insert(key); }

  [[nodiscard]] bool is_known(const core::owned_object_key& key) const { return places_.contains(key); }
  /// Whether an acknowledged event, not a page, made the key known: then no page on its way can matter to it.
  [[nodiscard]] bool is_told(const core::owned_object_key& key) const;
  [[nodiscard]] bool may_be_in_flight(const core::owned_object_key& key) const { return asked_.contains(key); }

  /// Bytes of every salt that has some.
  [[nodiscard]] const std::map<std::string, std::uint64_t>& bytes() const noexcept { return bytes_; }
  [[nodiscard]] std::uint64_t total_bytes() const noexcept;
  [[nodiscard]] std::size_t size() const noexcept { return places_.size(); }

  /// Keys of a salt, least recently used first.
  [[nodiscard]] std::vector<core::owned_object_key> order(const std::string& salt) const;
  [[nodiscard]] std::vector<std::string> salts() const;

 private:
  using keys = std::list<core::owned_object_key>;
  struct salt_order {
    keys seeded;  ///< listed and not touched since: older than all others
    keys used;
  };
  struct place {
    keys::iterator at;
    bool is_seeded = false;
    std::uint64_t bytes = 0;
  };

  void touch(place& known, const core::owned_object_key& key);
  void store(const core::owned_object_key& key, std::uint64_t bytes);
  void remove(const core::owned_object_key& key);
  void change_bytes(const std::string& salt, std::uint64_t less, std::uint64_t more);

  std::map<core::owned_object_key, place> places_;
  std::map<std::string, salt_order> orders_;
  std::map<std::string, std::uint64_t> bytes_;
  std::set<core::owned_object_key> removed_;  ///< ever: the resync that cares for it happens once, at the start
  std::set<core::owned_object_key> asked_;
};

}  // namespace kvc::sim

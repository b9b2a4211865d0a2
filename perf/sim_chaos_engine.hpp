// What happens inside a chaos publisher: blocks come and go at random on its ranks, told in a form that changes in the middle.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "core/event.hpp"
#include "core/medium.hpp"
#include "net/event_encode.hpp"
#include "perf/sim_chaos_cache.hpp"
#include "perf/sim_chaos_text.hpp"
#include "perf/sim_dialect.hpp"
#include "perf/sim_mix.hpp"

namespace kvc::sim {

/// What kind of engine, or store, a publisher speaks for.
struct chaos_profile {
  std::string type;  ///< registered
  std::string tenant;
  std::vector<net::event_form> forms;      ///< drawn from, batch by batch
  std::array<core::medium_id, 2> media{};  ///< by place in chaos_cache; the first one is the registration's
  std::vector<std::uint32_t> ranks{0};     ///< spoken for; the first one is registered
  bool is_pool = false;                    ///< numbers begin with 1, clears mean every medium, ranks mean nothing
  bool counts_copies = true;
  bool has_standard_names = false;
};

/// Draws batches and keeps the truth about them.
///
/// Life cycle: any number of `next`, each with the number its batch will have; `restart` forgets everything, as a process does that dies.
/// Thread-safety: none; one owner. The text must outlive the engine.
class chaos_engine {
 public:
  chaos_engine(const chaos_text& text, chaos_profile profile, std::uint64_t seed);

  struct made {
    core::event_batch batch;
    net::encode_options how;
    std::string story;  ///< for people
  };

  /// Something happens, and is told in the batch with this number.
  [[nodiscard]] made next(std::uint64_t number);

  /// Nothing happens; a valid batch about it.
  [[nodiscard]] made nothing();

  void restart();

  [[nodiscard]] const chaos_profile& profile() const noexcept { return profile_; }
  [[nodiscard]] const chaos_text& text() const noexcept { return *text_; }
  [[nodiscard]] const std::map<std::uint32_t, chaos_cache>& ranks() const noexcept { return ranks_; }
  [[nodiscard]] std::uint64_t name_of(std::uint32_t block) const noexcept;

 private:
  struct telling {
    const form_traits* form = nullptr;
    chaos_cache* cache = nullptr;
    std::uint64_t number = 0;
    made* out = nullptr;
  };

  void store(const telling& to);
  void copy(const telling& to);
  void remove(const telling& to);
  void clear(const telling& to);
  void speak_of_object(const telling& to);
  template <class Event>
  static void name_object(const telling& to, Event& told);
  [[nodiscard]] core::event_scope scope_of(const telling& to, std::size_t place) const;
  [[nodiscard]] std::vector<std::uint32_t> held(const chaos_cache& cache, chaos_cache::place_mask where) const;

  const chaos_text* text_;
  chaos_profile profile_;
  dice random_;
  std::uint64_t secret_ = 0;
  std::uint64_t event_ids_ = 0;
  std::map<std::uint32_t, chaos_cache> ranks_;
};

}  // namespace kvc::sim

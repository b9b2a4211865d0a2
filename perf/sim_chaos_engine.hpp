// What happens inside a chaos publisher: blocks come and go at random on its ranks, told in a form that changes in the middle.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "core/event.hpp"
#include "core/medium.hpp"
#include "net/event_encode.hpp"
#include "perf/sim_chaos_cache.hpp"
#include "perf/sim_chaos_coverage.hpp"
#include "perf/sim_chaos_text.hpp"
#include "perf/sim_dialect.hpp"
#include "perf/sim_mix.hpp"

namespace kvc::sim {

/// What a store calls its objects. Of a number and of a digest, the key alone tells the block.
enum class key_style : std::uint8_t { opaque, decimal, hexadecimal, digest };

/// Whose blocks are told apart from everybody's: an adapter's, or those of requests with a salt. One of the two, or neither.
struct chaos_partition {
  std::string lora;
  std::string salt;

  [[nodiscard]] bool is_everybodys() const noexcept { return lora.empty() && salt.empty(); }
  friend bool operator==(const chaos_partition&, const chaos_partition&) = default;
};

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
  /// What an engine makes its blocks' names from, for as long as it lives, and a store that calls its objects by them; absent: each
  /// incarnation names them anew.
  std::optional<std::uint64_t> names_from = {};
  bool is_teacher = false;  ///< stores all prompts before anything else and loses none of them, so that its names explain a store's
  key_style keys = key_style::opaque;
  bool names_adapter = false;      ///< a store that says of every block that it is no adapter's
  chaos_partition second;          ///< of blocks that it keeps besides everybody's; everybody's: there are none
  std::uint32_t chunk_tokens = 0;  ///< a cache of its own beside the engine's keeps chunks of so many, on place 1; 0: there is none
  bool has_windows = false;  ///< keeps some layers' blocks for a part of the prefix only, and tells of them in the forms that can say so
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
  /// What its ranks hold of everybody's blocks, and of those of the profile's second partition.
  [[nodiscard]] const std::map<std::uint32_t, chaos_cache>& ranks() const noexcept { return ranks_; }
  [[nodiscard]] const std::map<std::uint32_t, chaos_cache>& second_ranks() const noexcept { return second_ranks_; }
  [[nodiscard]] std::uint64_t name_of(std::uint32_t block) const noexcept;
  /// What has been told, by all incarnations.
  [[nodiscard]] const chaos_coverage& coverage() const noexcept { return coverage_; }

 private:
  struct telling {
    const form_traits* form = nullptr;
    chaos_cache* cache = nullptr;
    std::uint32_t rank = 0;
    bool is_second = false;  ///< of the second partition
    std::uint64_t number = 0;
    made* out = nullptr;
  };

  using path = chaos_text::path;

  void happen(const telling& to);
  void teach(const telling& to);
  void store(const telling& to);
  void tell_stored(const telling& to, const path& prompt, std::uint32_t first, std::uint32_t last, std::size_t place);
  void copy(const telling& to);
  void remove(const telling& to);
  void clear(const telling& to);
  void speak_of_object(const telling& to);
  void speak_of_window(const telling& to);
  void store_chunk(const telling& to);
  // Of stores, see sim_chaos_objects.cpp.
  void happen_to_object(const telling& to);
  void store_object(const telling& to);
  void move_object(const telling& to);
  void remove_object(const telling& to);
  void tell_replicas(const telling& to, core::object_event told, chaos_cache::place_mask where);
  [[nodiscard]] std::string key_of(std::uint32_t block) const;
  [[nodiscard]] bool names_explain_themselves() const noexcept { return profile_.has_standard_names || profile_.names_from; }
  [[nodiscard]] std::uint32_t draw_first(const telling& to, const path& prompt);
  template <class Event>
  static void name_object(const telling& to, Event& told);
  [[nodiscard]] bool can_tell_second(const form_traits& form) const noexcept;
  [[nodiscard]] core::engine_hash name_in(const telling& to, std::uint32_t block) const noexcept;
  [[nodiscard]] core::event_scope scope_of(const telling& to, std::size_t place) const;
  [[nodiscard]] std::vector<std::uint32_t> held(const chaos_cache& cache, chaos_cache::place_mask where) const;

  const chaos_text* text_;
  chaos_profile profile_;
  dice random_;
  std::uint64_t secret_ = 0;
  std::uint64_t event_ids_ = 0;
  std::size_t lessons_ = 0;  ///< prompts that have been taught
  chaos_coverage coverage_;
  /// By rank: the chunks stored, by name, and the batches that told of each and of those before it.
  std::map<std::uint32_t, std::map<std::uint64_t, std::vector<std::uint64_t>>> chunks_;
  std::map<std::uint32_t, chaos_cache> ranks_;
  std::map<std::uint32_t, chaos_cache> second_ranks_;
};

}  // namespace kvc::sim

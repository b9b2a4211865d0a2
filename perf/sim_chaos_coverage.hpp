// What a chaos run has really exercised, besides faults: what was told in which form, and what fleets and streams were like.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include "core/event.hpp"
#include "net/event_encode.hpp"

namespace kvc::sim {

/// What a fleet, or a stream, may be like.
enum class chaos_trait : std::uint8_t {
  connects,          ///< a publisher that connects to the conductor
  several_ranks,     ///< an instance of several ranks, a publisher each
  multiplexed,       ///< one publisher that speaks for several ranks
  clear,             ///< everything on a medium is cleared
  second_medium,     ///< blocks are stored on another medium than the registered one
  overtaken,         ///< a live batch comes after the replay of itself
  explained_object,  ///< an object is called what an engine calls its block, and the event has no tokens
  keyed_object,      ///< an object whose key alone tells its block
  window_group,      ///< a word about a KV-cache group that is not of the whole prefix
  adapter,           ///< a block of an adapter is stored
  salt,              ///< a block under a salt is stored
  chunk,             ///< a chunk of another size than the blocks is stored by a cache beside the engine
};
inline constexpr std::size_t chaos_trait_count = 12;

[[nodiscard]] std::string_view to_string(chaos_trait what) noexcept;

/// How often each form has said each kind of event, and each trait was seen.
struct chaos_coverage {
  std::array<std::array<std::uint64_t, core::event_kind_count>, net::event_form_count> told{};
  std::array<std::uint64_t, chaos_trait_count> seen{};

  void add(chaos_trait what) noexcept { ++seen[static_cast<std::size_t>(what)]; }
  void add(net::event_form in, const core::event& what) noexcept { ++told[static_cast<std::size_t>(in)][what.index()]; }
  void add(const chaos_coverage& other) noexcept;

  /// Calls `visit(name, times)` for all that can happen: each kind of event that each form can say, as `vllm_map stored`, then each trait.
  template <class Visit>
  void visit_all(Visit visit) const {
    for (std::size_t form = 0; form < told.size(); ++form) {
      for (std::size_t kind = 0; kind < told[form].size(); ++kind) {
        const std::string name = name_of(static_cast<net::event_form>(form), kind);
        if (!name.empty()) visit(name, told[form][kind]);
      }
    }
    for (std::size_t i = 0; i < seen.size(); ++i) visit(std::string(to_string(static_cast<chaos_trait>(i))), seen[i]);
  }

 private:
  /// Empty: the form cannot say that.
  [[nodiscard]] static std::string name_of(net::event_form form, std::size_t kind);
};

}  // namespace kvc::sim

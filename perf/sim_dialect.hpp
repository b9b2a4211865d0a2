// The event forms by name, and what each of them can say: which a simulated publisher must know before it speaks.
#pragma once

#include <array>
#include <optional>
#include <string>
#include <string_view>

#include "net/event_encode.hpp"

namespace kvc::sim {

/// What has a place in a form. (Source: kv-events.md sections 2 to 6.)
struct form_traits {
  net::event_form form{};
  std::string_view name;      ///< on the command line and in reports
  std::string_view type;      ///< what publishers of this form are registered as
  bool has_media = true;      ///< false: everything is on the medium of the registration
  bool has_rank = true;       ///< false: everything is of the rank of the registration
  bool has_tokens = true;     ///< false: its blocks are known from other events only
  bool has_own_names = true;  ///< false: names are the standard's sequence hashes
  bool tells_medium_of_clear = false;
  bool can_clear = true;
  bool has_copies_without_tokens = false;  ///< offloaded copies, known by name alone, have a form
  bool tells_adapter = false;              ///< stores have a place for an adapter's name
  bool tells_salt = false;                 ///< stores have a place for a salt
  bool tells_kinds_of_groups = false;      ///< of KV-cache groups: which one, in stores and removals, and whether it is of the whole prefix
};

/// All forms, in the order of `net::event_form`.
[[nodiscard]] const std::array<form_traits, net::event_form_count>& all_forms() noexcept;

[[nodiscard]] const form_traits& traits_of(net::event_form form) noexcept;

/// The form of a name; `map` and `array` are vLLM's newest of each kind. Nothing: nobody knows it.
[[nodiscard]] std::optional<net::event_form> form_of_name(std::string_view name) noexcept;

/// The names of all forms, separated by commas, for messages.
[[nodiscard]] std::string form_names();

/// Whether a prefix cache with names of its own can be told in this form alone: those of engines, not the envelope, whose names are a hash
/// of the content, and not those of stores.
[[nodiscard]] bool is_of_engines(net::event_form form) noexcept;
/// The names of those.
[[nodiscard]] std::string engine_form_names();

}  // namespace kvc::sim

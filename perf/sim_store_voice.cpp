#include "perf/sim_store_voice.hpp"

#include <algorithm>
#include <charconv>
#include <span>
#include <utility>

#include "core/hex.hpp"
#include "net/event_encode_parts.hpp"

namespace kvc::sim {
namespace {

using kind = store_change::kind;
using net::event_form;

constexpr std::array<store_stream_traits, 4> streams{
    store_stream_traits{.form = event_form::mooncake_array, .topic = "mooncake", .first_seqno = 0, .most_events = 50, .has_replay = true},
    store_stream_traits{.form = event_form::mooncake_master, .topic = "", .first_seqno = 1, .most_events = 64, .drops_count = true},
    store_stream_traits{.form = event_form::mooncake_branch, .topic = "", .first_seqno = 1, .most_events = 64, .drops_count = true},
    store_stream_traits{.form = event_form::mooncake_master, .topic = "", .first_seqno = 1, .most_events = 64, .drops_count = true},
};

/// The last part of a connector's key, `...@hex`, as the number that vLLM calls the block by: its last 16 digits.
std::optional<std::uint64_t> number_of_digest(std::string_view key) noexcept {
  const auto at = key.rfind('@');
  if (at == std::string_view::npos || key.size() - at < 17) return std::nullopt;
  const std::string_view digits = key.substr(key.size() - 16);
  std::uint64_t value = 0;
  const auto [end, failed] = std::from_chars(digits.data(), digits.data() + digits.size(), value, 16);
  if (failed != std::errc() || end != digits.data() + digits.size()) return std::nullopt;
  return value;
}

core::medium_id tier_of(store_medium medium) noexcept {
  return medium == store_medium::memory ? core::medium_id::cpu : core::medium_id::disk;
}

core::object_replica told(const store_replica& replica, std::string_view key) {
  return {.medium = tier_of(replica.medium), .location = store_location(replica, key), .kind = replica.medium};
}

/// Writes the events of one change in one generation.
class speech {
 public:
  speech(const store_change& what, const store_speaker& who, std::vector<core::event>& out) : what_(what), who_(who), out_(out) {}

  void stored() {
    if (who_.generation == store_generation::array) {
      core::object_event event = object(core::object_event::change::stored);
      if (what_.block) {
        event.name = what_.block->name;
        event.parent = what_.block->parent;
        event.tokens = what_.block->tokens;
      }
      out_.emplace_back(std::move(event));
      return;
    }
    const auto known = media(what_.before);
    for (const core::medium_id medium : media(what_.after)) {
      if (std::ranges::find(known, medium) != known.end()) continue;
      if (const auto number = name()) {
        core::stored_event event;
        event.scope = scope(medium);
        event.hashes.emplace_back(*number);
        out_.emplace_back(std::move(event));
      } else {
        core::object_event event = object(core::object_event::change::stored);
        event.scope.medium = medium;
        out_.emplace_back(std::move(event));
      }
    }
  }

  void updated() { out_.emplace_back(object(core::object_event::change::updated)); }

  void removed(core::medium_id medium) {
    if (const auto number = name()) {
      core::removed_event event;
      event.scope = scope(medium);
      event.hashes.emplace_back(*number);
      out_.emplace_back(std::move(event));
    } else {
      core::object_event event = object(core::object_event::change::removed);
      event.scope.medium = medium;
      out_.emplace_back(std::move(event));
    }
  }

  /// Of the media that the object was on and is on no more.
  void removed_from_each() {
    const auto left = media(what_.after);
    for (const core::medium_id medium : media(what_.before)) {
      if (std::ranges::find(left, medium) == left.end()) removed(medium);
    }
  }

  void cleared() {
    core::cleared_event event;
    event.scope = scope(std::nullopt);
    event.scope.object_key.clear();
    out_.emplace_back(std::move(event));
  }

 private:
  static std::vector<core::medium_id> media(const std::vector<store_replica>& of) {
    std::vector<core::medium_id> chosen;
    for (const store_replica& each : of) {
      if (std::ranges::find(chosen, tier_of(each.medium)) == chosen.end()) chosen.push_back(tier_of(each.medium));
    }
    return chosen;
  }

  [[nodiscard]] std::optional<std::uint64_t> name() const noexcept {
    if (who_.generation == store_generation::later) return std::nullopt;
    const auto number = number_of_key(what_.key);
    return number || who_.generation == store_generation::master ? number : number_of_digest(what_.key);
  }

  [[nodiscard]] core::event_scope scope(std::optional<core::medium_id> medium) const {
    core::event_scope made;
    made.tenant = who_.tenant;
    made.backend = who_.backend;
    made.model = who_.model;
    made.block_size = who_.block_size;
    made.medium = medium;
    made.object_key = what_.key;
    return made;
  }

  [[nodiscard]] core::object_event object(core::object_event::change change) const {
    core::object_event event;
    event.scope = scope(std::nullopt);
    event.what = change;
    if (who_.generation != store_generation::array) return event;  // the others tell one medium at a time, and no places
    for (const store_replica& each : what_.after) event.replicas.push_back(told(each, what_.key));
    return event;
  }

  const store_change& what_;
  const store_speaker& who_;
  std::vector<core::event>& out_;
};

void speak_array(kind what, speech& say) {
  if (what == kind::segment_lost || what == kind::client_lost) return;
  if (what == kind::removed_all) return say.cleared();
  what == kind::put ? say.stored() : say.updated();
}

void speak_master(const store_change& what, speech& say) {
  if (what.what == kind::put) return say.stored();
  // The last replica is gone when this is sent, so that nothing is left to take the label from.
  const bool is_gone = what.what == kind::removed || (what.what == kind::evicted && what.after.empty());
  if (is_gone) say.removed(core::medium_id::cpu);
}

void speak_branch(kind what, speech& say) {
  if (what == kind::put) return say.stored();
  if (what == kind::removed_all) return say.cleared();
  if (what == kind::removed || what == kind::evicted) say.removed_from_each();
}

}  // namespace

const store_stream_traits& traits_of(store_generation generation) noexcept {
  return streams[static_cast<std::size_t>(generation)];
}

void append_events(const store_change& what, const store_speaker& who, std::vector<core::event>& out) {
  speech say(what, who, out);
  switch (who.generation) {
    case store_generation::array: return speak_array(what.what, say);
    case store_generation::branch: return speak_branch(what.what, say);
    case store_generation::master:
    case store_generation::later: return speak_master(what, say);
  }
}

std::optional<std::uint64_t> number_of_key(std::string_view key) noexcept {
  const bool is_hexadecimal = key.starts_with("0x");
  if (is_hexadecimal) key.remove_prefix(2);
  std::uint64_t value = 0;
  const auto [end, failed] = std::from_chars(key.data(), key.data() + key.size(), value, is_hexadecimal ? 16 : 10);
  if (key.empty() || failed != std::errc() || end != key.data() + key.size()) return std::nullopt;
  return value;
}

std::string store_key(store_key_form form, std::string_view model, std::uint64_t seq_hash) {
  if (form == store_key_form::decimal) return std::to_string(seq_hash);
  const auto digest = net::digest_of_name(core::engine_hash{seq_hash});
  std::string hex;
  core::append_hex(std::string_view(digest.data(), digest.size()), hex);
  if (form == store_key_form::connector) return std::string(model) + "@tp_rank:0@pcp0@dcp0@pp_rank:0@" + hex;
  // What somebody on the way might take for something else; a comma can stand in no list, and a blank or `&` in no undecoded parameter.
  constexpr std::array<std::string_view, 4> tails{"", "%2C+\"", ",1", " &=#"};
  return "b\u00e9b\u00e9/" + hex.substr(hex.size() - 16) + std::string(tails[seq_hash % tails.size()]);
}

}  // namespace kvc::sim

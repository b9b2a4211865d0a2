// Batches of events compared in everything they say, and seen as if every removal stood for itself.
#pragma once

#include <span>
#include <variant>
#include <vector>

#include "core/event.hpp"

namespace kvc::test {

inline bool is_same(const core::stored_event& one, const core::stored_event& other) {
  return one.scope == other.scope && one.hashes == other.hashes && one.parent == other.parent && one.base == other.base &&
         one.tokens == other.tokens && one.locals == other.locals && one.has_tokens == other.has_tokens &&
         one.standard_hashes == other.standard_hashes && one.extra_keys == other.extra_keys;
}
inline bool is_same(const core::removed_event& one, const core::removed_event& other) {
  return one.scope == other.scope && one.hashes == other.hashes && one.all_media == other.all_media;
}
inline bool is_same(const core::cleared_event& one, const core::cleared_event& other) {
  return one.scope == other.scope;
}
inline bool is_same(const core::object_event& one, const core::object_event& other) {
  return one.scope == other.scope && one.what == other.what && one.replicas == other.replicas && one.all_media == other.all_media &&
         one.name == other.name && one.parent == other.parent && one.tokens == other.tokens;
}

inline bool is_same(const core::event& one, const core::event& other) {
  if (one.index() != other.index()) return false;
  return std::visit([&other]<class Event>(const Event& each) { return is_same(each, std::get<Event>(other)); }, one);
}

/// Events, counts and all.
inline bool is_same(const core::event_batch& one, const core::event_batch& other) {
  if (one.timestamp_s != other.timestamp_s || one.rank != other.rank || one.events.size() != other.events.size() ||
      one.rejected_events != other.rejected_events || one.joined_events != other.joined_events ||
      one.counts.events != other.counts.events || one.counts.rejected != other.counts.rejected ||
      one.counts.unknown.size() != other.counts.unknown.size()) {
    return false;
  }
  for (std::size_t i = 0; i < one.counts.unknown.size(); ++i) {
    const core::unknown_word& word = one.counts.unknown[i];
    const core::unknown_word& again = other.counts.unknown[i];
    if (word.kind != again.kind || word.text != again.text || word.times != again.times) return false;
  }
  for (std::size_t i = 0; i < one.events.size(); ++i) {
    if (!is_same(one.events[i], other.events[i])) return false;
  }
  return true;
}

/// The events with all removals that follow each other as one, wherever they are from: what was written as several events may be read as
/// one, and forms without a place for what tells two apart make them alike.
inline std::vector<core::event> with_removals_together(std::span<const core::event> events) {
  std::vector<core::event> together;
  for (const core::event& each : events) {
    const auto* const removed = std::get_if<core::removed_event>(&each);
    auto* const before = together.empty() ? nullptr : std::get_if<core::removed_event>(&together.back());
    if (removed != nullptr && before != nullptr) {
      before->hashes.insert(before->hashes.end(), removed->hashes.begin(), removed->hashes.end());
    } else {
      together.push_back(each);
    }
  }
  return together;
}

}  // namespace kvc::test

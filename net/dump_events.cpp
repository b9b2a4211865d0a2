#include "net/dump_events.hpp"

#include <algorithm>
#include <cctype>

#include "core/block_hasher.hpp"

namespace kvc::net {
namespace {

template <class Hash>
void list(answer_writer& event, std::string_view name, std::span<const Hash> hashes) {
  event.key(name);
  event.list(hashes.size());
  for (const Hash each : hashes) event.number(each.get());
  event.end_list();
}

void text_or_null(answer_writer& event, std::string_view name, const std::string& value) {
  event.key(name);
  if (value.empty()) return event.nothing();
  event.text(value);
}

/// The standard writes media in lower case, rows of answers in upper case.
std::string as_in_events(std::string_view medium) {
  std::string word(medium);
  std::ranges::transform(word, word.begin(), [](unsigned char letter) { return static_cast<char>(std::tolower(letter)); });
  return word;
}

void null(answer_writer& event, std::string_view name) {
  event.key(name);
  event.nothing();
}

}  // namespace

answer_writer dump_event_writer::begin(std::string_view type, const dump_owner& who, const dump_home& home, core::medium_id medium,
                                       std::string& out) {
  out += next_event_ == 0 ? "\n" : ",\n";
  answer_writer event(out, wire_form::json);
  event.object();
  event.member("event_id", next_event_++);
  event.member("timestamp", milliseconds_);
  event.member("event_type", type);
  event.member("model_name", home.key.model);
  event.member("block_size", home.key.block_size);
  text_or_null(event, "additional_salt", home.key.salt);
  text_or_null(event, "lora_name", home.key.lora);
  event.member("tenant_id", home.key.tenant);
  event.member("backend_id", who.backend_id.empty() ? who.worker.instance : who.backend_id);
  event.member("medium", as_in_events(media_->name(medium)));
  event.member("dp_rank", who.worker.rank.get());
  event.member("instance_id", who.worker.instance);
  return event;
}

void dump_event_writer::finish(answer_writer& event, std::span<const core::engine_hash> names, std::span<const core::local_hash> locals,
                               std::uint32_t copies) {
  null(event, "token_ids");
  list(event, "engine_hashes", names);
  if (!locals.empty()) list(event, "local_hashes", locals);
  if (copies > 1) event.member("copies", copies);
  event.end_object();
}

/// The sequence hashes of a path's blocks.
void dump_event_writer::roll_path(const core::dump_slice& told, const core::dump_slice::path& path, std::uint64_t seed) {
  rolled_.assign(1, path.first_hash);
  for (const core::local_hash local : std::span(told.locals).subspan(path.first_local + 1, path.count - 1)) {
    rolled_.push_back(core::roll(rolled_.back(), local, seed));
  }
}

void dump_event_writer::slice(const dump_owner& who, std::span<const dump_home> homes, const core::dump_slice& told, std::string& out) {
  for (const auto& each : told.waiting) {
    for (const auto& copy : std::span(told.waiting_copies).subspan(each.first_copy, each.count)) {
      answer_writer event = begin("waiting", who, homes[each.home], copy.medium, out);
      if (each.parent) {
        event.member("parent_engine_hash", each.parent->get());
      } else {
        null(event, "parent_engine_hash");
      }
      finish(event, {&each.name, 1}, std::span(&each.local, each.parent ? 1 : 0), copy.count);
    }
  }
  const core::dump_slice::path* in = nullptr;  // parts follow in the order of their paths, and stand in the slice of their path
  for (const auto& each : told.parts) {
    const auto* const path = &told.paths[each.path - told.paths.front().number];
    const dump_home& home = homes[path->home];
    if (path != in) roll_path(told, *path, home.seed);
    in = path;
    answer_writer event = begin("stored", who, home, each.medium, out);
    list(event, "seq_hashes", std::span<const core::seq_hash>(rolled_).subspan(each.offset, each.count));
    event.member("base_block_idx", path->base + each.offset);
    event.key("parent_hash");
    if (each.offset == 0 && path->parent == core::dump_slice::no_path) {
      event.nothing();
    } else {
      event.number((each.offset == 0 ? path->parent_hash : rolled_[each.offset - 1]).get());
    }
    finish(event, std::span(told.names).subspan(each.first_name, each.count),
           std::span(told.locals).subspan(path->first_local + each.offset, each.count), 1);
  }
  for (const auto& each : told.odd_names) {
    for (const auto& copy : std::span(told.copies).subspan(each.first_copy, each.count)) {
      const bool is_placed = copy.path != core::dump_slice::no_path;
      answer_writer event = begin("stored", who, homes[copy.home], copy.medium, out);
      list(event, "seq_hashes", std::span(&copy.block, 1));
      event.key("base_block_idx");
      is_placed ? event.number(copy.base) : event.nothing();
      null(event, "parent_hash");
      finish(event, {&each.name, 1}, std::span(&copy.local, is_placed ? 1 : 0), copy.count);
    }
  }
}

}  // namespace kvc::net

#include "core/blend_table.hpp"

#include <algorithm>
#include <array>

#include "core/block_hasher.hpp"
#include "core/text_spread.hpp"

namespace kvc::core {
namespace {

/// Of a packed text: the same for equal texts. Depends on the secret, as clients choose object keys.
std::uint64_t digest_of(const packed_text& text) {
  return spread(text.bytes()) ^ (text.is_hex() ? 0 : polynomial_base);  // any constant: a text and the bytes it spells differ
}

}  // namespace

blend_table::blend_table(const options& with) : options_(with), spread_(0), index_(with.most_chunks) {
  const std::array<std::uint64_t, 1> seed{with.seed};
  spread_ = digest(std::as_bytes(std::span(seed))) | 1;
}

template <token_value Token>
std::size_t blend_table::publish(std::string_view scope, std::span<const Token> tokens, std::span<const std::string_view> object_keys,
                                 std::uint64_t old_st_base, std::size_t from, std::size_t count) {
  const std::size_t length = options_.chunk_tokens;
  const std::size_t chunks = tokens.size() / length;
  if (chunks != object_keys.size() || scope.size() > options_.longest_key) {
    if (from == 0) ++counters_.skipped_ranges;
    return 0;
  }
  if (from >= chunks) return 0;
  const scope_use used(*this, scope);
  const std::uint32_t in = used.id;
  const std::size_t end = from + std::min(count, chunks - from);
  std::size_t fresh = 0;
  // The tables are much larger than any cache: the lines of some chunks are fetched while their hashes are worked out.
  constexpr std::size_t group = 16;
  std::array<newcomer, group> next;
  for (std::size_t first = from; first < end; first += group) {
    const std::size_t these = std::min(group, end - first);
    for (std::size_t i = 0; i < these; ++i) {
      newcomer& each = next[i];
      each.key = object_keys[first + i];
      each.packed.emplace(each.key.substr(0, options_.longest_key));  // a longer one is refused, and takes no longer to be so
      each.key_digest = digest_of(*each.packed);
      each.fingerprint = polynomial_hash_of_chunk(tokens.subspan((first + i) * length, length));
      each.mixed = mixed(in, each.fingerprint);
      index_.prefetch_word(each.mixed);
      index_.prefetch_slots(each.mixed);
      objects_by_text_.prefetch(each.key_digest);
    }
    for (std::size_t i = 0; i < these; ++i) {
      if (insert(in, next[i], old_st_base + (first + i) * length)) ++fresh;
    }
  }
  return fresh;
}

template std::size_t blend_table::publish(std::string_view, std::span<const std::uint32_t>, std::span<const std::string_view>,
                                          std::uint64_t, std::size_t, std::size_t);
template std::size_t blend_table::publish(std::string_view, std::span<const std::uint64_t>, std::span<const std::string_view>,
                                          std::uint64_t, std::size_t, std::size_t);

std::uint32_t blend_table::find_chunk(std::uint32_t in, std::uint64_t fingerprint, std::uint64_t mixed) const {
  std::uint32_t found = no_record;
  (void)index_.find(mixed, [&](std::uint32_t id) {
    const chunk_record& one = chunks_[id];
    if (one.fingerprint != fingerprint || one.scope != in) return false;
    found = id;
    return true;
  });
  return found;
}

bool blend_table::insert(std::uint32_t in, const newcomer& one, std::uint64_t old_st) {
  if (one.key.size() > options_.longest_key) {
    ++counters_.refused_keys;
    return false;
  }
  if (const std::uint32_t known = find_chunk(in, one.fingerprint, one.mixed); known != no_record) {
    ++counters_.known;  // publishing again shows that it is in use
    unlink(known);
    append_newest(known);
    return false;
  }
  while (oldest_ != no_record && (chunks_.size() >= options_.most_chunks || text_bytes_ > options_.most_text_bytes)) {
    ++counters_.evicted;
    erase(oldest_);
  }
  const std::uint32_t object_id = join_object(*one.packed, one.key_digest);
  if (object_id == no_record) {
    ++counters_.refused_keys;
    return false;
  }
  std::uint32_t id = no_record;
  try {
    id = chunks_.take();
  } catch (...) {
    leave_object(object_id);
    throw;
  }
  if (!index_.add(one.mixed, id)) {
    ++counters_.refused_keys;
    chunks_.give_back(id);
    leave_object(object_id);
    return false;
  }
  chunk_record& fresh = chunks_[id];
  fresh.fingerprint = one.fingerprint;
  fresh.old_st = old_st;
  fresh.scope = in;
  fresh.object = object_id;
  std::uint32_t& first = objects_[object_id].first;
  fresh.behind = first;
  if (first != no_record) chunks_[first].before = id;
  first = id;
  ++scopes_[in].chunks;
  append_newest(id);
  ++counters_.inserted;
  return true;
}

/// Takes a chunk out of everything, its object key and scope too when it was their last.
void blend_table::erase(std::uint32_t id) {
  const chunk_record& gone = chunks_[id];
  index_.remove(mixed(gone.scope, gone.fingerprint), id);
  unlink(id);
  (gone.before == no_record ? objects_[gone.object].first : chunks_[gone.before].behind) = gone.behind;
  if (gone.behind != no_record) chunks_[gone.behind].before = gone.before;
  leave_object(gone.object);
  leave_scope(gone.scope);
  chunks_.give_back(id);
}

std::size_t blend_table::remove(std::string_view key, std::size_t most) {
  if (key.size() > options_.longest_key) return 0;  // there is none, and a key may be as long as a body
  std::size_t removed = 0;
  const packed_text text(key);
  const std::uint64_t at = digest_of(text);
  while (removed < most) {
    const std::uint32_t id = find_object(text, at);
    if (id == no_record) break;
    erase(objects_[id].first);
    ++removed;
  }
  counters_.removed += removed;
  return removed;
}

std::optional<blend_table::place> blend_table::match(std::uint32_t scope, std::uint64_t fingerprint, std::uint64_t mixed) {
  const std::uint32_t id = find_chunk(scope, fingerprint, mixed);
  if (id == no_record) return std::nullopt;
  unlink(id);
  append_newest(id);
  ++counters_.found;
  const chunk_record& one = chunks_[id];
  return place{.object = one.object, .object_digest = objects_[one.object].digest, .old_st = one.old_st};
}

void blend_table::append_newest(std::uint32_t id) {
  chunks_[id].older = newest_;
  chunks_[id].newer = no_record;
  (newest_ == no_record ? oldest_ : chunks_[newest_].newer) = id;
  newest_ = id;
}

void blend_table::unlink(std::uint32_t id) {
  const chunk_record& one = chunks_[id];
  (one.older == no_record ? oldest_ : chunks_[one.older].newer) = one.newer;
  (one.newer == no_record ? newest_ : chunks_[one.newer].older) = one.older;
}

std::uint64_t blend_table::hash_at(std::uint32_t object) const {
  return objects_[object].digest;
}

std::uint32_t blend_table::find_object(const packed_text& key, std::uint64_t digest) const {
  std::uint32_t found = no_record;
  (void)objects_by_text_.find(digest, [&](std::uint32_t id) {
    const object_record& one = objects_[id];
    if (one.is_hex != key.is_hex() || one.text.view() != key.bytes()) return false;
    found = id;
    return true;
  });
  return found;
}

/// The number of an object key, new or known; `no_record` when the table of keys is full.
std::uint32_t blend_table::join_object(const packed_text& key, std::uint64_t digest) {
  if (const std::uint32_t known = find_object(key, digest); known != no_record) return known;
  const std::uint32_t id = objects_.take();
  object_record& fresh = objects_[id];
  bool is_added = false;
  try {
    fresh.digest = digest;
    fresh.is_hex = key.is_hex();
    fresh.text.assign(key.bytes());
    is_added = objects_by_text_.add(digest, id, *this);
  } catch (...) {
    objects_.give_back(id);
    throw;
  }
  if (!is_added) {
    objects_.give_back(id);
    return no_record;
  }
  text_bytes_ += fresh.text.heap_bytes();
  return id;
}

/// Forgets the key when it has no chunks.
void blend_table::leave_object(std::uint32_t id) {
  const object_record& one = objects_[id];
  if (one.first != no_record) return;
  objects_by_text_.remove(hash_at(id), id);
  text_bytes_ -= one.text.heap_bytes();
  objects_.give_back(id);
}

std::string blend_table::object_key(std::uint32_t object) const {
  return unpacked(objects_[object].text.view(), objects_[object].is_hex);
}

std::optional<std::uint32_t> blend_table::find_scope(std::string_view scope) const {
  const auto known = scopes_by_name_.find(scope);
  if (known == scopes_by_name_.end()) return std::nullopt;
  return known->second;
}

/// The number of a scope, which counts as used until `leave_scope`.
std::uint32_t blend_table::join_scope(std::string_view name) {
  const auto known = scopes_by_name_.find(name);
  if (known != scopes_by_name_.end()) {
    ++scopes_[known->second].chunks;
    return known->second;
  }
  if (free_scopes_.empty()) {
    if (free_scopes_.capacity() <= scopes_.size()) free_scopes_.reserve(2 * scopes_.size() + 1);  // so that `leave_scope` throws nothing
    scopes_.emplace_back();
    free_scopes_.push_back(static_cast<std::uint32_t>(scopes_.size() - 1));
  }
  const std::uint32_t id = free_scopes_.back();
  std::string copy(name);
  scopes_by_name_.emplace(name, id);
  free_scopes_.pop_back();
  scopes_[id] = {.name = std::move(copy), .chunks = 1};
  text_bytes_ += 2 * name.size();
  return id;
}

void blend_table::leave_scope(std::uint32_t id) noexcept {
  if (--scopes_[id].chunks != 0) return;
  text_bytes_ -= 2 * scopes_[id].name.size();
  scopes_by_name_.erase(scopes_[id].name);
  scopes_[id] = {};
  free_scopes_.push_back(id);
}

std::size_t blend_table::memory_bytes() const noexcept {
  constexpr std::size_t node = 6 * sizeof(void*) + sizeof(std::string);  // what a std::map keeps per entry, about
  return index_.bytes() + chunks_.bytes() + objects_.bytes() + objects_by_text_.bytes() + text_bytes_ +
         scopes_.size() * (sizeof(scope_record) + node);
}

}  // namespace kvc::core

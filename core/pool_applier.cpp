#include "core/pool_applier.hpp"

#include <algorithm>
#include <array>
#include <string>
#include <utility>

#include "core/block_hasher.hpp"
#include "core/mixed_bits.hpp"
#include "core/text_spread.hpp"

namespace kvc::core {
namespace {

/// Hexadecimal digits are the same in either case.
std::uint64_t digest_of_digits(std::string_view digits) {
  std::string lower(digits);
  for (char& digit : lower) digit = static_cast<char>(digit >= 'A' && digit <= 'F' ? digit - 'A' + 'a' : digit);
  return spread(lower);
}

/// The identity of an object: of its text, where nothing can be known of it, else of what it says, which may be written in several ways.
std::uint64_t object_of(std::string_view text, const pool_key& key, std::uint64_t writer) {
  if (key.form == key_form::opaque) return spread(std::array<std::uint64_t, 2>{writer, spread(text)});
  const std::uint64_t digits = key.form == key_form::number ? key.number : digest_of_digits(key.digits);
  return spread(std::array<std::uint64_t, 4>{writer, digits, key.is_negative ? 1U : 0U, key.part.code()});
}

/// One of several blocks that an event names.
std::uint64_t piece_of(std::uint64_t object, std::uint16_t home, engine_hash name) {
  return spread(std::array<std::uint64_t, 3>{object, home, name.get()});
}

}  // namespace

pool_applier::pool_applier(const options& with, lane_blocks& blocks, std::atomic<media_mask>& media_seen, home_finder find_home)
    : options_(with),
      blocks_(&blocks),
      media_seen_(&media_seen),
      find_home_(std::move(find_home)),
      joiner_({.max_waiting = with.max_waiting, .layouts = {.shards = with.shards, .settle = with.settle}}, *this) {
  (void)home_number(find_home_({}));
}

pool_applier::~pool_applier() {
  apply_tally nobody_reads;
  while (!clear_some(all_media, {}, ~std::size_t{0}, nobody_reads)) continue;
}

std::uint16_t pool_applier::home_number(const std::shared_ptr<partition>& in) {
  if (!in) return pool_joiner::no_home;
  const auto known = std::ranges::find(homes_, in, &home_entry::in);
  if (known != homes_.end()) return static_cast<std::uint16_t>(known - homes_.begin());
  auto names = std::ranges::find(boards_, in->names(), &board_entry::names);  // few: bounded by the partitions of a worker
  if (names == boards_.end()) {
    names = std::ranges::find(boards_, nullptr, &board_entry::names);
    if (names == boards_.end()) names = boards_.emplace(boards_.end());
    *names = {in->names(), std::make_shared<name_listener>(options_.wake), {}, 0, {}};
  }
  auto fresh = std::ranges::find(homes_, nullptr, &home_entry::in);
  if (fresh == homes_.end()) fresh = homes_.emplace(homes_.end());
  *fresh = {in, static_cast<std::size_t>(names - boards_.begin())};
  return static_cast<std::uint16_t>(fresh - homes_.begin());
}

std::uint16_t pool_applier::home_for(const event_scope& scope, const pool_key& key) {
  const std::string_view told = scope.model ? std::string_view(*scope.model) : key.model;
  const std::string& registered = homes_[0].in->key().model;
  if (told.empty() || told == registered) return home_number(find_home_(scope));
  event_scope of_model = scope;
  of_model.model.reset();
  if (!is_same_model(told, registered)) of_model.model = std::string(told);
  return home_number(find_home_(of_model));
}

/// Who made the object, so that parts of others are not mistaken for parts of the same block. Whoever names no tenant means the registered
/// one, and others may name it.
std::uint64_t pool_applier::writer_of(const pool_key& key, const event_scope& scope) const {
  const std::uint64_t tenant = spread(scope.tenant ? *scope.tenant : homes_[0].in->key().tenant);
  return spread(std::array<std::uint64_t, 7>{tenant, static_cast<std::uint64_t>(key.form), spread(key.prefix), spread(key.suffix),
                                             spread(key.model), key.group, key.ranks});
}

pool_joiner::sighting pool_applier::sighting_of(const event_scope& scope, const pool_key& key) {
  pool_joiner::sighting seen;
  seen.home = home_for(scope, key);
  seen.is_home_told = scope.lora.has_value();
  const std::uint64_t writer = writer_of(key, scope);
  seen.layout = key.has_parts() ? spread(std::array<std::uint64_t, 2>{writer, seen.home}) : 0;
  seen.object = object_of(scope.object_key, key, writer);
  seen.part = key.part;
  seen.ranks = key.ranks;
  seen.has_parts = key.has_parts();
  seen.may_be_sequence = key.form == key_form::opaque || key.form == key_form::number;
  return seen;
}

/// Engines tell the names of their groups apart in the same way; see worker_applier.
engine_hash pool_applier::name_in(const pool_key& key, engine_hash told, std::uint32_t group) {
  const engine_hash name = names_by_beginning(key) ? name_of(key, digests_) : told;
  return engine_hash{name.get() ^ ((group != 0 ? group : key.group) * golden)};
}

void pool_applier::store(const stored_event& stored, std::size_t first, std::size_t count, medium_id medium, apply_tally& tally) {
  tally_ = &tally;
  const pool_key key = parse_pool_key(stored.scope.object_key);
  pool_joiner::sighting seen = sighting_of(stored.scope, key);
  if (seen.home == pool_joiner::no_home) {
    tally.skipped += count;
    return;
  }
  const std::uint64_t object = seen.object;
  const partition& in = *homes_[seen.home].in;
  const std::size_t block_size = in.key().block_size;
  locals_.clear();
  const std::size_t tokens_each = stored.hashes.empty() ? 0 : stored.tokens.size() / stored.hashes.size();
  const bool is_even = tokens_each * stored.hashes.size() == stored.tokens.size() && tokens_each % block_size == 0;
  const std::size_t blocks_each = tokens_each / block_size;
  if (is_even && tokens_each != 0) {
    const std::size_t keys_before = std::min(first * blocks_each, stored.extra_keys.size());
    const auto tokens = std::span(stored.tokens).subspan(first * tokens_each, count * tokens_each);
    hash_blocks(tokens, in.key().block_size, in.seed(), locals_, std::span(stored.extra_keys).subspan(keys_before));
  }

  engine_hash parent = stored.parent ? name_in({}, *stored.parent, stored.scope.group) : engine_hash{};
  bool has_parent = stored.parent.has_value();
  if (first != 0) {
    parent = name_in(key, stored.hashes[first - 1], stored.scope.group);
    has_parent = true;
  }
  for (std::size_t i = 0; i < count; ++i) {
    seen.name = name_in(key, stored.hashes[first + i], stored.scope.group);
    seen.object = stored.hashes.size() == 1 && !stored.scope.object_key.empty() ? object : piece_of(object, seen.home, seen.name);
    if (!locals_.empty()) {
      seen.locals = std::span(locals_).subspan(i * blocks_each, blocks_each);
      seen.parent = has_parent ? &parent : nullptr;
    }
    joiner_.put(seen, mask_of(medium), false);
    parent = seen.name;
    has_parent = true;
  }
}

void pool_applier::remove(const removed_event& removed, std::span<const engine_hash> names, media_mask from,
                          std::vector<engine_hash>& unknown, apply_tally& tally) {
  tally_ = &tally;
  unknown.clear();
  const pool_key key = parse_pool_key(removed.scope.object_key);
  const pool_joiner::sighting seen = sighting_of(removed.scope, key);
  const bool has_key = !removed.scope.object_key.empty();
  for (const engine_hash told : names) {
    const engine_hash name = name_in(key, told, removed.scope.group);
    if (has_key && removed.hashes.size() == 1 && joiner_.remove(seen.object, from)) continue;
    if (has_key && joiner_.remove(piece_of(seen.object, seen.home, name), from)) continue;
    // Without a key the word is about the block. With one that nobody has heard of, it may be about what was told without: one stream may
    // speak both ways.
    const bool is_known = has_key ? joiner_.remove(piece_of(object_of({}, {}, writer_of({}, removed.scope)), seen.home, name), from)
                                  : joiner_.remove_block(seen.home, name, from);
    if (!is_known) unknown.push_back(told);
  }
}

bool pool_applier::keeps(engine_hash name, media_mask on, const partition* only) const {
  if (only == nullptr) return joiner_.keeps(name, on, std::nullopt);
  const auto known = std::ranges::find(homes_, only, [](const home_entry& each) { return each.in.get(); });
  const bool has_objects = known != homes_.end();
  return joiner_.keeps(name, on, has_objects ? static_cast<std::uint16_t>(known - homes_.begin()) : pool_joiner::no_home);
}

void pool_applier::apply(const object_event& said, medium_id medium, apply_tally& tally) {
  tally_ = &tally;
  using change = object_event::change;
  const pool_key key = parse_pool_key(said.scope.object_key);
  event_scope scope = said.scope;
  if (said.what == change::updated || !said.replicas.empty()) scope.block_size = 0;  // of the first format, which counts bytes
  pool_joiner::sighting seen = sighting_of(scope, key);
  media_mask on = 0;
  for (const object_replica& each : said.replicas) on = static_cast<media_mask>(on | mask_of(each.medium));
  const bool is_listed = said.what == change::updated || on != 0;
  if (said.what == change::stored && on == 0) on = mask_of(medium);
  if (said.what == change::removed) on = 0;
  if (on == 0) {
    const bool is_one_medium = said.what == change::removed && !said.all_media;
    const bool is_known = joiner_.knows(seen.object);
    (void)joiner_.remove(seen.object, is_one_medium ? mask_of(medium) : all_media);
    if (!is_known && key.form == key_form::opaque) ++tally.unplaced;
    return;
  }
  const bool has_name = said.name || key.form != key_form::opaque;
  if ((!has_name && said.tokens.empty()) || (said.what == change::updated && joiner_.knows(seen.object))) {
    if (!joiner_.knows(seen.object)) ++tally.unplaced;
    return joiner_.move(seen.object, on, is_listed);
  }
  if (seen.home == pool_joiner::no_home) {
    ++tally.skipped;
    return;
  }
  const partition& in = *homes_[seen.home].in;
  locals_.clear();
  const bool is_whole = !said.tokens.empty() && said.tokens.size() % in.key().block_size == 0;
  if (is_whole) hash_blocks(said.tokens, in.key().block_size, in.seed(), locals_);
  if (!has_name && !is_whole) {
    ++tally.unplaced;
    return;
  }
  const engine_hash told = said.name ? *said.name : key.form == key_form::opaque ? engine_hash{seen.object} : name_of(key, digests_);
  seen.name = name_in(key, told, scope.group);
  seen.locals = locals_;
  const engine_hash parent = said.parent ? name_in({}, *said.parent, scope.group) : engine_hash{};
  if (said.parent) seen.parent = &parent;
  joiner_.put(seen, on, is_listed);
}

bool pool_applier::clear_some(media_mask which, std::span<const partition* const> only, std::size_t budget, apply_tally& tally) {
  tally_ = &tally;
  if (only.empty()) return joiner_.clear_some(which, {}, budget);
  const auto is_among = [&](std::uint16_t number) { return std::ranges::find(only, homes_[number].in.get()) != only.end(); };
  return joiner_.clear_some(which, is_among, budget);
}

bool pool_applier::forget_homes() {
  if (!joiner_.is_empty()) return false;
  homes_.erase(std::next(homes_.begin()), homes_.end());
  boards_.erase(std::next(boards_.begin()), boards_.end());
  return true;
}

void pool_applier::collect_homes(std::set<const partition*>& busy) const {
  for (std::size_t i = 0; i < homes_.size(); ++i) {
    if (homes_[i].in && (i == 0 || joiner_.uses(static_cast<std::uint16_t>(i)))) busy.insert(homes_[i].in.get());
  }
}

void pool_applier::keep_homes(const std::set<const partition*>& busy) {
  std::set<std::size_t> used;
  for (std::size_t i = 0; i < homes_.size(); ++i) {
    if (i != 0 && !busy.contains(homes_[i].in.get())) homes_[i] = {};
    if (homes_[i].in) used.insert(homes_[i].board);
  }
  // Nobody is watched on a board without a home, so nothing more comes from there.
  for (std::size_t b = 0; b < boards_.size(); ++b) {
    if (!used.contains(b)) boards_[b] = {};
  }
}

bool pool_applier::catch_up_some(std::size_t budget, apply_tally& tally) {
  tally_ = &tally;
  for (std::size_t b = 0; b < boards_.size(); ++b) {
    while (boards_[b].names) {
      if (boards_[b].next == boards_[b].news.size()) {
        boards_[b].inbox->take(boards_[b].news);
        boards_[b].next = 0;
        if (boards_[b].news.empty()) break;
      }
      if (budget-- == 0) return false;
      const name_listener::news what = boards_[b].news[boards_[b].next++];
      for (std::size_t i = 0; i < homes_.size(); ++i) {
        if (!homes_[i].in || homes_[i].board != b) continue;
        const bool is_of_home = what.whose == homes_[i].in->adapter();
        if (!is_of_home && what.whose != name_board::anybodys) continue;
        joiner_.tell(static_cast<std::uint16_t>(i), what.name, is_of_home, what.means);
      }
    }
  }
  return joiner_.refresh_some(budget);
}

void pool_applier::names_of(const partition_key& home, std::span<const seq_hash> blocks, std::vector<named_block>& into) const {
  std::vector<engine_hash> names;
  for (std::size_t number = 0; number < homes_.size(); ++number) {
    if (!homes_[number].in || homes_[number].in->key() != home) continue;
    for (std::size_t i = 0; i < blocks.size(); ++i) {
      names.clear();
      joiner_.names_of(static_cast<std::uint16_t>(number), blocks[i], names);
      for (const engine_hash name : names) into.push_back({static_cast<std::uint32_t>(i), name});
    }
  }
}

bool pool_applier::take_questions(std::vector<name_question>& into, std::size_t most) {
  bool is_more = false;
  for (board_entry& each : boards_) {
    const std::size_t count = std::min(most, each.questions.size());
    if (count == 0) continue;
    const auto first = each.questions.end() - static_cast<std::ptrdiff_t>(count);
    into.push_back({each.names, {first, each.questions.end()}});
    each.questions.erase(first, each.questions.end());
    is_more = is_more || !each.questions.empty();
  }
  return is_more;
}

}  // namespace kvc::core

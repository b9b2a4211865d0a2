#include "core/snapshot_loader.hpp"

#include <algorithm>
#include <iterator>
#include <limits>
#include <span>
#include <utility>

#include "core/quiescence.hpp"

namespace kvc::core {
namespace {

/// Whether `count` elements from `first` on, at least one, are there.
bool is_within(std::uint32_t first, std::uint32_t count, std::size_t size) noexcept {
  return count != 0 && first <= size && count <= size - first;
}

bool is_medium(medium_id medium) noexcept {
  return static_cast<std::size_t>(medium) < max_media;
}

constexpr std::size_t most_homes = 0xFFFF;

}  // namespace

snapshot_loader::~snapshot_loader() {
  const quiescent_scope working;
  for (const known_path& path : paths_) {
    for (std::size_t i = path.first_piece; i < path.end_piece; ++i) into_->runs_of(homes_[path.home]).leave(pieces_[i].blocks.in);
  }
}

void snapshot_loader::add_home(std::shared_ptr<partition> home) {
  if (homes_.size() < most_homes) homes_.push_back(into_->home_index(home));
}

error_code snapshot_loader::load(const dump_slice& slice, apply_tally& tally) {
  const quiescent_scope working;
  const auto load_all = [&](const auto& records, auto load_one) {
    return std::ranges::all_of(records, [&](const auto& told) { return (this->*load_one)(slice, told, tally); });
  };
  const bool is_sound = load_all(slice.waiting, &snapshot_loader::load_waiting) && load_all(slice.paths, &snapshot_loader::load_path) &&
                        load_all(slice.parts, &snapshot_loader::load_part) && load_all(slice.odd_names, &snapshot_loader::load_name);
  return is_sound ? error_code() : error_code(errc::malformed_dump);
}

bool snapshot_loader::load_path(const dump_slice& slice, const dump_slice::path& told, apply_tally& tally) {
  const bool is_root = told.parent == dump_slice::no_path;
  if (told.number != paths_.size() || told.home >= homes_.size() || !is_within(told.first_local, told.count, slice.locals.size()))
    return false;
  if (!is_root &&
      (told.parent >= paths_.size() || paths_[told.parent].home != told.home || told.parent_offset >= paths_[told.parent].count)) {
    return false;
  }
  run_place behind;
  bool has_place = true;
  if (!is_root) {
    has_place = told.parent_offset < paths_[told.parent].placed;
    if (has_place) {
      const piece& parent = *piece_of(paths_[told.parent], told.parent_offset);
      behind = {parent.blocks.in, parent.blocks.start + (told.parent_offset - parent.offset)};
    }
  }
  known_path& path = paths_.emplace_back(known_path{pieces_.size(), pieces_.size(), told.count, 0, told.home});
  const std::span<const local_hash> locals = std::span(slice.locals).subspan(told.first_local, told.count);
  run_store& runs = into_->runs_of(homes_[told.home]);
  while (has_place && path.placed < told.count) {
    const run_stretch found = runs.follow(behind, locals.subspan(path.placed));
    has_place = found.in != nullptr;
    if (!has_place) break;
    pieces_.push_back({found, path.placed});
    path.end_piece = pieces_.size();
    path.placed += found.count;
    behind = {found.in, found.start + found.count - 1};
  }
  tally.skipped += told.count - path.placed;
  return true;
}

std::vector<snapshot_loader::piece>::const_iterator snapshot_loader::piece_of(const known_path& path, std::uint32_t offset) const {
  const auto first = pieces_.begin() + static_cast<std::ptrdiff_t>(path.first_piece);
  const auto end = pieces_.begin() + static_cast<std::ptrdiff_t>(path.end_piece);
  return std::prev(std::upper_bound(first, end, offset, [](std::uint32_t sought, const piece& each) { return sought < each.offset; }));
}

bool snapshot_loader::load_part(const dump_slice& slice, const dump_slice::part& told, apply_tally& tally) {
  if (told.path >= paths_.size() || !is_medium(told.medium) || !is_within(told.first_name, told.count, slice.names.size())) return false;
  const known_path& path = paths_[told.path];
  if (!is_within(told.offset, told.count, path.count)) return false;
  const auto names = std::span(slice.names).subspan(told.first_name, told.count);
  into_->holdings_.prefetch(into_->space_, names);
  const std::uint32_t end = std::min(told.offset + told.count, path.placed);
  for (std::uint32_t at = told.offset; at < end;) {
    const piece& in = *piece_of(path, at);
    const std::uint32_t skip = at - in.offset;
    const run_stretch blocks{in.blocks.in, in.blocks.start + skip, std::min(in.blocks.count - skip, end - at)};
    into_->hold_stretch(blocks, names.subspan(at - told.offset, blocks.count), homes_[path.home], told.medium, tally);
    at += blocks.count;
  }
  std::size_t joins = std::numeric_limits<std::size_t>::max();
  (void)into_->join_some(joins, tally);
  return true;
}

bool snapshot_loader::is_copy(const dump_slice::copy& told) const {
  if (told.count == 0 || !is_medium(told.medium) || told.home >= homes_.size()) return false;
  if (told.path == dump_slice::no_path) return true;
  return told.path < paths_.size() && paths_[told.path].home == told.home && told.offset < paths_[told.path].count;
}

bool snapshot_loader::load_name(const dump_slice& slice, const dump_slice::odd_name& told, apply_tally& tally) {
  if (!is_within(told.first_copy, told.count, slice.copies.size())) return false;
  const auto all = std::span(slice.copies).subspan(told.first_copy, told.count);
  if (!std::ranges::all_of(all, [&](const auto& each) { return is_copy(each); })) return false;
  forget(told.name, tally);
  for (const dump_slice::copy& each : all) {
    lane_blocks::place where;
    where.home = homes_[each.home];
    if (each.path == dump_slice::no_path) {
      where.block = each.block;
    } else if (each.offset < paths_[each.path].placed) {
      const piece& in = *piece_of(paths_[each.path], each.offset);
      where.where = {in.blocks.in, in.blocks.start + (each.offset - in.offset)};
    } else {
      continue;  // counted with its path
    }
    (void)into_->put(told.name, where, each.medium, into_->options_.copy_counting ? each.count : 1, tally);
  }
  return true;
}

void snapshot_loader::forget(engine_hash name, apply_tally& tally) {
  if (!into_->any_place(name)) return;
  for (unsigned medium = 0; medium < max_media; ++medium) into_->leave_known_place(name, static_cast<medium_id>(medium), false, tally);
}

bool snapshot_loader::load_waiting(const dump_slice& slice, const dump_slice::waiting_name& told, apply_tally&) {
  if (told.home >= homes_.size() || told.count > max_media) return false;
  if (!is_within(told.first_copy, told.count, slice.waiting_copies.size())) return false;
  const auto all = std::span(slice.waiting_copies).subspan(told.first_copy, told.count);
  if (!std::ranges::all_of(all, [](const auto& each) { return each.count != 0 && is_medium(each.medium); })) return false;
  if (late_.waiting.size() >= into_->ages_->most()) return true;  // no stream has more; a longer list is none of ours
  dump_slice::waiting_name kept = told;
  kept.first_copy = static_cast<std::uint32_t>(late_.waiting_copies.size());
  late_.waiting.push_back(kept);
  late_.waiting_copies.insert(late_.waiting_copies.end(), all.begin(), all.end());
  return true;
}

void snapshot_loader::finish(apply_tally& tally) {
  for (const dump_slice::waiting_name& each : late_.waiting) wait(late_, each, tally);
  late_.clear();
}

/// Whether a name that waited is held on a medium. By the standard it may be that of an equal block in another partition, which tells
/// nothing.
bool snapshot_loader::has_found_place(const dump_slice::waiting_name& told, medium_id medium) const {
  const quiescent_scope reading;
  const auto is_its_own = [&](const lane_blocks::place& where) {
    return !told.parent || where.home == homes_[told.home] || !into_->says_place(told.name, where);
  };
  if (const lane_blocks::copies* const odd = into_->odd_.find(told.name); odd != nullptr) {
    return std::ranges::any_of(*odd, [&](const lane_blocks::copy& each) { return each.medium == medium && is_its_own(each.where); });
  }
  const auto hit = into_->holdings_.find_plain_on(into_->space_, told.name, medium);
  if (hit.which == lane_holdings::none) return false;
  const auto& in = into_->holdings_.at(hit.which);
  return is_its_own({{in.in, hit.offset}, {}, in.home});
}

void snapshot_loader::wait(const dump_slice& slice, const dump_slice::waiting_name& told, apply_tally& tally) {
  store_command command;
  command.home = into_->homes_[homes_[told.home]];
  command.link = told.parent ? store_link::parent : store_link::by_name;
  command.parent = told.parent.value_or(engine_hash{});
  command.names = std::span(&told.name, 1);
  if (told.parent) command.locals = std::span(&told.local, 1);
  for (const auto& [medium, count] : std::span(slice.waiting_copies).subspan(told.first_copy, told.count)) {
    if (has_found_place(told, medium)) continue;  // while the dump was made
    command.medium = medium;
    into_->store(command, tally);
    lane_blocks::orphan* const lost = into_->waiting_.find(told.name);
    if (lost == nullptr || !into_->options_.copy_counting) continue;
    auto& copies = lost->copies;
    const auto kept = std::ranges::find(copies, medium, &std::pair<medium_id, std::uint32_t>::first);
    if (kept != copies.end()) kept->second = count;
  }
}

}  // namespace kvc::core

#include "tests/support/index_comparison.hpp"

#include <algorithm>
#include <cstdint>
#include <iterator>
#include <ostream>
#include <vector>

#include "core/block_hasher.hpp"
#include "tests/support/placed_model.hpp"

namespace kvc::test {

using namespace kvc::core;

namespace {

constexpr worker_id stranger{0xFFFF'FFF0};  // nobody: what the shared pools alone give
constexpr media_mask device_and_host = mask_of(medium_id::gpu) | mask_of(medium_id::cpu);

void expect(std::uint64_t got, std::uint64_t wanted, worker_id who, const char* what, std::ostream& out) {
  if (got != wanted) out << "\n  worker " << who.get() << ' ' << what << ": " << got << ", model " << wanted;
}

void compare_depths(const worker_depth& got, worker_id who, const std::vector<media_mask>& usable, std::ostream& out) {
  expect(got.any, strict_model::depth(usable, all_media), who, "any", out);
  expect(got.device_or_host, strict_model::depth(usable, device_and_host), who, "device or host", out);
  for (std::size_t i = 0; i < max_media; ++i) {
    expect(got.on[i], strict_model::depth(usable, mask_of(static_cast<medium_id>(i))), who, "one medium", out);
  }
}

}  // namespace

void ask(const partition_view& home, std::span<const local_hash> query, bool by_sequence, media_mask media, match_result& out) {
  match_scope scope = home.scope;
  scope.media = media;
  const prefix_index& index = home.partition->index();
  if (!by_sequence) {
    index.match(query, scope, out);
    return;
  }
  std::vector<seq_hash> rolled;
  roll_from_root(query, test_seed, rolled);
  index.match(rolled, scope, out);
}

template <class Model>
void compare_members(const partition_view* home, const Model& model, std::size_t partition, std::ostream& out) {
  std::vector<worker_id> members;
  if (home != nullptr) std::ranges::transform(home->members, std::back_inserter(members), &member::id);
  std::ranges::sort(members);
  if (members != model.members(partition)) out << "\n  members of partition " << partition;
  if (home != nullptr) expect(home->partition->index().count_held(), model.distinct_blocks(partition), stranger, "distinct blocks", out);
}

template <class Model>
void compare_query(const partition_view* home, const Model& model, std::size_t partition, std::span<const local_hash> query,
                   media_mask filter, std::ostream& out) {
  if (home == nullptr) return;
  match_result whole;
  match_result by_sequence;
  match_result filtered;
  ask(*home, query, false, all_media, whole);
  ask(*home, query, true, all_media, by_sequence);
  ask(*home, query, false, filter, filtered);
  std::vector<worker_id> rows;
  auto members = model.members(partition);
  for (const worker_id who : members) {
    if (model.has_row(partition, who, all_media, query)) rows.push_back(who);
  }
  if (!std::ranges::equal(rows, whole.workers, {}, {}, &worker_depth::worker)) out << "\n  rows of partition " << partition;
  members.push_back(stranger);
  for (const worker_id who : members) {
    auto usable = model.usable(partition, who, query);
    compare_depths(whole.of(who), who, usable, out);
    compare_depths(by_sequence.of(who), who, usable, out);
    for (media_mask& each : usable) each = static_cast<media_mask>(each & filter);
    compare_depths(filtered.of(who), who, usable, out);
  }
}

template void compare_members(const partition_view*, const strict_model&, std::size_t, std::ostream&);
template void compare_members(const partition_view*, const placed_model&, std::size_t, std::ostream&);
template void compare_query(const partition_view*, const strict_model&, std::size_t, std::span<const local_hash>, media_mask,
                            std::ostream&);
template void compare_query(const partition_view*, const placed_model&, std::size_t, std::span<const local_hash>, media_mask,
                            std::ostream&);

}  // namespace kvc::test

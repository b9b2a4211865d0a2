// Compares a partition of the real index with the strict model, query by query.
#pragma once

#include <cstddef>
#include <iosfwd>
#include <span>

#include "core/catalog.hpp"
#include "core/ids.hpp"
#include "core/match.hpp"
#include "core/medium.hpp"
#include "tests/support/strict_model.hpp"

namespace kvc::test {

/// Asks a partition by local hashes, or by the sequence hashes they roll to.
void ask(const core::partition_view& home, std::span<const core::local_hash> query, bool by_sequence, core::media_mask media,
         core::match_result& out);

/// Writes a line to `out` for all that differs in members and in the number of blocks. `home` may be null: nobody has joined.
/// `Model` is strict_model or placed_model, here and below.
template <class Model>
void compare_members(const core::partition_view* home, const Model& model, std::size_t partition, std::ostream& out);

/// The same for one query: the rows; every depth of every member and of a worker that is none, asked by local hashes, by sequence
/// hashes, and by local hashes on the media of `filter` only.
template <class Model>
void compare_query(const core::partition_view* home, const Model& model, std::size_t partition, std::span<const core::local_hash> query,
                   core::media_mask filter, std::ostream& out);

}  // namespace kvc::test

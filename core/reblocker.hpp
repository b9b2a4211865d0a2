// Blocks of another size than registered, taken apart or joined: an engine's pages to blocks of the index.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <set>
#include <span>
#include <unordered_map>
#include <utility>
#include <vector>

#include <boost/container/flat_set.hpp>
#include <boost/container/small_vector.hpp>

#include "core/catalog.hpp"
#include "core/ids.hpp"
#include "core/lane_blocks.hpp"
#include "core/medium.hpp"
#include "core/spread.hpp"
#include "core/store_command.hpp"

namespace kvc::core {

/// Pages: what a publisher calls a block where its blocks have another size than its partition's.
struct page_stretch {
  std::shared_ptr<partition> home;
  medium_id medium{};
  std::optional<engine_hash> parent;      ///< page, or block of the ordinary size, before the first
  std::span<const engine_hash> names;     ///< one per page, in order
  std::span<const std::uint32_t> tokens;  ///< exactly `page_tokens` per page
  std::uint32_t page_tokens = 0;
};

/// The pages of one worker, and the blocks made of them.
///
/// Story: a chunk of 256 tokens holds 16 blocks of 16; four pages of 16 hold one block of 64. A block ends inside a page or with it. In the
/// second case it bears the page's name, so that whatever hangs behind the page finds its place; every other block gets a name of its own,
/// derived from the page it ends in. Tokens behind the last block of a page are kept until a page behind it completes them. A block stands
/// on a medium while all pages that carry its tokens are there: the first removal of one of them takes it away, and it comes back when the
/// page it ends in is stored again. A page whose parent is unknown is taken to begin on a boundary of blocks, which is safe, because a name
/// that is no boundary never gets a place, and what hangs behind it waits in vain.
/// Copies are counted here, per page and medium; lane_blocks sees each block once.
/// Bounds: `max_pages`; what is beyond is skipped and counted. Lane: one owner, that of the blocks.
class reblocker {
 public:
  static constexpr std::size_t default_max_pages = 262'144;

  reblocker(lane_blocks& blocks, bool copy_counting, std::size_t max_pages = default_max_pages)
      : blocks_(&blocks), copy_counting_(copy_counting), max_pages_(max_pages) {}

  void store(const page_stretch& pages, apply_tally& tally);
  /// A copy of a page without its tokens. False: the name is no page's.
  [[nodiscard]] bool store_copy(engine_hash name, medium_id medium, apply_tally& tally);
  /// False: the name is no page's on this medium.
  [[nodiscard]] bool remove(engine_hash name, medium_id medium, apply_tally& tally);
  /// The blocks on these media, in these partitions (in all when empty), have been cleared: so are their pages. One pass; pages are
  /// bounded.
  void forget(media_mask which, std::span<const partition* const> only);

  /// The names of the blocks that a page holds in full and alone, in order. False, and nothing told, when it is no page, or shares a block
  /// with its neighbours.
  [[nodiscard]] bool names_in(engine_hash name, std::vector<engine_hash>& out) const;

  [[nodiscard]] std::size_t pages() const noexcept { return pages_.size(); }
  /// Adds the partitions that have pages.
  void collect_homes(std::set<const partition*>& busy) const;

 private:
  struct page {
    std::shared_ptr<partition> home;
    std::optional<engine_hash> parent;
    std::optional<engine_hash> boundary;  ///< name of the last block that has ended by the end of this page; absent: none, from the root on
    std::vector<std::uint32_t> rest;      ///< its own tokens behind that block
    std::uint32_t pending = 0;            ///< all tokens behind that block, those of pages before included
    std::uint32_t borrowed = 0;           ///< tokens its first block has from pages before
    std::uint32_t blocks = 0;             ///< that end in this page
    media_mask lacks_first = 0;           ///< media it is on without its first block, because a page before is missing there
    boost::container::small_vector<std::pair<medium_id, std::uint32_t>, 1> copies;
    boost::container::flat_set<engine_hash> children;  ///< pages that have borrowed from this one, or may yet
  };

  [[nodiscard]] static engine_hash block_name(engine_hash name, const page& in, std::uint32_t index) noexcept;
  [[nodiscard]] static bool is_on(const page& which, medium_id medium) noexcept;
  /// True when the page was not on the medium before.
  [[nodiscard]] bool add_copy(page& to, medium_id medium) const;
  /// The tokens that a page begins its first block with, when all pages that carry them are there on this medium.
  [[nodiscard]] bool collect_borrowed(engine_hash name, const page& of, medium_id medium, std::vector<std::uint32_t>& out);
  [[nodiscard]] static bool is_same_page(const page& known, const std::optional<engine_hash>& parent, const page_stretch& from);
  [[nodiscard]] page* open_page(engine_hash name, const std::optional<engine_hash>& parent, const page_stretch& from,
                                std::span<const std::uint32_t> tokens);
  void store_page(engine_hash name, const std::optional<engine_hash>& parent, const page_stretch& from,
                  std::span<const std::uint32_t> tokens, apply_tally& tally);
  /// Makes `command_` of `tokens_`: the blocks of a page from `begin` on.
  void prepare_blocks(engine_hash name, const page& in, std::uint32_t begin, medium_id medium);
  void take_first_blocks_behind(engine_hash name, medium_id medium, apply_tally& tally);
  void take_block(engine_hash name, medium_id medium, apply_tally& tally);
  void erase(engine_hash name);

  lane_blocks* blocks_;
  bool copy_counting_;
  std::size_t max_pages_;
  std::unordered_map<engine_hash, page, name_spread> pages_;
  std::vector<std::uint32_t> tokens_;  ///< reused between pages
  std::vector<local_hash> locals_;
  std::vector<engine_hash> names_;
  store_command command_;
};

}  // namespace kvc::core

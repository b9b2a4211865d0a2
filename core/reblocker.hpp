// Blocks of another size than registered, taken apart or joined: an engine's pages to blocks of the index.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <set>
#include <span>
#include <utility>
#include <vector>

#include <boost/container/small_vector.hpp>

#include "core/catalog.hpp"
#include "core/ids.hpp"
#include "core/lane_blocks.hpp"
#include "core/medium.hpp"
#include "core/name_map.hpp"
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
/// Copies are counted here, per page and medium; lane_blocks sees each block once. A page that is on no medium any more stays known, by
/// name only, while others have borrowed from it.
/// Everything that may take long is done in parts: one page may hold thousands of blocks, and lend to any number of pages.
/// Bounds: `max_pages`; what is beyond is skipped and counted. Lane: one owner, that of the blocks.
class reblocker {
 public:
  static constexpr std::size_t default_max_pages = 262'144;

  reblocker(lane_blocks& blocks, bool copy_counting, std::size_t max_pages = default_max_pages)
      : blocks_(&blocks), copy_counting_(copy_counting), max_pages_(max_pages) {}

  /// Stores pages from number `next` on, about `budget` blocks of them, and moves it on. True when all are stored; until then the same
  /// stretch must be passed again, and nothing else may be called that changes anything.
  [[nodiscard]] bool store_some(const page_stretch& pages, std::size_t& next, std::size_t budget, apply_tally& tally);
  /// A copy of a page without its tokens. False: the name is no page's.
  [[nodiscard]] bool store_copy(engine_hash name, medium_id medium, apply_tally& tally);
  /// Takes away the blocks that end in a page; what pages behind it have borrowed `settle` takes. False: the name is no page's on this
  /// medium.
  [[nodiscard]] bool remove(engine_hash name, medium_id medium, apply_tally& tally);
  /// Takes away blocks that lack tokens of pages removed, looking at `budget` pages. True when there are none left; until then nothing may
  /// be stored or forgotten.
  [[nodiscard]] bool settle(std::size_t budget, apply_tally& tally);
  /// Forgets the pages on these media, in these partitions (in all when empty), whose blocks are cleared by somebody else. Looks at about
  /// `budget` pages. True when done; until then it must be called again, and nothing else may change anything.
  [[nodiscard]] bool forget_some(media_mask which, std::span<const partition* const> only, std::size_t budget);
  /// The event under way is left in the middle. To be called before everything is forgotten, in as many passes as that takes: the first
  /// may be the rest of one that was begun.
  void abandon() noexcept { bereft_.clear(); }

  /// Blocks that end in a page; 0 when the name is no page's.
  [[nodiscard]] std::size_t blocks_in(engine_hash name) const;

  /// The names of the blocks that a page holds in full and alone, in order. False, and nothing told, when it is no page, or shares a block
  /// with its neighbours.
  [[nodiscard]] bool names_in(engine_hash name, std::vector<engine_hash>& out) const;

  /// Those that are only known by name included.
  [[nodiscard]] std::size_t pages() const noexcept { return pages_.size(); }
  /// Adds the partitions that have pages.
  void collect_homes(std::set<const partition*>& busy) const;

 private:
  struct page {
    engine_hash name{};
    std::shared_ptr<partition> home;  ///< null: known by name only
    std::optional<engine_hash> parent;
    std::optional<engine_hash> boundary;  ///< name of the last block that has ended by the end of this page; absent: none, from the root on
    std::vector<std::uint32_t> rest;      ///< its own tokens behind that block
    std::uint32_t pending = 0;            ///< all tokens behind that block, those of pages before included
    std::uint32_t borrowed = 0;           ///< tokens its first block has from pages before
    std::uint32_t blocks = 0;             ///< that end in this page
    media_mask lacks_first = 0;           ///< media it is on without its first block, because a page before is missing there
    boost::container::small_vector<std::pair<medium_id, std::uint32_t>, 1> copies;
    page* lender = nullptr;     ///< its parent, once this has borrowed from it, or may yet
    page* borrowers = nullptr;  ///< the first of those whose lender this is
    page* previous = nullptr;   ///< of the same lender
    page* next = nullptr;
  };
  /// Pages whose first block may lack tokens that lay in a page before.
  struct bereft {
    page* next = nullptr;  ///< from this one on, of one lender
    medium_id medium{};
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
  /// False: what stood under the name before has to be settled first.
  [[nodiscard]] bool store_page(engine_hash name, const std::optional<engine_hash>& parent, const page_stretch& from,
                                std::span<const std::uint32_t> tokens, apply_tally& tally);
  /// Makes `command_` of `tokens_`: the blocks of a page from `begin` on.
  void prepare_blocks(engine_hash name, const page& in, std::uint32_t begin, medium_id medium);
  void take_block(engine_hash name, medium_id medium, apply_tally& tally);
  /// Nothing happens when it is linked already: a page has one parent.
  static void link(page& borrower, page& lender) noexcept;
  void unlink(page& borrower);
  /// Of a page that is on no medium any more.
  void let_go(page& gone);

  lane_blocks* blocks_;
  bool copy_counting_;
  std::size_t max_pages_;
  name_map<page> pages_;
  std::vector<bereft> bereft_;           ///< of the removal under way
  std::optional<name_walk> forgetting_;  ///< how far it has come
  std::vector<std::uint32_t> tokens_;  ///< reused between pages
  std::vector<local_hash> locals_;
  std::vector<engine_hash> names_;
  store_command command_;
};

}  // namespace kvc::core

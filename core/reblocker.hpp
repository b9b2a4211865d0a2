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
/// derived from the page it ends in. A page keeps its tokens while a block of them may have to be made anew: it shares one with its
/// neighbours, or nobody knows yet where it begins. A block stands on a medium while all pages that carry its tokens are there, whatever
/// the order they come in. A page whose parent is unknown is taken to begin on a boundary of blocks until the parent is told of, and is
/// taken apart again if it does not; until then it cannot be matched, since its parent's name has no place. Copies are counted here, per
/// page and medium; lane_blocks sees each block once. A page that is on no medium is known by name only, while others hang behind it. A
/// name means one page. Told again with the same tokens, and without a parent or behind one that nobody has told of, it keeps the place it
/// has, since connectors leave parents out and name wrong ones. One that was told of without a parent is moved, with all of its copies,
/// when a parent is told that has a place: at once by a telling on another medium, or when one that was unknown comes. Otherwise a
/// telling with another place, or with other tokens, is about another page, and the newest counts.
/// Everything that may take long is done in parts: one page may hold thousands of blocks, and any number may hang behind it.
/// Bounds: `most`. Near them, pages are forgotten whose blocks have all been evicted or given up, since some publishers never tell of a
/// removal; what is beyond is not taken in, and counted. Lane: one owner, that of the blocks.
class reblocker {
 public:
  struct bounds {
    std::size_t pages = 1'048'576;    ///< some 260 bytes each
    std::size_t tokens = 16'777'216;  ///< kept
  };

  /// `blocks` tells it of those that join, as long as they both live.
  reblocker(lane_blocks& blocks, bool copy_counting, bounds most);
  reblocker(const reblocker&) = delete;
  reblocker& operator=(const reblocker&) = delete;

  /// Stores pages from number `next` on, about `budget` blocks of them, and moves it on. True when all are stored; until then the same
  /// stretch must be passed again, and nothing else may be called that changes anything.
  [[nodiscard]] bool store_some(const page_stretch& pages, std::size_t& next, std::size_t budget, apply_tally& tally);
  /// A copy of a page without its tokens; `settle` has to be called afterwards. False: the name is no page's.
  [[nodiscard]] bool store_copy(engine_hash name, medium_id medium, apply_tally& tally);
  /// Takes away the blocks that end in a page; `settle` has to be called afterwards. False: the name is no page's on this medium.
  [[nodiscard]] bool remove(engine_hash name, medium_id medium, apply_tally& tally);
  /// Brings the pages behind those that have come, gone or moved up to that, looking at about `budget` of them. True when all are; until
  /// then nothing may be stored or forgotten.
  [[nodiscard]] bool settle(std::size_t budget, apply_tally& tally);
  /// Forgets the pages on these media, in these partitions (in all when empty), whose blocks are cleared by somebody else. Looks at about
  /// `budget` pages. True when done; until then it must be called again, and nothing else may change anything.
  [[nodiscard]] bool forget_some(media_mask which, std::span<const partition* const> only, std::size_t budget);
  /// The event under way is left in the middle. To be called before everything is forgotten, in as many passes as that takes: the first
  /// may be the rest of one that was begun.
  void abandon() noexcept;

  /// Blocks that end in a page; 0 when the name is no page's.
  [[nodiscard]] std::size_t blocks_in(engine_hash name) const;
  /// The names of the blocks that a page holds in full and alone, in order. False, and nothing told, when it is no page, or shares a block
  /// with its neighbours.
  [[nodiscard]] bool names_in(engine_hash name, std::vector<engine_hash>& out) const;
  /// Whether a store of blocks of the registered size is about pages all the same: the first has been told of as one, or as the parent of
  /// one, or stands behind one that ends inside a block.
  [[nodiscard]] bool goes_on(const std::optional<engine_hash>& parent, engine_hash first, std::uint32_t block_tokens) const;

  /// Those that are known by name only included.
  [[nodiscard]] std::size_t pages() const noexcept { return pages_.size(); }
  /// Pages without a block of their own of which nobody knows where they begin.
  [[nodiscard]] std::size_t waiting() const noexcept { return waiting_; }
  /// Whether pages hang behind names nobody has told of.
  [[nodiscard]] bool is_short_of_parents() const noexcept { return known_by_name_ != 0; }
  /// Blocks of the registered size have been stored, which pages may hang behind; `settle` has to be called afterwards.
  void note_blocks(std::span<const engine_hash> names);
  /// Adds the partitions that have pages.
  void collect_homes(std::set<const partition*>& busy) const;

 private:
  /// Where a page begins.
  struct beginning {
    std::optional<engine_hash> behind;  ///< name of the last block that has ended before; absent: none, from the root on
    std::optional<seq_hash> place;      ///< of that block; absent as well where it is not known
    std::uint32_t borrowed = 0;         ///< tokens behind that block and before the page
    bool is_guess = false;              ///< the parent has not been told of, or its own beginning is a guess
    bool is_doubted = false;            ///< told of as the root, and since then behind a parent whose place is not known yet

    /// Whether a page that begins so must hear of what becomes of its parent.
    [[nodiscard]] bool hangs_on_parent() const noexcept { return is_guess || is_doubted || borrowed != 0; }
    friend bool operator==(const beginning&, const beginning&) = default;
  };
  struct page {
    engine_hash name{};
    std::shared_ptr<partition> home;    ///< null: known by name only
    std::optional<engine_hash> parent;  ///< page, or block of the ordinary size
    beginning begins;
    /// Where the block is, or would be, that begins in pages before and ends in this one; absent: not known.
    std::optional<seq_hash> first;
    boost::container::small_vector<std::uint32_t, 2> tokens;  ///< all of its own, or none: see `keeps_tokens`
    std::uint32_t size = 0;                                   ///< in tokens
    std::uint32_t blocks = 0;                                 ///< that end in this page
    std::uint32_t pending = 0;                                ///< tokens behind the last block, those of pages before included
    std::uint32_t episode = 0;                                ///< of settling, in which it was looked at last
    std::uint32_t looked_at = 0;                              ///< and what for
    std::uint32_t awaited = 0;                                ///< errands that stand before it
    media_mask lacks_first = 0;  ///< media it is on without its first block, because a page before is missing there
    boost::container::small_vector<std::pair<medium_id, std::uint32_t>, 1> copies;
    page* lender = nullptr;     ///< its parent, while this keeps tokens for its sake
    page* borrowers = nullptr;  ///< the first of those whose lender this is
    page* previous = nullptr;   ///< of the same lender
    page* next = nullptr;

    [[nodiscard]] bool is_held() const noexcept { return !copies.empty(); }
    [[nodiscard]] bool keeps_tokens() const noexcept { return begins.hangs_on_parent() || pending != 0; }
    [[nodiscard]] bool is_waiting() const noexcept { return begins.is_guess && blocks == 0; }
  };
  /// Pages of one lender to be looked at, from `next` on: whether their first blocks stand on a medium, or, without one, where they begin.
  struct errand {
    page* next = nullptr;
    std::optional<medium_id> medium;
  };
  /// What another telling of a page that is held is about.
  enum class retelling : std::uint8_t {
    in_place,     ///< the page where it is
    behind_told,  ///< the page, which is to stand behind the parent that is told now, or to wait for that where it is
    of_another,   ///< another page under its name
  };

  [[nodiscard]] static engine_hash block_name(const page& in, std::uint32_t index) noexcept;
  [[nodiscard]] static std::optional<engine_hash> last_block(const page& of) noexcept;
  [[nodiscard]] static bool is_on(const page& which, medium_id medium) noexcept;
  /// True when the page was not on the medium before.
  [[nodiscard]] bool add_copy(page& to, medium_id medium) const;
  [[nodiscard]] retelling judge(const page& known, const page_stretch& from, const std::optional<engine_hash>& parent,
                                std::span<const std::uint32_t> tokens);
  /// Whether it was told of with other tokens; false as well where nothing is left to tell by.
  [[nodiscard]] bool has_other_tokens(const page& known, std::span<const std::uint32_t> tokens);

  // Where pages begin.
  [[nodiscard]] beginning beginning_behind(const std::optional<engine_hash>& parent, const std::shared_ptr<partition>& home);
  [[nodiscard]] page* open_page(engine_hash name, const std::optional<engine_hash>& parent, const page_stretch& from,
                                std::span<const std::uint32_t> tokens, apply_tally& tally);
  /// False, and nothing has changed, when there is no room for its tokens.
  [[nodiscard]] bool place(page& which, const std::optional<engine_hash>& parent, const beginning& at,
                           std::span<const std::uint32_t> tokens);
  void move(page& which, const std::optional<engine_hash>& parent, const beginning& to, std::span<const std::uint32_t> tokens,
            apply_tally& tally);
  /// Brings a page up to where its parent says now that it begins. True when something has changed, and those behind it have been sent
  /// word.
  bool look_again(page& which, const std::optional<engine_hash>& parent, std::span<const std::uint32_t> tokens, apply_tally& tally);
  void drop_tokens(page& of) noexcept;
  void link(page& borrower);
  void unlink(page& borrower);
  /// Of a page that is on no medium any more.
  void let_go(page& gone);

  // Blocks of pages.
  /// False: what stood under the name before has to be settled first.
  [[nodiscard]] bool store_page(engine_hash name, const std::optional<engine_hash>& parent, const page_stretch& from,
                                std::span<const std::uint32_t> tokens, apply_tally& tally);
  /// Copies that were told of before the page was: as blocks they would be taken for the one that bears its name.
  void store_placeholders(engine_hash name, std::span<const std::pair<medium_id, std::uint32_t>> copies, apply_tally& tally);
  void store_blocks(page& of, medium_id medium, std::span<const std::uint32_t> tokens, apply_tally& tally);
  /// Makes blocks of `tokens_`, from number `begin` on; `before`, if it is known, is where the one before them is or would be.
  void store_prepared(const page& of, std::uint32_t begin, std::optional<seq_hash> before, medium_id medium, apply_tally& tally);
  /// The tokens that a page begins its first block with, when all pages that carry them are there on this medium; without one, on any each.
  [[nodiscard]] bool collect_borrowed(const page& of, std::optional<medium_id> medium, std::vector<std::uint32_t>& out);
  /// Where its first block would be, by the tokens that pages before have now.
  [[nodiscard]] std::optional<seq_hash> find_first(const page& of);
  /// Where the last block is, or would be, or the one before the page if none ends in it.
  [[nodiscard]] std::optional<seq_hash> place_of_last(const page& of);
  /// Where the block that is called so is held by anyone of the worker, in this partition.
  [[nodiscard]] std::optional<seq_hash> place_of(engine_hash name, const partition* home);
  /// Whether its first block stands is made to agree with what is there. False: no block ends in it.
  [[nodiscard]] bool check_first(page& of, medium_id medium, apply_tally& tally);
  void take_blocks(page& of, medium_id medium, apply_tally& tally);
  void store_anew(page& of, std::span<const std::uint32_t> tokens, apply_tally& tally);
  void take_block(engine_hash name, medium_id medium, apply_tally& tally);
  [[nodiscard]] bool was_evicted(const page& which);
  /// Whether none of its blocks is there any more, nor waits, and no page needs it to find its own.
  [[nodiscard]] bool has_gone(const page& which);
  /// Looks at some pages, others each time, and forgets those that have gone; not `kept`.
  void make_room(const std::optional<engine_hash>& kept, apply_tally& tally);

  /// A block of this name has a place now.
  void note_block(engine_hash name);
  void send_on(page& lender, std::optional<medium_id> medium);
  /// The errand goes on with another page, or ends.
  void turn_to(errand& each, page* next) noexcept;

  lane_blocks* blocks_;
  bool copy_counting_;
  bounds most_;
  name_map<page> pages_;
  std::size_t kept_tokens_ = 0;
  std::size_t waiting_ = 0;
  std::size_t known_by_name_ = 0;
  std::vector<errand> to_settle_;
  std::uint32_t episode_ = 0;
  std::optional<name_walk> forgetting_;  ///< how far it has come
  name_walk making_room_;                ///< the same
  std::vector<std::uint32_t> tokens_;    ///< reused between pages
  std::vector<local_hash> locals_;
  std::vector<engine_hash> names_;
  std::vector<seq_hash> rolled_;
};

}  // namespace kvc::core

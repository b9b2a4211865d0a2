// Every object of every store: its replicas, and the block it stands for, by backend, tenant and key.
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "core/ids.hpp"
#include "core/name_table.hpp"
#include "core/replica.hpp"
#include "core/slab.hpp"

namespace kvc::core {

/// A replica as events and answers have it.
struct replica_view {
  replica_kind kind = replica_kind::memory;
  replica_state state = replica_state::complete;
  std::string_view location;  ///< endpoint or path, in the store's words; "" when it is not known
};

/// Whether a key may be one at all: not empty, at most `longest` bytes, UTF-8 without control characters. Pure.
[[nodiscard]] bool is_object_key(std::string_view key, std::size_t longest) noexcept;

/// The objects of all stores, for `exist` and for bringing them to memory.
///
/// Story: stores have millions of objects, so a record is one cache line and its key is written down once, in a piece of the arena as long
/// as it; locations, which are few, are numbers. Objects of one owner (a tenant of a backend) form a list in the order in which they were
/// last known for sure, so that whoever reconciles with the store begins with the most doubtful ones. Objects that hold parts of one block
/// form a ring, which the block's name leads to. An object without replicas is not kept. Sizes are not kept: whoever moves an object reads
/// its size in the same answer as where it lies. Bounds: keys of at most `longest_key` bytes, `most_objects`, `most_owners`,
/// `most_replicas` each; what is beyond is refused or left out, and counted. Pure; one writer at a time, and nobody reads meanwhile.
/// Numbers of objects mean one object until it goes.
class object_table final : private named_records {
 public:
  struct options {
    std::size_t longest_key = 1'024;  ///< bytes
    std::size_t most_objects = 100'000'000;
    std::size_t most_locations = 65'536;  ///< different ones; objects beyond that have no location
    std::size_t most_owners = 4'096;      ///< tenants times backends, whose names come from events
  };
  static constexpr std::size_t most_replicas = 15;

  struct counters {
    std::uint64_t refused = 0;  ///< objects that were not taken: bad key, or no room
    std::uint64_t replicas_left_out = 0;
    std::uint64_t locations_left_out = 0;
  };

  explicit object_table(const options& with) : options_(with) {}
  ~object_table();
  object_table(const object_table&) = delete;
  object_table& operator=(const object_table&) = delete;

  /// The number of an owner, given out at its first mention; `no_record` when `most_owners` have objects. One that has none may have to
  /// give its number to another one.
  [[nodiscard]] std::uint32_t owner(std::string_view backend, std::string_view tenant);
  /// `no_record` when it has never been mentioned.
  [[nodiscard]] std::uint32_t find_owner(std::string_view backend, std::string_view tenant) const;

  /// The owners of a backend, one per tenant.
  [[nodiscard]] std::vector<std::uint32_t> owners_of(std::string_view backend) const;
  /// The tenant of an owner; the view is valid until the owner gives way.
  [[nodiscard]] std::string_view tenant_of(std::uint32_t owner) const;

  [[nodiscard]] bool is_key(std::string_view key) const noexcept { return is_object_key(key, options_.longest_key); }

  /// The number of an object; `no_record` when there is none.
  [[nodiscard]] std::uint32_t find(std::uint32_t owner, std::string_view key) const;
  /// The same for many keys, each in turn into `found`, which is as long: what one needs is fetched while others are looked at.
  void find_all(std::uint32_t owner, std::span<const std::string_view> keys, std::span<std::uint32_t> found) const;

  /// Whether an object of this key may have gone at `since_s` or later, known here or not. Never false where one has been told to; true by
  /// chance as well, for each one that has gone since once in 16,384, so whoever hears true asks again.
  [[nodiscard]] bool may_have_gone_since(std::uint32_t owner, std::string_view key, std::uint32_t since_s) const;

  /// The object has exactly these replicas now; without any it goes. It counts as known for sure at `now_s`. Where there are too many, one
  /// of each kind is kept before others are. Answers its number, `no_record` when it has gone, was never there or was refused.
  std::uint32_t set(std::uint32_t owner, std::string_view key, std::span<const replica_view> replicas, std::uint32_t now_s);
  /// The object has this replica besides those known; one of the same kind and location is replaced, and one of the same kind whose
  /// location is not known is the same one. As above, but that what was doubtful stays so: nothing is said of the others.
  std::uint32_t add(std::uint32_t owner, std::string_view key, const replica_view& replica, std::uint32_t now_s);
  /// The object has no replica of this kind any more; of no kind, when there is none given. One that is not known has gone all the same.
  void remove(std::uint32_t owner, std::string_view key, std::optional<replica_kind> kind, std::uint32_t now_s);
  /// The object holds (a part of) the block of this name.
  void set_block(std::uint32_t object, std::uint64_t block);
  /// Nothing is known for sure about the owner's objects any more.
  void doubt_all(std::uint32_t owner, std::uint32_t now_s) noexcept { owners_[owner].doubted_at = now_s; }
  /// The object is as good as known for sure now.
  void confirm(std::uint32_t object, std::uint32_t now_s) noexcept;
  /// The object has had its turn and need not be asked for before others, but if it was doubtful it still is.
  void put_off(std::uint32_t object, std::uint32_t now_s) noexcept;
  /// Nothing is known for sure about this object any more; it need not be asked for before others.
  void doubt(std::uint32_t object) noexcept { records_[object].is_doubted = true; }
  /// Something has been said of all that the owner may have, known here or not: it has gone, or some of its replicas have.
  void note_cleared(std::uint32_t owner, std::uint32_t now_s) noexcept { owners_[owner].cleared_at = now_s; }
  /// Forgets the objects of an owner, at most `budget` of them, at `now_s`. True when none is left.
  [[nodiscard]] bool clear_some(std::uint32_t owner, std::size_t budget, std::uint32_t now_s);
  /// The objects of a backend, or of one of its tenants, have no replica of these kinds any more. Looks at `budget` objects of the table
  /// from number `at` on, which it moves on; 0 is the first. True when none is left. Objects that come meanwhile may be spared. `tell`,
  /// if there is one, is called with each before it is changed.
  [[nodiscard]] bool clear_kinds_some(std::string_view backend, const std::optional<std::string>& tenant,
                                      std::span<const replica_kind> kinds, std::uint32_t& at, std::size_t budget, std::uint32_t now_s,
                                      const std::function<void(std::uint32_t object)>& tell = {});

  [[nodiscard]] replica_set replicas(std::uint32_t object) const noexcept;
  /// Calls `visit` for each replica; views are valid until the object changes.
  void each_replica(std::uint32_t object, const std::function<void(const replica_view&)>& visit) const;
  [[nodiscard]] std::string_view key(std::uint32_t object) const noexcept;
  [[nodiscard]] std::uint32_t owner_of(std::uint32_t object) const noexcept { return records_[object].owner; }
  /// When it was last known for sure, on the caller's clock in seconds; 0: never, or doubted since.
  [[nodiscard]] std::uint32_t known_at(std::uint32_t object) const noexcept {
    const record& of = records_[object];
    return of.known_at <= owners_[of.owner].doubted_at ? 0 : of.known_at;
  }
  /// When something was said of it last, or of all that its owner has, doubted since or not.
  [[nodiscard]] std::uint32_t heard_at(std::uint32_t object) const noexcept {
    const record& of = records_[object];
    return std::max(of.known_at, owners_[of.owner].cleared_at);
  }
  /// Nothing has told all of it since it was doubted.
  [[nodiscard]] bool is_doubted(std::uint32_t object) const noexcept { return records_[object].is_doubted || known_at(object) == 0; }
  /// The name of its block, if that is known.
  [[nodiscard]] std::optional<std::uint64_t> block_of(std::uint32_t object) const noexcept;
  /// One object of a block; `no_record` when there is none. `next_of_block` leads from each to another one, and at last to the first again.
  /// Their owners may differ.
  [[nodiscard]] std::uint32_t first_of_block(std::uint64_t block) const;
  [[nodiscard]] std::uint32_t next_of_block(std::uint32_t object) const noexcept { return records_[object].next_part; }

  /// The owner's object that has not been known for sure for longest; `no_record` when it has none.
  [[nodiscard]] std::uint32_t most_doubtful(std::uint32_t owner) const noexcept { return owners_[owner].oldest; }
  /// The next one in that order; `no_record` behind the last.
  [[nodiscard]] std::uint32_t next_doubtful(std::uint32_t object) const noexcept { return records_[object].newer; }
  /// How many objects an owner has.
  [[nodiscard]] std::size_t objects_of(std::uint32_t owner) const noexcept { return owners_[owner].objects; }

  [[nodiscard]] std::size_t size() const noexcept { return records_.size(); }
  /// Objects with a complete replica of this kind.
  [[nodiscard]] std::size_t with_complete(replica_kind kind) const noexcept { return complete_[static_cast<std::size_t>(kind)]; }
  [[nodiscard]] const counters& counts() const noexcept { return counts_; }
  [[nodiscard]] std::size_t bytes() const noexcept;

 private:
  /// Kind, state and number of a location in one word; see `packed`.
  using replica_word = std::uint32_t;
  static constexpr std::size_t inside = 3;

  struct record {
    char* text = nullptr;          ///< in the arena
    replica_word* more = nullptr;  ///< `most_replicas` words in the arena, once there are more than fit inside
    std::uint64_t block = 0;       ///< name of the block, if `has_block`
    std::array<replica_word, inside> few{};
    std::uint32_t owner = 0;
    std::uint32_t known_at = 0;
    std::uint32_t older = no_record;  ///< neighbours in the owner's order
    std::uint32_t newer = no_record;
    std::uint32_t last_part = no_record;  ///< neighbours in the ring of the block
    std::uint32_t next_part = no_record;
    std::uint16_t length = 0;  ///< of the text
    std::uint8_t count = 0;    ///< replicas
    bool has_block : 1 = false;
    bool is_doubted : 1 = false;  ///< stays when it is heard of in part
  };
  static_assert(sizeof(record) <= 64);

  /// What the places in the table of blocks lead to: one object of each ring.
  struct block_records final : named_records {
    explicit block_records(const object_table& of) : table(of) {}
    void hashes_at(std::span<const std::uint32_t> objects, std::uint64_t* hashes) const override {
      hash_in_turn<1>(
          objects, hashes, [this](unsigned, std::uint32_t object) { table.records_.prefetch(object); },
          [this](std::uint32_t object) { return mixed(table.records_[object].block); });
    }
    const object_table& table;
  };
  /// Names of blocks may be anything a store says; tables want bits that differ everywhere, and that nobody can foretell.
  [[nodiscard]] static std::uint64_t mixed(std::uint64_t block) noexcept;

  struct owner_state {
    const std::string* name = nullptr;  ///< in `owner_names_`, whose nodes stay where they are
    std::uint32_t oldest = no_record;
    std::uint32_t newest = no_record;
    std::uint32_t doubted_at = 0;  ///< what was known until then is not known any more
    std::uint32_t cleared_at = 0;  ///< see `note_cleared`
    std::size_t objects = 0;
  };
  [[nodiscard]] std::uint32_t give_way();

  [[nodiscard]] static std::uint64_t digest(std::uint32_t owner, std::string_view key);
  [[nodiscard]] std::uint64_t hash_at(std::uint32_t object) const;
  void hashes_at(std::span<const std::uint32_t> objects, std::uint64_t* hashes) const override;

  [[nodiscard]] std::span<replica_word> words(record& of) const noexcept;
  [[nodiscard]] std::span<const replica_word> words(const record& of) const noexcept;
  [[nodiscard]] replica_word packed(const replica_view& replica);
  void put_word(record& of, replica_word word);
  void put_one_of_each_first(record& of, std::span<const replica_view> replicas);
  void drop_location(replica_word word) noexcept;
  [[nodiscard]] std::uint32_t join(std::uint32_t owner, std::string_view key);
  void erase(std::uint32_t object, std::uint32_t now_s);
  void make_gone();
  void link_newest(std::uint32_t object) noexcept;
  void unlink(std::uint32_t object) noexcept;
  void leave_block(std::uint32_t object);
  void count(replica_set replicas, std::ptrdiff_t by) noexcept;
  [[nodiscard]] static replica_set set_of(std::span<const replica_word> words) noexcept;

  options options_;
  slab<record> records_;
  name_table by_key_;
  name_table by_block_;                 ///< to one object of each block
  std::vector<std::uint32_t> gone_at_;  ///< when an object whose digest ends so went last; made when it is needed
  std::vector<owner_state> owners_;
  std::map<std::string, std::uint32_t, std::less<>> owner_names_;
  std::size_t owners_with_objects_ = 0;
  std::uint32_t next_to_give_way_ = 0;  ///< where the search for an owner without objects goes on
  struct location {
    std::string text;
    std::size_t users = 0;
  };
  std::vector<location> locations_{1};  ///< number 0: not known
  std::vector<std::uint32_t> free_locations_;
  std::map<std::string, std::uint32_t, std::less<>> location_names_;
  std::array<std::size_t, replica_kinds> complete_{};
  std::size_t text_bytes_ = 0;
  std::size_t more_bytes_ = 0;
  counters counts_;
};

}  // namespace kvc::core

// Where chunks of tokens that someone has cached can be found again, by fingerprint and whatever stands before them.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "core/chunk_index.hpp"
#include "core/hex.hpp"
#include "core/inline_bytes.hpp"
#include "core/name_table.hpp"
#include "core/polynomial_hash.hpp"
#include "core/slab.hpp"

namespace kvc::core {

/// Figures since the start, all rising.
struct blend_counters {
  std::uint64_t inserted = 0;        ///< new fingerprints
  std::uint64_t known = 0;           ///< published again: the first one stays
  std::uint64_t skipped_ranges = 0;  ///< as many keys as chunks were not there
  std::uint64_t refused_keys = 0;    ///< of object keys longer than the limit, or that no table had room for
  std::uint64_t removed = 0;         ///< by object key
  std::uint64_t evicted = 0;         ///< because of the bound
  std::uint64_t found = 0;           ///< chunks found by queries
};

/// The directory of all scopes: an exact map from (scope, fingerprint of a chunk) to (object key, where the chunk stood).
///
/// Chunks are of one length for all. The first publisher of a fingerprint in a scope wins. 64 bits are trusted: tokens are not kept. When
/// the table is full, the chunk that has gone longest without being matched or published makes room; nothing else ties it to what is
/// stored. (Spec coordinator-api, "CacheBlend directory"; there slots collide and entries are lost, here none is.) Memory: fixed tables of
/// some 20 bytes per chunk of the bound, and some 100 per chunk present. Pure; one lane. Queries go through `blend_query`.
class blend_table final : private named_records {
 public:
  struct options {
    std::size_t chunk_tokens = 256;                        ///< tokens per chunk, at least 1
    std::size_t most_chunks = 1'048'576;                   ///< 1 to 2^31
    std::size_t longest_key = 1'024;                       ///< bytes of an object key or of a scope's name
    std::size_t most_text_bytes = std::size_t{256} << 20;  ///< of long object keys and of scopes' names
    std::uint64_t seed = 0;                                ///< random, so that nobody can choose fingerprints that share a place
  };

  /// A place where a chunk was found. Numbers are valid until the table changes.
  struct place {
    std::uint32_t object = 0;
    std::uint64_t object_digest = 0;  ///< of the object key's text, also when it goes and comes again
    std::uint64_t old_st = 0;         ///< position of the chunk's first token in the prompt it was published from
  };

  explicit blend_table(const options& with);

  /// Publishes chunks `from` to `from` + `count` of a range: chunk i is `object_keys[i]`, at `old_st_base` + i times the length. A tail
  /// shorter than a chunk does not count; if then chunks and keys differ in number, the range is skipped (counted when `from` is 0).
  /// Answers how many fingerprints are new. What is thrown on the way leaves whole chunks behind. Some 200 ns per chunk.
  template <token_value Token>
  std::size_t publish(std::string_view scope, std::span<const Token> tokens, std::span<const std::string_view> object_keys,
                      std::uint64_t old_st_base, std::size_t from = 0, std::size_t count = no_record);

  /// Takes out the fingerprints of an object key, in every scope, but no more than `most` in this call. Answers how many; less than `most`
  /// means that none is left.
  std::size_t remove(std::string_view key, std::size_t most = no_record);

  [[nodiscard]] std::size_t chunk_tokens() const noexcept { return options_.chunk_tokens; }
  [[nodiscard]] std::size_t size() const noexcept { return chunks_.size(); }
  [[nodiscard]] std::size_t objects() const noexcept { return objects_.size(); }
  [[nodiscard]] const blend_counters& counters() const noexcept { return counters_; }
  /// Everything kept, in bytes.
  [[nodiscard]] std::size_t memory_bytes() const noexcept;

  /// For queries. Absent when nothing is published in the scope; the number stands for the scope until its last chunk goes.
  [[nodiscard]] std::optional<std::uint32_t> find_scope(std::string_view scope) const;
  /// Where a fingerprint is looked for; spread over 64 bits.
  [[nodiscard]] std::uint64_t mixed(std::uint32_t scope, std::uint64_t fingerprint) const noexcept {
    return ((fingerprint ^ (fingerprint >> 32)) + spread_ * (scope + std::uint64_t{1})) * spread_;
  }
  [[nodiscard]] const chunk_index& index() const noexcept { return index_; }
  /// The chunk with this fingerprint, which counts as matched now. `mixed` as above.
  [[nodiscard]] std::optional<place> match(std::uint32_t scope, std::uint64_t fingerprint, std::uint64_t mixed);
  /// The text of an object key.
  [[nodiscard]] std::string object_key(std::uint32_t object) const;

 private:
  struct chunk_record {
    std::uint64_t fingerprint = 0;
    std::uint64_t old_st = 0;
    std::uint32_t scope = 0;
    std::uint32_t object = 0;
    std::uint32_t before = no_record;  ///< neighbours among the chunks of the object key
    std::uint32_t behind = no_record;
    std::uint32_t older = no_record;  ///< neighbours in the order of use
    std::uint32_t newer = no_record;
  };
  struct object_record {
    std::uint64_t digest = 0;         ///< of the text, by a secret
    std::uint32_t first = no_record;  ///< its chunks
    bool is_hex = false;              ///< of `packed_text`
    inline_bytes text;
  };
  struct scope_record {
    std::string name;
    std::uint64_t chunks = 0;
  };

  /// A chunk about to be published: everything that can be worked out before the tables are touched.
  struct newcomer {
    std::uint64_t fingerprint = 0;
    std::uint64_t mixed = 0;
    std::uint64_t key_digest = 0;
    std::string_view key{};
    std::optional<packed_text> packed{};
  };
  [[nodiscard]] std::uint64_t hash_at(std::uint32_t object) const;
  void hashes_at(std::span<const std::uint32_t> objects, std::uint64_t* hashes) const override {
    hash_in_turn<1>(
        objects, hashes, [this](unsigned, std::uint32_t object) { objects_.prefetch(object); },
        [this](std::uint32_t object) { return hash_at(object); });
  }
  bool insert(std::uint32_t in, const newcomer& one, std::uint64_t old_st);
  void erase(std::uint32_t id);
  void append_newest(std::uint32_t id);
  void unlink(std::uint32_t id);
  [[nodiscard]] std::uint32_t find_chunk(std::uint32_t in, std::uint64_t fingerprint, std::uint64_t mixed) const;
  [[nodiscard]] std::uint32_t find_object(const packed_text& key, std::uint64_t digest) const;
  [[nodiscard]] std::uint32_t join_object(const packed_text& key, std::uint64_t digest);
  void leave_object(std::uint32_t id);
  [[nodiscard]] std::uint32_t join_scope(std::string_view name);
  void leave_scope(std::uint32_t id) noexcept;
  /// A scope that counts as used for as long as this lives.
  struct scope_use {
    scope_use(blend_table& in, std::string_view name) : table(in), id(in.join_scope(name)) {}
    ~scope_use() { table.leave_scope(id); }
    scope_use(const scope_use&) = delete;
    scope_use& operator=(const scope_use&) = delete;

    blend_table& table;
    const std::uint32_t id;
  };

  options options_;
  std::uint64_t spread_;  ///< odd, secret
  chunk_index index_;
  slab<chunk_record> chunks_;
  slab<object_record> objects_;
  name_table objects_by_text_;
  std::vector<scope_record> scopes_;
  std::vector<std::uint32_t> free_scopes_;
  std::map<std::string, std::uint32_t, std::less<>> scopes_by_name_;
  std::uint32_t oldest_ = no_record;
  std::uint32_t newest_ = no_record;
  std::size_t text_bytes_ = 0;
  blend_counters counters_;
};

}  // namespace kvc::core

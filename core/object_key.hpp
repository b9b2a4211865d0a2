// The name of one cached object in the storage that the MP servers share, and what makes such a name acceptable.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include "core/errc.hpp"

namespace kvc::core {

/// Characters a cache salt may have. (Source: spec coordinator-api, section 2.)
inline constexpr std::size_t longest_salt = 128;
/// Bytes a model name and a hash may have, far beyond any in use: a name is kept once and written down for every key that is deleted, so
/// that one without a bound makes requests without one.
inline constexpr std::size_t longest_model = 4'096;
inline constexpr std::size_t longest_hash = 2'048;

/// All five fields are the identity. Views: whoever makes one keeps the texts alive. (Source: spec coordinator-api, "Key".)
struct object_key {
  std::string_view hash;  ///< of the chunk, as bytes and not as hex (`hex.hpp`); may be empty
  std::string_view model;
  std::int64_t kv_rank = 0;  ///< world size, ranks and local sizes, packed by the client; any number
  std::uint64_t object_group = 0;
  std::string_view salt;  ///< the tenant's cache salt; empty: the default tenant

  friend bool operator==(const object_key&, const object_key&) = default;
};

/// A key that owns its texts.
struct owned_object_key {
  std::string hash;
  std::string model;
  std::int64_t kv_rank = 0;
  std::uint64_t object_group = 0;
  std::string salt;

  /// Valid as long as this object.
  [[nodiscard]] object_key view() const { return {hash, model, kv_rank, object_group, salt}; }
  friend auto operator<=>(const owned_object_key&, const owned_object_key&) = default;
};

/// Whether an MP server could have made this key.
/// Errors: `hash_too_long` and `model_too_long` (over `longest_hash`, `longest_model`), `model_not_allowed` ('@' in the model),
/// `salt_not_allowed` (one of `@ / \ NUL`), `salt_too_long` (over `longest_salt` characters).
[[nodiscard]] result<void> check_key(const object_key& key);

/// Bytes that a text takes at most when it is written into a request, where some have to be escaped. Takes time by its length.
[[nodiscard]] std::size_t escaped_size(std::string_view text) noexcept;
/// The same of all else in a key: names and marks of its members, both numbers, and a comma behind it. A hash is written as hex besides.
inline constexpr std::size_t written_around_key = 128;

/// Digest of a model, rank and group; equal for equal ones, within this process. Depends on the secret (text_spread.hpp), as clients choose
/// all of these.
[[nodiscard]] std::uint64_t layout_digest(const object_key& key);
/// Digest of the whole identity; equal keys have equal digests, within this process. Depends on the secret as well.
[[nodiscard]] std::uint64_t key_digest(const object_key& key);

}  // namespace kvc::core

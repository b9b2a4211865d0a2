#include "core/object_key.hpp"

#include <algorithm>
#include <array>

#include "core/text_spread.hpp"

namespace kvc::core {

result<void> check_key(const object_key& key) {
  if (key.hash.size() > longest_hash) return make_error_code(errc::hash_too_long);
  if (key.model.size() > longest_model) return make_error_code(errc::model_too_long);
  if (key.model.find('@') != std::string_view::npos) return make_error_code(errc::model_not_allowed);
  if (key.salt.find_first_of(std::string_view("@/\\\0", 4)) != std::string_view::npos) return make_error_code(errc::salt_not_allowed);
  const auto continues = [](char each) {
    return (static_cast<unsigned char>(each) & 0xC0) == 0x80;
  };                                            // the later bytes of a UTF-8 character
  constexpr std::size_t longest_character = 4;  // what is no UTF-8 may have any number of later bytes
  if (key.salt.size() > longest_salt * longest_character) return make_error_code(errc::salt_too_long);
  if (key.salt.size() > longest_salt &&
      key.salt.size() - static_cast<std::size_t>(std::ranges::count_if(key.salt, continues)) > longest_salt) {
    return make_error_code(errc::salt_too_long);
  }
  return {};
}

std::size_t escaped_size(std::string_view text) noexcept {
  std::size_t size = text.size();
  for (const char each : text) {
    const auto byte = static_cast<unsigned char>(each);
    if (byte < 0x20 || byte == 0x7F) {
      size += 5;  // \u00xx
    } else if (byte >= 0x80) {
      size += 2;  // U+FFFD, where it is no UTF-8
    } else if (each == '"' || each == '\\') {
      size += 1;
    }
  }
  return size;
}

std::uint64_t layout_digest(const object_key& key) {
  return spread(std::array<std::uint64_t, 3>{spread(key.model), static_cast<std::uint64_t>(key.kv_rank), key.object_group});
}

std::uint64_t key_digest(const object_key& key) {
  return spread(std::array<std::uint64_t, 5>{spread(key.hash), spread(key.model), static_cast<std::uint64_t>(key.kv_rank), key.object_group,
                                             spread(key.salt)});
}

}  // namespace kvc::core

#include "core/object_key.hpp"

#include <algorithm>
#include <bit>
#include <span>

#include "core/block_hasher.hpp"
#include "core/mixed_bits.hpp"

namespace kvc::core {
namespace {

std::uint64_t digest_text(std::string_view text) {
  return digest(std::as_bytes(std::span(text.data(), text.size())));
}

}  // namespace

result<void> check_key(const object_key& key) {
  if (key.model.find('@') != std::string_view::npos) return make_error_code(errc::model_not_allowed);
  if (key.salt.find_first_of(std::string_view("@/\\\0", 4)) != std::string_view::npos) return make_error_code(errc::salt_not_allowed);
  const auto continues = [](char each) {
    return (static_cast<unsigned char>(each) & 0xC0) == 0x80;
  };  // the later bytes of a UTF-8 character
  if (key.salt.size() > longest_salt &&
      key.salt.size() - static_cast<std::size_t>(std::ranges::count_if(key.salt, continues)) > longest_salt) {
    return make_error_code(errc::salt_too_long);
  }
  return {};
}

std::uint64_t layout_digest(const object_key& key) {
  return digest_text(key.model) ^ mixed_bits(static_cast<std::uint64_t>(key.kv_rank) + std::rotl(mixed_bits(key.object_group), 17));
}

std::uint64_t key_digest(const object_key& key) {
  return mixed_bits(digest_text(key.hash) ^ std::rotl(layout_digest(key), 21) ^ std::rotl(digest_text(key.salt), 42));
}

}  // namespace kvc::core

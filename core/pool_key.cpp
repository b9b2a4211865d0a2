#include "core/pool_key.hpp"

#include <algorithm>
#include <array>
#include <charconv>
#include <cstddef>
#include <optional>
#include <span>

namespace kvc::core {
namespace {

constexpr std::size_t longest_digest = 128;  ///< hexadecimal digits; SHA-512
constexpr std::size_t shortest_digest = 32;  ///< of keys in which only its length tells a digest from a word
constexpr std::size_t integer_digits = 16;   ///< hexadecimal, of 64 bits
constexpr std::size_t most_pieces = 24;      ///< no form has as many

std::optional<std::uint64_t> integer_of(std::string_view text, int base = 10) noexcept {
  std::uint64_t value = 0;
  const auto [end, failed] = std::from_chars(text.data(), text.data() + text.size(), value, base);
  if (failed != std::errc{} || end != text.data() + text.size()) return std::nullopt;
  return value;
}

/// A rank, a layer, or how many there are.
bool read_small(std::string_view text, std::uint32_t& out) noexcept {
  const auto value = integer_of(text);
  if (!value || *value > block_part::most) return false;
  out = static_cast<std::uint32_t>(*value);
  return true;
}

bool is_hexadecimal(std::string_view text) noexcept {
  return !text.empty() && text.size() <= longest_digest && text.find_first_not_of("0123456789abcdefABCDEF") == std::string_view::npos;
}

/// The pieces between separators.
struct pieces {
  std::array<std::string_view, most_pieces> list{};
  std::size_t count = 0;
  bool is_all = true;  ///< false: there are more

  pieces(std::string_view text, char separator) noexcept {
    for (;;) {
      if (count == most_pieces) {
        is_all = false;
        return;
      }
      const std::size_t end = text.find(separator);
      list[count++] = text.substr(0, end);
      if (end == std::string_view::npos) return;
      text.remove_prefix(end + 1);
    }
  }
  std::string_view operator[](std::size_t i) const noexcept { return list[i]; }
};

/// What stands before piece `i`, without the separator.
std::string_view before(std::string_view key, std::string_view piece) noexcept {
  const auto length = static_cast<std::size_t>(piece.data() - key.data());
  return length == 0 ? std::string_view() : key.substr(0, length - 1);
}

std::string_view behind(std::string_view key, std::string_view piece) noexcept {
  const auto end = static_cast<std::size_t>(piece.data() + piece.size() - key.data());
  return end >= key.size() ? std::string_view() : key.substr(end + 1);
}

/// A number as the master's library reads it: blanks and a sign may come first.
std::optional<std::uint64_t> number_of(std::string_view text) noexcept {
  text.remove_prefix(std::min(text.find_first_not_of(" \t\n\v\f\r"), text.size()));
  const bool is_negative = text.starts_with('-');
  if (is_negative || text.starts_with('+')) text.remove_prefix(1);
  const bool is_hex = text.starts_with("0x") || text.starts_with("0X");
  const auto value = is_hex ? integer_of(text.substr(2), 16) : integer_of(text);
  if (!value) return std::nullopt;
  return is_negative ? 0 - *value : *value;
}

struct marker {
  std::string_view word;
  std::uint32_t block_part::*rank;  ///< null: the group
};
constexpr std::array<marker, 6> markers{{{"head_or_tp_rank:", &block_part::tensor},
                                         {"tp_rank:", &block_part::tensor},
                                         {"pp_rank:", &block_part::pipeline},
                                         {"pcp", &block_part::prefill_context},
                                         {"dcp", &block_part::decode_context},
                                         {"group:", nullptr}}};

/// Which marker a piece is, with a number behind it; past the end: none.
std::size_t marker_of(std::string_view piece, std::uint32_t& value) noexcept {
  for (std::size_t i = 0; i < markers.size(); ++i) {
    if (piece.starts_with(markers[i].word) && read_small(piece.substr(markers[i].word.size()), value)) return i;
  }
  return markers.size();
}

/// Of vLLM and Ascend: a model, ranks by name, a digest, and perhaps a layer.
bool parse_marked(std::string_view key, const pieces& all, pool_key& out) noexcept {
  std::uint32_t value = 0;
  std::size_t at = 1;
  while (at < all.count && marker_of(all[at], value) == markers.size()) ++at;
  if (at >= all.count) return false;
  out.model = all[at - 1];
  out.prefix = before(key, all[at - 1]);
  std::array<bool, markers.size()> seen{};
  for (; at < all.count; ++at) {
    const std::size_t which = marker_of(all[at], value);
    if (which == markers.size()) break;
    if (seen[which]) return false;
    seen[which] = true;
    if (markers[which].rank != nullptr) {
      out.part.*markers[which].rank = value;
    } else {
      out.group = value;
    }
  }
  if (seen[0] && seen[1]) return false;  // no writer has both
  out.form = seen[0] ? key_form::ascend : key_form::vllm;
  if (at == all.count || !is_hexadecimal(all[at])) return false;
  out.digits = all[at++];
  if (at == all.count) return true;
  std::uint32_t layer = 0;
  if (at + 1 != all.count || !read_small(all[at], layer) || layer == block_part::most) return false;
  out.part.layer = layer + 1;
  return true;
}

/// Of LMCache: how many ranks, which one, and a digest, all by position.
bool parse_lmcache(std::string_view key, const pieces& all, pool_key& out) noexcept {
  for (std::size_t i = 1; i + 2 < all.count; ++i) {
    std::string_view digits = all[i + 2];
    out.is_negative = digits.starts_with('-');
    if (out.is_negative) digits.remove_prefix(1);
    if (!read_small(all[i], out.ranks) || !read_small(all[i + 1], out.part.tensor) || !is_hexadecimal(digits)) continue;
    if (out.part.tensor >= out.ranks || (out.is_negative && digits.size() > integer_digits)) return false;
    out.form = key_form::lmcache;
    out.model = all[i - 1];
    out.prefix = before(key, all[i - 1]);
    out.digits = digits;
    out.suffix = behind(key, all[i + 2]);
    for (std::size_t rest = i + 3; rest < all.count; ++rest) {
      std::uint32_t layer = 0;
      if (!read_small(all[rest], layer)) continue;
      if (out.part.layer != 0 || layer == block_part::most) return false;
      out.part.layer = layer + 1;
    }
    // The layer is a part; what else stands there says whose blocks these are.
    if (out.part.layer != 0)
      out.suffix =
          all.count > i + 4 && all[i + 3].find_first_not_of("0123456789") != std::string_view::npos ? all[i + 3] : std::string_view();
    return true;
  }
  return false;
}

/// Of SGLang: a digest among words, with a half behind it, or a model.
bool parse_sglang(std::string_view key, pool_key& out) noexcept {
  const pieces all(key, '_');
  if (!all.is_all) return false;
  std::size_t at = 0;
  while (at < all.count && (all[at].size() < shortest_digest || !is_hexadecimal(all[at]))) ++at;
  if (at + 1 >= all.count) return false;
  out.prefix = before(key, all[at]);
  out.digits = all[at];
  const std::string_view last = all[all.count - 1];
  if (last == "k" || last == "v") {
    out.form = key_form::sglang;
    out.part.of = last == "k" ? block_part::half::keys : block_part::half::values;
    const std::size_t ranks = all.count - at - 2;
    if (ranks > 2) return false;
    const bool has_none = ranks == 1 && all[at + 1].empty();  // of models whose ranks hold the same
    if (ranks >= 1 && !has_none && !read_small(all[at + 1], out.part.tensor)) return false;
    return ranks < 2 || read_small(all[at + 2], out.part.pipeline);
  }
  out.form = key_form::file;
  const std::size_t words = all.count - at - 1;
  const bool has_ranks = words >= 3 && read_small(all[all.count - 1], out.ranks) && read_small(all[all.count - 2], out.part.tensor);
  if (!has_ranks) {
    out.ranks = 1;
    out.part.tensor = 0;
  }
  const std::string_view rest = behind(key, all[at]);
  out.model = has_ranks ? rest.substr(0, static_cast<std::size_t>(all[all.count - 2].data() - rest.data()) - 1) : rest;
  return out.part.tensor < out.ranks && !out.model.empty();
}

}  // namespace

pool_key parse_pool_key(std::string_view key) noexcept {
  if (const auto number = number_of(key)) {
    pool_key made;
    made.form = key_form::number;
    made.number = *number;
    return made;
  }
  if (is_hexadecimal(key) && key.size() >= shortest_digest) {
    pool_key made;
    made.form = key_form::digest;
    made.digits = key;
    return made;
  }
  if (const pieces all(key, '@'); all.is_all && all.count >= 3) {
    if (pool_key made; parse_marked(key, all, made)) return made;
    if (pool_key made; parse_lmcache(key, all, made)) return made;
    return {};
  }
  if (pool_key made; parse_sglang(key, made)) return made;
  return {};
}

engine_hash name_of(const pool_key& key, digest_names& digests) {
  if (key.form == key_form::number) return engine_hash{key.number};
  std::string_view digits = key.digits;
  if (names_by_beginning(key)) digits = digits.substr(0, integer_digits);
  if (digits.size() <= integer_digits) {
    const std::uint64_t value = integer_of(digits, 16).value_or(0);
    return engine_hash{key.is_negative ? 0 - value : value};
  }
  std::array<std::byte, longest_digest / 2> bytes{};
  std::size_t count = 0;
  // An odd number of digits is one with a leading zero.
  for (std::size_t width = digits.size() % 2 == 0 ? 2 : 1; !digits.empty(); width = 2) {
    bytes[count++] = static_cast<std::byte>(integer_of(digits.substr(0, width), 16).value_or(0));
    digits.remove_prefix(width);
  }
  return digests.name_of(std::span(bytes).first(count));
}

engine_hash folded_name_of(const pool_key& key) noexcept {
  if (key.form == key_form::number) return engine_hash{key.number};
  std::string_view digits = key.digits;
  if (names_by_beginning(key)) digits = digits.substr(0, integer_digits);
  const bool is_long = digits.size() > integer_digits;
  if (is_long) digits.remove_prefix(digits.size() - integer_digits);
  const std::uint64_t value = integer_of(digits, 16).value_or(0);
  return engine_hash{key.is_negative && !is_long ? 0 - value : value};
}

bool is_same_model(std::string_view in_key, std::string_view model) noexcept {
  if (in_key == model) return true;
  const auto last = [](std::string_view path) {
    while (path.ends_with('/')) path.remove_suffix(1);
    return path.substr(path.rfind('/') + 1);  // npos + 1 is 0
  };
  if (last(in_key) == last(model)) return true;
  const auto is_slash = [](char sign) { return sign == '/' || sign == '-' || sign == '_'; };
  return std::ranges::equal(in_key, model, [&](char left, char right) { return left == right || (is_slash(left) && is_slash(right)); });
}

}  // namespace kvc::core

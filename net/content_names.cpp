#include "net/content_names.hpp"

#include <bit>
#include <cstdint>

namespace kvc::net {
namespace {

using kind = tape_value::kind;

/// Python's hash of a tuple, an element at a time.
class tuple_hash {
 public:
  void add(std::uint64_t hash_of_element) noexcept {
    sum_ = std::rotl(sum_ + hash_of_element * second_prime, 31) * first_prime;
    ++length_;
  }
  [[nodiscard]] std::uint64_t value() const noexcept {
    constexpr std::uint64_t length_mask = 3'527'539;
    constexpr std::uint64_t instead_of_error = 1'546'275'796;  // -1 says that hashing has failed
    const std::uint64_t sum = sum_ + (length_ ^ fifth_prime ^ length_mask);
    return sum == ~std::uint64_t{0} ? instead_of_error : sum;
  }

 private:
  static constexpr std::uint64_t first_prime = 11'400'714'785'074'694'791U;
  static constexpr std::uint64_t second_prime = 14'029'467'366'897'019'727U;
  static constexpr std::uint64_t fifth_prime = 2'870'177'450'012'600'261U;

  std::uint64_t sum_ = fifth_prime;
  std::uint64_t length_ = 0;
};

/// Of numbers, which are their own hashes while they are small.
std::optional<std::uint64_t> hash_of_pair(tape_value pair) {
  tuple_hash sum;
  tape_value item = pair.first();
  for (std::uint32_t i = 0; i < pair.length(); ++i, item = item.next()) {
    const std::optional<std::uint32_t> word = item.as_u32();
    if (!word) return std::nullopt;
    sum.add(*word);
  }
  return sum.value();
}

}  // namespace

std::optional<core::engine_hash> content_name_of(tape_value tokens) {
  if (!tokens.is(kind::array)) return std::nullopt;
  tuple_hash sum;
  tape_value item = tokens.first();
  for (std::uint32_t i = 0; i < tokens.length(); ++i, item = item.next()) {
    std::optional<std::uint64_t> word = item.as_u32();
    if (item.is(kind::array)) word = hash_of_pair(item);
    if (!word) return std::nullopt;
    sum.add(*word);
  }
  return core::engine_hash{sum.value()};
}

void ambiguous_names::add(std::span<const core::engine_hash> names) {
  for (const core::engine_hash name : names) {
    if (is_full_ || (names_.size() == max_names && !names_.contains(name))) {
      is_full_ = true;
      return;
    }
    names_.insert(name);
  }
}

void ambiguous_names::clear() noexcept {
  names_ = {};
  is_full_ = false;
}

}  // namespace kvc::net

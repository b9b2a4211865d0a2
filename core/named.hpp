// Distinct types for distinct ids, so that a rank cannot be passed where a position is meant.
#pragma once

#include <compare>
#include <cstddef>
#include <functional>
#include <utility>

namespace kvc::core {

/// A value of type `Value` that only meets values with the same `Tag`.
/// Construction and access are explicit; comparison and hashing follow the value. Trivial where `Value` is.
template <class Value, class Tag>
class named {
 public:
  using value_type = Value;

  constexpr named() = default;
  constexpr explicit named(Value value) : value_(std::move(value)) {}

  /// The bare value; the reference lives as long as this object.
  [[nodiscard]] constexpr const Value& get() const noexcept { return value_; }

  friend constexpr auto operator<=>(const named&, const named&) = default;
  friend constexpr bool operator==(const named&, const named&) = default;

 private:
  Value value_{};
};

}  // namespace kvc::core

template <class Value, class Tag>
struct std::hash<kvc::core::named<Value, Tag>> {
  std::size_t operator()(const kvc::core::named<Value, Tag>& named_value) const noexcept { return std::hash<Value>{}(named_value.get()); }
};

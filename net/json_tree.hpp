// A JSON body of any shape as a flat list of values, which point into the body where they can.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "net/tape_value.hpp"

namespace kvc::net {

/// A parsed JSON text.
///
/// For requests whose faults are told member by member, with the value at fault, so that nothing may be forgotten while reading. The bare
/// words NaN and Infinity, which the clients' own library writes, become infinite numbers. Strings without escapes are views of the body.
/// Bounds: `max_nodes` values of 24 bytes, `max_depth` levels. Pure; one owner.
class json_tree {
 public:
  static constexpr std::size_t max_nodes = 8U << 20;
  static constexpr std::size_t max_depth = 200;

  struct failure {
    std::size_t offset = 0;  ///< byte of the text
    std::string what;
    bool is_too_large = false;  ///< JSON as far as it was read, but more of it than we take
  };

  /// Reads one value that fills `body`, which outlives the use of the tree. After a failure the tree is empty.
  [[nodiscard]] std::optional<failure> parse(std::string_view body);

  /// Precondition: the last parse succeeded.
  [[nodiscard]] tape_value root() const noexcept { return {nodes_.data(), 0}; }

 private:
  [[nodiscard]] std::optional<failure> scan(std::string_view text);

  std::vector<tape_node> nodes_;
  std::string rewritten_;  ///< the body, when it had to be changed
  std::string unescaped_;  ///< strings that are not views; never grows beyond what was reserved
};

/// The member called `name`; the last one when there are several; absent when there is none or `object` is no object. Looks at all members.
[[nodiscard]] tape_value find_member(const tape_value& object, std::string_view name) noexcept;

/// Whether an object may be asked for `asked` members one by one. Who answers a question with many more members than were asked about did
/// not understand it, and to look for each among hundreds of thousands takes a lane for seconds.
[[nodiscard]] inline bool is_answer_to(const tape_value& object, std::size_t asked) noexcept {
  constexpr std::size_t some_more = 64;
  return object.is(tape_value::kind::map) && object.length() <= 2 * asked + some_more;
}

}  // namespace kvc::net

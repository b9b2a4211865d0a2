// What somebody has written down, as it may stand in a message of ours.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

namespace kvc::app {

/// The same text in one line that is UTF-8: a blank for each control character, so that none of them drives a terminal or begins a line,
/// and U+FFFD for each byte that belongs to no character. Pure.
[[nodiscard]] std::string one_line(std::string_view text);

/// `one_line` of no more than `most` bytes; what is longer is cut between two characters and ends in `...`. Pure.
[[nodiscard]] std::string shown(std::string_view text, std::size_t most = 80);

}  // namespace kvc::app

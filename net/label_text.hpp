// What strangers have named, as it stands in the labels of metrics.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

namespace kvc::net {

inline constexpr std::size_t most_label_bytes = 256;  ///< of a text that stands in a label as it is

/// The text, if it has at most `most_label_bytes`; of a longer one as much as whole characters of it fit, `...`, and 16 hex digits of the
/// digest of all of it (XXH3-64): the same on every scrape, and no two are alike unless somebody has looked for such a pair.
///
/// Why: ids and tenants are free text of clients, and each stands in many lines of a page that a scraper asks for every few seconds. Not
/// escaped yet. Pure; takes time by the length of the text.
[[nodiscard]] std::string label_text(std::string_view text);

}  // namespace kvc::net

// Keys that a JSON text has twice in one object.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace kvc::app {

/// The places of keys that stand in their object already, such as `kvevent_instance.node1` or `stores[0].url`, each once, in the text's
/// order. A parser that makes a tree keeps the last of them and says nothing, so that a setting or a whole registration would be lost
/// without a word. `text` is one JSON document without faults, comments and trailing commas allowed.
[[nodiscard]] std::vector<std::string> repeated_keys(std::string_view text);

}  // namespace kvc::app

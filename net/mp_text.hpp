// Text for calls to MP servers.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "core/object_key.hpp"

namespace kvc::net {

/// A text as one segment or value of a target: everything but letters, digits and `-._~` escaped (RFC 3986, section 2.3). Pure.
[[nodiscard]] std::string percent_encoded(std::string_view text);

/// Appends the five members of a key as a JSON object. Pure.
void append_object_key(std::string& out, const core::object_key& key);

}  // namespace kvc::net

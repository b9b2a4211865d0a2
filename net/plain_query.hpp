// Queries whose JSON is as plain as routers write it, read in one pass.
#pragma once

#include <string_view>

#include "net/request_document.hpp"

namespace kvc::net {

/// Reads a body that is one object of texts in plain ASCII, whole numbers from 0, true and false, and lists of numbers where tokens or
/// hashes belong, each known member at most once. What it fills in is what the general reader would, but that strings are views of `body`.
///
/// False: the body is not that plain, or not JSON at all. The general reader knows; `into` holds a part of the body and is to be emptied.
/// Pure.
[[nodiscard]] bool read_plain_query(std::string_view body, document_data& into);

}  // namespace kvc::net

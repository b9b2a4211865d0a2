// Keys of stores' objects, any bytes: taken apart into views of themselves, and the same key into the same parts.
#include <cstddef>
#include <cstdint>
#include <string_view>

#include "core/pool_key.hpp"
#include "tests/support/fuzz_require.hpp"

namespace {

using namespace kvc::core;

bool lies_in(std::string_view part, std::string_view whole) {
  return part.empty() || (part.data() >= whole.data() && part.data() + part.size() <= whole.data() + whole.size());
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  const pool_key key = parse_pool_key(text);
  for (const std::string_view part : {key.prefix, key.suffix, key.model, key.digits})
    kvc::fuzz::require(lies_in(part, text), "parts lie in the key");
  if (key.form == key_form::opaque) return 0;
  kvc::fuzz::require(key.form == key_form::number || !key.digits.empty(), "a block has a name");
  kvc::fuzz::require(key.ranks == 0 || key.part.tensor < key.ranks, "a rank is one of those there are");
  kvc::fuzz::require(key.part.tensor <= block_part::most && key.part.layer <= block_part::most, "numbers of parts are bounded");
  kvc::fuzz::require(key.has_parts() || key.part == block_part{}, "a whole block is no part");
  digest_names digests;
  const engine_hash name = name_of(key, digests);
  kvc::fuzz::require(name_of(parse_pool_key(text), digests) == name, "a key names one block");
  (void)is_same_model(key.model, text);
  return 0;
}

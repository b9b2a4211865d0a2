// What can go wrong in the domain: one value, one sentence.
#pragma once

#include <type_traits>

#include <boost/system/error_code.hpp>
#include <boost/system/result.hpp>

namespace kvc::core {

enum class errc {
  seed_conflict = 1,    ///< the partition exists under another hash seed
  workers_exhausted,    ///< every worker number has been given out
  service_not_found,    ///< no registered publisher has this key
  hash_not_hex,         ///< a chunk hash is not pairs of hex digits
  hash_too_long,        ///< a chunk hash has too many bytes
  model_not_allowed,    ///< a model name has a character that separates the fields of a key
  model_too_long,       ///< a model name has too many bytes
  salt_not_allowed,     ///< a cache salt has a character that separates the fields of a key
  salt_too_long,        ///< a cache salt has too many characters
  keys_exhausted,       ///< as many keys are tracked as may be
  object_too_large,     ///< no object has as many bytes
  quota_limit_invalid,  ///< negative, no number, infinite, or infinite in bytes
  quotas_exhausted,     ///< as many quotas are kept as may be
  servers_exhausted,    ///< as many MP servers are registered as may be
  malformed_dump,       ///< a dump's records do not fit together
};

[[nodiscard]] const boost::system::error_category& core_category() noexcept;
[[nodiscard]] boost::system::error_code make_error_code(errc value) noexcept;

template <class T>
using result = boost::system::result<T>;
using boost::system::error_code;

}  // namespace kvc::core

template <>
struct boost::system::is_error_code_enum<kvc::core::errc> : std::true_type {};

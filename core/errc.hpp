// What can go wrong in the domain: one value, one sentence.
#pragma once

#include <boost/system/error_code.hpp>
#include <boost/system/result.hpp>
#include <type_traits>

namespace kvc::core {

enum class errc {
  seed_conflict = 1,      ///< the partition exists under another hash seed
  workers_exhausted,      ///< every worker number has been given out
  service_not_found,      ///< no registered publisher has this key
  malformed_dump,         ///< a dump's records do not fit together
};

[[nodiscard]] const boost::system::error_category& core_category() noexcept;
[[nodiscard]] boost::system::error_code make_error_code(errc value) noexcept;

template <class T>
using result = boost::system::result<T>;
using boost::system::error_code;

}  // namespace kvc::core

template <>
struct boost::system::is_error_code_enum<kvc::core::errc> : std::true_type {};

// What can go wrong at the wire: one value, one sentence. Low-level codes are translated where their meaning is known.
#pragma once

#include <type_traits>

#include <boost/system/error_code.hpp>
#include <boost/system/result.hpp>

namespace kvc::net {

enum class errc {
  timed_out = 1,      ///< the other party did not answer before the deadline
  cancelled,          ///< the waiting coroutine was cancelled
  would_block,        ///< nothing can be read or written right now
  closed,             ///< the socket is closed
  invalid_endpoint,   ///< the endpoint text is not one the transport knows
  address_in_use,     ///< somebody else is bound there
  bad_frame_count,    ///< a message has more or fewer frames than the protocol allows
  bad_seqno_frame,    ///< the sequence frame is not 8 bytes
  message_too_large,  ///< a message is over the size limit
  malformed_msgpack,  ///< the payload is not MessagePack, is cut short, or has bytes left over
  nested_too_deep,    ///< containers are nested deeper than any publisher does
  not_a_batch,        ///< the payload is MessagePack but no event batch
  too_many_elements,  ///< a list is longer than the limit
  draining,           ///< the service is shutting down
  malformed_dump,     ///< the bytes are no dump of a known version, or are cut short
  overloaded,         ///< a bound is reached; try again later
  not_understood,     ///< another service's answer is none that is known
};

[[nodiscard]] const boost::system::error_category& net_category() noexcept;
[[nodiscard]] boost::system::error_code make_error_code(errc value) noexcept;

template <class T>
using result = boost::system::result<T>;
using boost::system::error_code;

}  // namespace kvc::net

template <>
struct boost::system::is_error_code_enum<kvc::net::errc> : std::true_type {};

// What lies where a socket of this machine is to be bound.
#pragma once

#include <string_view>

namespace kvc::net {

/// Whether the path of an `ipc://` endpoint is something that a bind must leave alone: a file that is no socket, or a socket somebody
/// listens at. libzmq removes whatever lies there before it binds. What a process that has ended left behind is free, and so is every
/// endpoint of another transport or of an abstract name (`ipc://@name`), as far as this knows. Does not wait. Any lane.
[[nodiscard]] bool is_taken_path(std::string_view endpoint);

}  // namespace kvc::net

// A call to another service that is made on one lane for somebody on another, who may lose interest in it.
#pragma once

#include <stop_token>
#include <string>

#include <boost/asio/awaitable.hpp>

#include "net/errc.hpp"
#include "net/http_client.hpp"
#include "net/runtime.hpp"

namespace kvc::net {

/// Has `call` made by a task of `home` with this name, and answers what it answers or throws what it throws: a call that throws has ended,
/// and is waited for no longer. Once nobody wants it, which may be said on any lane, it is ended at its next wait.
/// Lifetimes: what `call` refers to outlives the tasks of `home`, as it may end later than this. Lane: `home`. Deadline: the call's own.
/// Cancellation: a task of `home`, so it ends with that lane, however long the service takes.
/// Errors: the call's own, and `cancelled` for one that was not wanted or has been stopped.
[[nodiscard]] asio::awaitable<result<http_client::answer>> make_wanted_call(lane& home, std::string name,
                                                                            asio::awaitable<result<http_client::answer>> call,
                                                                            std::stop_token unwanted);

}  // namespace kvc::net

// Replies of the fleet coordinator: its status numbers and the shapes of its errors.
#pragma once

#include <string>
#include <string_view>

#include "net/field_faults.hpp"
#include "net/http_message.hpp"

namespace kvc::net {

/// Bodies here are JSON always, as the coordinator's clients write and read nothing else. (Source: spec coordinator-api, "Error bodies".)

/// `{"detail": sentence}` under this status.
[[nodiscard]] http_reply detail_reply(unsigned status, std::string_view sentence);
/// `{"error": sentence}`: the heartbeat's 404 and the quota's 400.
[[nodiscard]] http_reply error_reply(unsigned status, std::string_view sentence);
/// 422 with everything that is wrong.
[[nodiscard]] http_reply faults_reply(field_faults& faults);
/// 404 or, when the path takes another method, 405 and an Allow header.
[[nodiscard]] http_reply no_route_reply(std::string_view allowed);
/// The same where a path belongs to neither surface, or to both: the members of both error bodies.
[[nodiscard]] http_reply no_path_of_both_reply(wire_form form);
[[nodiscard]] http_reply wrong_method_of_both_reply(std::string_view allowed, wire_form form);
/// 401 or 403 by the bearer token; 503 when a bound is reached.
[[nodiscard]] http_reply unauthorized_reply();
[[nodiscard]] http_reply forbidden_reply();
[[nodiscard]] http_reply overloaded_reply(std::string_view sentence);
/// 204: no body and no headers that speak of one.
[[nodiscard]] http_reply no_content_reply();
[[nodiscard]] constexpr bool is_success(unsigned status) noexcept {
  return status / 100 == 2;
}
/// 200 with this body, or another status that is relayed.
[[nodiscard]] http_reply json_reply(std::string body, unsigned status = 200);

}  // namespace kvc::net

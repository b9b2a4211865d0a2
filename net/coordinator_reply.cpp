#include "net/coordinator_reply.hpp"

#include <utility>

#include "net/answer_writer.hpp"

namespace kvc::net {
namespace {

http_reply one_member(unsigned status, std::string_view name, std::string_view sentence) {
  http_reply reply;
  reply.status = status;
  answer_writer out(reply.body, wire_form::json);
  out.object();
  out.member(name, sentence);
  out.end_object();
  return reply;
}

}  // namespace

http_reply detail_reply(unsigned status, std::string_view sentence) {
  return one_member(status, "detail", sentence);
}

http_reply error_reply(unsigned status, std::string_view sentence) {
  return one_member(status, "error", sentence);
}

http_reply faults_reply(field_faults& faults) {
  return json_reply(faults.take(), 422);
}

http_reply no_route_reply(std::string_view allowed) {
  if (allowed.empty()) return detail_reply(404, "Not Found");
  http_reply reply = detail_reply(405, "Method Not Allowed");
  reply.headers.emplace_back("Allow", allowed);
  return reply;
}

http_reply unauthorized_reply() {
  http_reply reply = detail_reply(401, "Not authenticated");
  reply.headers.emplace_back("WWW-Authenticate", "Bearer");
  return reply;
}

http_reply forbidden_reply() {
  return detail_reply(403, "This token may not change anything");
}

http_reply overloaded_reply(std::string_view sentence) {
  http_reply reply = detail_reply(503, sentence);
  reply.headers.emplace_back("Retry-After", "1");
  return reply;
}

http_reply no_content_reply() {
  http_reply reply;
  reply.status = 204;
  return reply;
}

http_reply json_reply(std::string body, unsigned status) {
  http_reply reply;
  reply.status = status;
  reply.body = std::move(body);
  return reply;
}

}  // namespace kvc::net

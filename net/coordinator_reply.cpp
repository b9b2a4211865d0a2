#include "net/coordinator_reply.hpp"

#include <utility>

#include "net/answer_writer.hpp"
#include "net/http_reply.hpp"

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

http_reply of_both(unsigned status, std::string_view sentence, std::string_view detail, wire_form form) {
  http_reply reply;
  reply.status = status;
  reply.form = form == wire_form::msgpack ? form : wire_form::json;
  answer_writer out(reply.body, reply.form);
  out.object(3);
  out.member("error", sentence);
  out.member("reason", reason_of(refusal_kind::unknown_path));
  out.member("detail", detail);
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

http_reply no_path_of_both_reply(wire_form form) {
  return of_both(404, "there is no such path", "Not Found", form);
}

http_reply wrong_method_of_both_reply(std::string_view allowed, wire_form form) {
  http_reply reply = of_both(405, "this path does not take this method; it takes " + std::string(allowed), "Method Not Allowed", form);
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

#include "net/coordinator_openapi.hpp"

#include <algorithm>
#include <cctype>
#include <string>
#include <vector>

#include "net/answer_writer.hpp"
#include "net/coordinator_reply.hpp"
#include "net/coordinator_router.hpp"

namespace kvc::net {
namespace {

void write_parameters(answer_writer& out, std::string_view path) {
  out.key("parameters");
  out.list();
  while (path.find('{') != std::string_view::npos) {
    path.remove_prefix(path.find('{') + 1);
    out.object();
    out.member("name", path.substr(0, path.find('}')));
    out.member("in", "path");
    out.member("required", true);
    out.key("schema");
    out.object();
    out.member("type", "string");
    out.end_object();
    out.end_object();
  }
  out.end_list();
}

void write_answer(answer_writer& out, std::string_view status, std::string_view description) {
  out.key(status);
  out.object();
  out.member("description", description);
  out.end_object();
}

void write_operation(answer_writer& out, const coordinator_route& route) {
  std::string method(route.method);
  std::ranges::transform(method, method.begin(), [](unsigned char letter) { return static_cast<char>(std::tolower(letter)); });
  out.key(method);
  out.object();
  out.member("summary", route.summary);
  write_parameters(out, route.path);
  out.key("responses");
  out.object();
  if (route.endpoint == coordinator_endpoint::remove_instance) {
    write_answer(out, "204", "Gone, or never there");
  } else {
    write_answer(out, "200", "The answer");
  }
  if (route.changes) write_answer(out, "422", "What is wrong with the request, as a list under detail");
  out.end_object();
  out.end_object();
}

}  // namespace

http_reply coordinator_openapi_reply(std::string_view version) {
  http_reply reply;
  answer_writer out(reply.body, wire_form::json);
  out.object();
  out.member("openapi", "3.1.0");
  out.key("info");
  out.object();
  out.member("title", "KV Conductor, fleet coordinator");
  out.member("version", version);
  out.end_object();
  out.key("paths");
  out.object();
  std::vector<std::string_view> told;
  for (const coordinator_route& each : coordinator_routes()) {
    if (std::ranges::find(told, each.path) != told.end()) continue;
    told.push_back(each.path);
    out.key(each.path);
    out.object();
    for (const coordinator_route& same : coordinator_routes()) {
      if (same.path == each.path) write_operation(out, same);
    }
    out.end_object();
  }
  out.end_object();
  out.end_object();
  return reply;
}

}  // namespace kvc::net

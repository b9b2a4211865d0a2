#include "net/store_openapi.hpp"

#include <algorithm>
#include <array>
#include <cctype>

namespace kvc::net {
namespace {

/// What bodies and answers look like. (Source: spec store-prefetch.)
constexpr std::string_view schemas = R"json("Probe":{"type":"object","description":"Send key or keys","properties":{
 "key":{"type":"string"},"keys":{"type":"array","items":{"type":"string"},"description":"As many as exist_max_keys, in order"},
 "tenant_id":{"type":["string","null"],"default":"default"},
 "backend_id":{"type":["string","null"],"description":"Absent: any backend"},
 "prefetch":{"type":["boolean","null"],"default":false,"description":"Have objects that are on local disk only brought to memory"},
 "preferred":{"type":["string","null"],"description":"Host, segment or instance that should have the copy"},
 "wait_ms":{"type":["integer","null"],"minimum":0,"maximum":25000,"default":0,"description":"How long to wait for the copies"}}},
"ProbeAnswer":{"type":"object","required":["exists"],"description":"Single values for key, lists in order for keys","properties":{
 "exists":{"description":"1 exists, 0 does not, -1 internal error, -600 not a key, -2000 backend unavailable",
 "oneOf":[{"type":"integer"},{"type":"array","items":{"type":"integer"}}]},
 "prefetch":{"description":"What was done: none, started, joined, suppressed or failed",
 "oneOf":[{"type":"string"},{"type":"array","items":{"type":"string"}}]}}},
"Store":{"type":"object","required":["backend_id","type","url"],"properties":{"backend_id":{"type":"string","minLength":1},
 "type":{"type":"string","enum":["mooncake_master","lmcache","webhook"]},"url":{"type":"string","description":"http://host:port/path"},
 "world_size":{"type":["integer","null"],"minimum":1,"maximum":65536,"default":1,"description":"lmcache only: ranks of the engines behind it"}}},
"StoreAdded":{"type":"object","required":["status","backend_id","changed","replaced"],"properties":{"status":{"type":"string"},
 "backend_id":{"type":"string"},"changed":{"type":"boolean"},"replaced":{"type":"boolean"}}},
"StoreRemoved":{"type":"object","required":["status","backend_id"],"properties":{"status":{"type":"string"},"backend_id":{"type":"string"}}},
"Stores":{"type":"object","required":["count","stores"],"properties":{"count":{"type":"integer"},"stores":{"type":"array","items":{
 "type":"object","properties":{"backend_id":{"type":"string"},"type":{"type":"string"},"url":{"type":"string"},
 "reachable":{"type":["boolean","null"],"description":"Whether the last look at it was answered; null: none has ended"},
 "objects":{"type":"integer"},
 "queued":{"type":"integer","description":"Orders that wait for their turn"},"running":{"type":"integer"},
 "refused_for_memory":{"type":"integer","description":"As the store told last"}}}}}},
"Promotion":{"type":"object","required":["operation","keys","tenant_id","preferred"],"properties":{
 "operation":{"type":"string","enum":["promote"]},"keys":{"type":"array","items":{"type":"string"}},"tenant_id":{"type":"string"},
 "preferred":{"type":["string","null"],"description":"Host, segment or instance that should have the copies; null: any"}}},
"PromotionWord":{"type":"string","enum":["accepted","already","rejected_pressure","unsupported","failed"],
 "description":"accepted is a promise; the store's events tell when the copy is there"},
"Promoted":{"type":"object","required":["results"],"properties":{"results":{"description":"In the order of the keys, or by key","oneOf":[
 {"type":"array","items":{"$ref":"#/components/schemas/PromotionWord"}},
 {"type":"object","additionalProperties":{"$ref":"#/components/schemas/PromotionWord"}}]}}},)json";

/// What is asked of a store of type `webhook`.
constexpr std::string_view webhooks =
    R"json("promote":{"post":{"summary":"Sent to the url of a store of type webhook: have these objects brought to memory",
"requestBody":{"required":true,"content":{"application/json":{"schema":{"$ref":"#/components/schemas/Promotion"}}}},
"responses":{"200":{"description":"What becomes of each key","content":{"application/json":{"schema":
 {"$ref":"#/components/schemas/Promoted"}}}},"429":{"description":"Not now, as after 503"},
"400":{"description":"May be for one key's sake, as 500 and all other 4xx but 401, 403, 405, 407 and 408: the keys are sent again )json"
    R"json(in halves, some times. After any other status all keys have failed"}}}})json";

/// Those of one path stand together.
constexpr std::array routes{
    store_route{"POST", "/exist", "Whether objects of stores exist; may have them brought to memory", "Probe", "ProbeAnswer"},
    store_route{"POST", "/stores", "Register who moves the bytes of a backend's objects", "Store", "StoreAdded"},
    store_route{"GET", "/stores", "Every registered store", "", "Stores"},
    store_route{"DELETE", "/stores/{backend_id}", "Forget a store and end what it was doing", "", "StoreRemoved"},
};

void append_content(std::string& out, std::string_view schema) {
  const std::string reference = R"({"schema":{"$ref":"#/components/schemas/)" + std::string(schema) + "\"}}";
  out += R"("content":{"application/json":)" + reference + R"(,"application/msgpack":)" + reference + "}";
}

void append_operation(std::string& out, const store_route& what) {
  std::string method(what.method);
  std::ranges::transform(method, method.begin(), [](unsigned char letter) { return static_cast<char>(std::tolower(letter)); });
  out.append("\"").append(method).append(R"(":{"summary":")").append(what.summary).append(R"(","security":[{},{"bearer":[]}],)");
  if (what.path.ends_with('}')) {
    out += R"("parameters":[{"name":"backend_id","in":"path","required":true,"schema":{"type":"string"}}],)";
  }
  if (!what.asked.empty()) {
    out += R"("requestBody":{"required":true,)";
    append_content(out, what.asked);
    out += "},";
  }
  out += R"("responses":{"200":{"description":"The answer",)";
  append_content(out, what.answered);
  out += R"(},"default":{"description":"Why there is none",)";
  append_content(out, "Error");
  out += "}}}";
}

}  // namespace

std::span<const store_route> store_routes() noexcept {
  return routes;
}

void append_store_paths(std::string& out) {
  std::string_view open;
  for (const store_route& each : routes) {
    if (each.path == open) {
      out += ',';
    } else {
      if (!open.empty()) out += "},";
      out.append("\"").append(each.path).append("\":{");
      open = each.path;
    }
    append_operation(out, each);
  }
  out += '}';
}

void append_store_webhooks(std::string& out) {
  out += webhooks;
}

void append_store_schemas(std::string& out) {
  out += schemas;
}

}  // namespace kvc::net

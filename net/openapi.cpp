#include "net/openapi.hpp"

#include <array>
#include <string>
#include <utility>

#include "net/answer_writer.hpp"
#include "net/coordinator_openapi.hpp"
#include "net/coordinator_router.hpp"
#include "net/http_reply.hpp"
#include "net/http_router.hpp"
#include "net/pages_openapi.hpp"
#include "net/store_openapi.hpp"

namespace kvc::net {
namespace {

/// What bodies and answers look like. Everything a member's name does not say is in its description.
constexpr std::string_view schemas = R"json({
"Error":{"type":"object","required":["error","reason"],"properties":{
 "error":{"type":"string","description":"One sentence for people"},
 "reason":{"type":"string","enum":["missing","invalid_type","invalid_value","out_of_range","unsupported","invalid_json","invalid_msgpack",
  "body_too_large","service_not_found","overloaded","draining","unauthorized","forbidden"]},
 "field":{"type":"string","description":"The member at fault"},
 "index":{"type":"integer","description":"Its element at fault"}}},
"Hash":{"description":"A 64-bit hash; integers are exact over the whole range, negative ones are taken as the same bits",
 "oneOf":[{"type":"integer"},{"type":"string","pattern":"^(-?[0-9]+|0[xX][0-9a-fA-F]+)$"}]},
"Scope":{"type":"object","required":["model","block_size"],"properties":{
 "model":{"type":"string","minLength":1,"description":"Also modelname or model_name"},
 "lora_name":{"type":["string","null"],"description":"Adapter; absent or empty is the base model"},
 "lora_id":{"type":["string","integer","null"],"deprecated":true,"description":"Alias of lora_name; not both"},
 "tenant_id":{"type":["string","null"],"default":"default"},
 "block_size":{"type":"integer","minimum":1,"maximum":4294967295,"description":"Tokens per block"},
 "cache_salt":{"type":["string","null"],"description":"Also additionalsalt or additional_salt"}}},
"Filters":{"type":"object","properties":{
 "instance_id":{"type":["string","null"],"description":"Exactly this row, zeros when unknown"},
 "instance_ids":{"type":["array","null"],"items":{"type":"string"},"description":"Only these rows"},
 "media":{"type":["array","null"],"items":{"type":"string"},"description":"Only these media are shown and counted"},
 "min_match":{"type":["integer","null"],"minimum":0,"description":"Tokens; rows below are left out"},
 "top_k":{"type":["integer","null"],"minimum":1,"description":"At most this many rows, the longest"},
 "detail":{"type":["boolean","null"],"default":false},
 "prefetch":{"type":["boolean","null"],"default":false,
  "description":"After the answer, have what lies behind the match on disks only brought to memory; needs instance_id or preferred"},
 "preferred":{"type":["string","null"],"description":"Host, segment or instance that should have the copies"},
 "prefetch_max_blocks":{"type":["integer","null"],"minimum":1,"maximum":65536,"description":"Absent: as the server is set"}}},
"TokenQuery":{"allOf":[{"$ref":"#/components/schemas/Scope"},{"$ref":"#/components/schemas/Filters"},{"type":"object","properties":{
 "token_ids":{"type":"array","items":{"type":"integer","minimum":0,"maximum":4294967295},
  "description":"The prompt; only complete blocks count. In MessagePack also a bin of little-endian u32"},
 "token_ids_b64":{"type":"string","contentEncoding":"base64","description":"Instead of token_ids: little-endian u32"},
 "extra_keys":{"type":["array","null"],"items":{"type":["array","null"]},
  "description":"Per block: null, or what the engine hashes with it: strings, integers, bytes, pairs of these, maps with a type"}},
 "anyOf":[{"required":["token_ids"]},{"required":["token_ids_b64"]}]}]},
"HashQuery":{"allOf":[{"$ref":"#/components/schemas/Scope"},{"$ref":"#/components/schemas/Filters"},{"type":"object",
 "required":["seq_hashes"],"properties":{
 "seq_hashes":{"type":"array","items":{"$ref":"#/components/schemas/Hash"},
  "description":"Of the prompt's blocks in order, see hash_kind; also block_hash or block_hashes"},
 "hash_kind":{"type":["string","null"],"enum":["sequence","engine",null],"default":"sequence",
  "description":"sequence: rolling hashes under the partition's seed. engine: what the engines call the blocks, in a fleet that pins one seed; of hashes longer than 64 bits the last eight bytes, the first of them highest"}}}]},
"BatchQuery":{"type":"object","required":["queries"],"properties":{"queries":{"type":"array","maxItems":4096,
 "items":{"anyOf":[{"$ref":"#/components/schemas/TokenQuery"},{"$ref":"#/components/schemas/HashQuery"}]}}}},
"Row":{"type":"object","required":["longest_matched","DP"],"description":"Lengths in tokens; further media appear under their own names",
 "properties":{"longest_matched":{"type":"integer",
  "description":"Of an engine with several KV-cache groups that answer for a prefix: blocks that any of these holds"},"GPU":{"type":"integer"},
 "DP":{"type":"object","additionalProperties":{"type":"integer"}},"CPU":{"type":"integer"},"DISK":{"type":"integer"},
 "tiers":{"type":"object","properties":{"gpu":{"type":"integer"},"cpu":{"type":"integer"},"disk":{"type":"integer"}}},
 "pools":{"type":"integer","description":"With detail: what an instance with nothing of its own would have of the shared pools"},
 "state":{"type":"string"},"lag_ms":{"type":["integer","null"]},"missing":{"type":"integer"},"seq_hashes":{"type":"integer"},
 "delay_ms":{"type":["integer","null"],"description":"How old the newest batch was when it was applied, by its publisher's clock"},
 "unproven_absences":{"type":"integer","description":"After which a publisher of what counts here may be another one"},
 "connected":{"type":"boolean","description":"All of the instance's streams are"},
 "generation":{"type":"integer","description":"Rises when a stream of the instance begins anew"}}},
"Matches":{"type":"object","description":"Tenant to instance to row",
 "additionalProperties":{"type":"object","additionalProperties":{"$ref":"#/components/schemas/Row"}}},
"BatchMatches":{"type":"object","required":["results"],"properties":{"results":{"type":"array",
 "items":{"anyOf":[{"$ref":"#/components/schemas/Matches"},{"$ref":"#/components/schemas/Error"}]}}}},
"Registration":{"type":"object","required":["endpoint","type","modelname","instance_id","block_size"],"properties":{
 "endpoint":{"type":"string","description":"tcp://host:port, tcp://[v6]:port or ipc://path"},
 "replay_endpoint":{"type":["string","null"]},
 "type":{"type":"string","description":"vLLM, SGLang, TensorRT-LLM, Mooncake, standard or auto, in any case"},
 "modelname":{"type":"string","minLength":1,"description":"Also model or model_name"},
 "lora_name":{"type":["string","null"]},
 "lora_id":{"type":["string","integer","null"],"deprecated":true,"description":"Alias of lora_name; not both"},
 "tenant_id":{"type":["string","null"],"default":"default"},
 "instance_id":{"type":"string","minLength":1},"block_size":{"type":"integer","minimum":1,"maximum":4294967295},
 "dp_rank":{"type":["integer","null"],"minimum":0,"maximum":4294967295,"default":0},
 "additionalsalt":{"type":["string","null"],"description":"Also additional_salt or cache_salt"},
 "topic":{"type":["string","null"],"default":"","description":"Compared whole; empty: any; with * at its end: any that begins so"},
 "bind":{"type":["boolean","null"],"default":false,"description":"We bind the endpoint and the publisher connects"},
 "after_loss":{"type":["string","null"],"enum":["drop","keep",null],
  "description":"What happens to blocks that a lost batch may have removed; absent: as the server is set"},
 "expect_idle":{"type":["boolean","null"],"default":false,"description":"Silence means nothing: never stale, blocks stay"},
 "hash_seed":{"type":["integer","null"],"minimum":0},"medium":{"type":["string","null"]},"backend_id":{"type":["string","null"]},
 "copy_counting":{"type":["boolean","null"]},"shared":{"type":["boolean","null"],"description":"Pools only; their default is true"},
 "shards":{"type":["integer","null"],"minimum":1,"maximum":16384,
  "description":"Pools only: how many objects make up a block (ranks, halves, layers). Absent: told by the keys, or learned from them"}}},
"Registered":{"type":"object","required":["status","instance_id","changed","replaced"],"properties":{"status":{"type":"string"},
 "instance_id":{"type":"string"},"changed":{"type":"boolean"},"replaced":{"type":"boolean"},
 "warnings":{"type":"array","items":{"type":"string"}}}},
"Unregistration":{"type":"object","required":["instance_id"],"properties":{"instance_id":{"type":"string","minLength":1},
 "tenant_id":{"type":["string","null"],"default":"default"},
 "dp_rank":{"type":["integer","null"],"minimum":0,"maximum":4294967295,"description":"Absent: every rank"},
 "type":{"type":["string","null"],"description":"Mooncake: pools only; another known type: engines only; absent: both"}}},
"Unregistered":{"type":"object","required":["status","removed_instances"],"properties":{"status":{"type":"string"},
 "removed_instances":{"type":"array","items":{"type":"string","description":"instance|tenant|rank"}}}},
"Events":{"type":"array","description":"Streamed. In MessagePack the compact form: records one after the other instead of a list","items":{
 "type":"object","description":"The standard's stored event; hashes and positions are the standard's",
 "properties":{"event_type":{"type":"string","enum":["stored","waiting"]},"instance_id":{"type":"string"},
 "engine_hashes":{"type":"array","items":{"type":"integer"},"description":"What the engine calls the blocks; removals come under these"},
 "local_hashes":{"type":"array","items":{"type":"integer"},"description":"Tells the blocks, as tokens are not kept"},
 "copies":{"type":"integer","description":"When there are more than one"},
 "parent_engine_hash":{"type":["integer","null"],"description":"What a waiting block waits for"}}}},
"GlobalView":{"type":"object","required":["count","partitions","arena"],"properties":{"count":{"type":"integer"},
 "partitions":{"type":"array","items":{"type":"object","properties":{
 "tenant_id":{"type":"string"},"model":{"type":"string"},"lora_name":{"type":"string"},"additional_salt":{"type":"string"},
 "block_size":{"type":"integer"},"hash_seed":{"type":"integer"},
 "blocks":{"type":"integer","description":"Distinct blocks kept, those behind the last held block of a run included"},
 "runs":{"type":"integer","description":"Runs of consecutive blocks"},
 "entries":{"type":"integer","description":"Blocks held, counted once for every worker and medium"},
 "slots":{"type":"integer","description":"Pairs of worker and medium that hold blocks"},
 "refused_slots":{"type":"integer","description":"How often there was no room for such a pair"},
 "bytes":{"type":"integer"},"workers":{"type":"integer"},
 "pools":{"type":"integer","description":"Of the workers, those that are pools"},
 "pool_names":{"type":"integer","description":"Names of blocks whose meaning pools have asked for, in all partitions that differ by their adapter only"}}}},
 "arena":{"type":"object","description":"Memory of all indexes","properties":{
 "bytes":{"type":"object","description":"In use, by what for","additionalProperties":{"type":"integer"}},
 "mapped_bytes":{"type":"integer","description":"Taken from the system"},
 "fragmentation":{"type":"number","description":"Share of these that nobody uses, 0 to 1"},
 "reclaimed_bytes":{"type":"integer","description":"Ever given back to the system"}}}}},
"Report":{"type":"object"}})json";

struct shapes {
  std::string_view asked;     ///< schema of the body; empty: none
  std::string_view answered;  ///< schema of the answer
};

shapes shapes_of(endpoint which) {
  switch (which) {
    case endpoint::query: return {"TokenQuery", "Matches"};
    case endpoint::query_by_hash: return {"HashQuery", "Matches"};
    case endpoint::query_batch: return {"BatchQuery", "BatchMatches"};
    case endpoint::register_publisher: return {"Registration", "Registered"};
    case endpoint::unregister_publisher: return {"Unregistration", "Unregistered"};
    case endpoint::dump: return {"", "Events"};
    case endpoint::global_view: return {"", "GlobalView"};
    case endpoint::services: return {"", "Services"};
    case endpoint::workers: return {"", "Workers"};
    case endpoint::alive: return {"", "Alive"};
    case endpoint::health: return {"", "Health"};
    case endpoint::ready: return {"", "Readiness"};
    default: return {"", "Report"};
  }
}

constexpr std::string_view json_type = "application/json";

/// `only`: the one type there is, a text's unless it is JSON; empty: either form of what the schema says.
void append_content(std::string& out, std::string_view schema, std::string_view only = {}) {
  const bool is_text = !only.empty() && only != json_type;
  const std::string reference =
      is_text ? R"({"schema":{"type":"string"}})" : R"({"schema":{"$ref":"#/components/schemas/)" + std::string(schema) + "\"}}";
  out.append(R"("content":{")").append(only.empty() ? json_type : only).append("\":").append(reference);
  if (only.empty()) out.append(R"(,"application/msgpack":)").append(reference);
  out += '}';
}

/// What GET /dump may be narrowed by; each absent parameter means any.
void append_filters(std::string& out) {
  constexpr std::array texts{"instance_id", "tenant_id", "model", "lora_name", "cache_salt"};
  constexpr std::array numbers{"dp_rank", "block_size"};
  out += R"("parameters":[)";
  for (const char* each : texts) out.append(R"({"name":")").append(each).append(R"(","in":"query","schema":{"type":"string"}},)");
  for (const char* each : numbers) out.append(R"({"name":")").append(each).append(R"(","in":"query","schema":{"type":"integer"}},)");
  out.back() = ']';
  out += ',';
}

/// The type of what is never told in another form, whatever is asked for.
std::string_view only_type_of(endpoint which) {
  if (which == endpoint::metrics) return "text/plain";
  if (which == endpoint::openapi) return json_type;
  return which == endpoint::docs ? "text/html" : std::string_view();
}

void append_route(std::string& out, const route_entry& route) {
  const shapes bodies = shapes_of(route.endpoint);
  const std::string method = route.method == "POST" ? "post" : "get";
  out.append("\"").append(route.path).append(R"(":{")").append(method).append(R"(":{"summary":")").append(route.summary);
  out += R"(","operationId":")" + std::string(route.path.substr(1, route.path.find('.') - 1)) + "\",";
  out += route.access == access::open ? R"("security":[],)" : R"("security":[{},{"bearer":[]}],)";
  if (route.endpoint == endpoint::services || route.endpoint == endpoint::workers) {
    out += R"("parameters":[{"name":"instance_id","in":"query","schema":{"type":"string"}}],)";
  } else if (route.endpoint == endpoint::dump) {
    append_filters(out);
  }
  if (!bodies.asked.empty()) {
    out += R"("requestBody":{"required":true,)";
    append_content(out, bodies.asked);
    out += "},";
  }
  out += R"("responses":{"200":{"description":"The answer",)";
  append_content(out, bodies.answered, only_type_of(route.endpoint));
  out += R"(},"default":{"description":"Why there is none",)";
  append_content(out, "Error");
  out += "}}}}";
}

}  // namespace

http_reply openapi_reply(std::string_view version) {
  std::string body =
      R"({"openapi":"3.1.0","info":{"title":"KV Conductor","summary":"Which engine holds how much of a prompt, and the coordinator of a fleet of MP servers",)"
      R"("version":)";
  answer_writer(body, wire_form::json).text(version);
  body += R"(},"paths":{)";
  bool is_first = true;
  for (const route_entry& each : all_routes()) {
    if (!is_first) body += ",";
    is_first = false;
    append_route(body, each);
  }
  body += ',';
  append_store_paths(body);
  body += ',';
  append_coordinator_paths(body);
  body += R"(},"webhooks":{)";
  append_store_webhooks(body);
  body += R"(},"components":{"securitySchemes":{"bearer":{"type":"http","scheme":"bearer"}},"schemas":)";
  body += schemas;
  body.back() = ',';
  append_page_schemas(body);
  append_store_schemas(body);
  append_coordinator_schemas(body);
  body += "}}}";
  return ok_reply(std::move(body), wire_form::json);
}

http_reply docs_reply() {
  std::string body =
      "<!doctype html>\n<html lang=\"en\"><meta charset=\"utf-8\"><title>KV Conductor</title>\n<h1>KV Conductor</h1>\n"
      "<p>All of it, with members and answers, is in the description: <a href=\"openapi.json\">openapi.json</a> (OpenAPI "
      "3.1).</p>\n<table>\n";
  // Nothing in methods, paths and summaries means anything to HTML.
  const auto add = [&body](std::string_view method, std::string_view path, std::string_view summary) {
    body.append("<tr><td>").append(method).append("<td><code>").append(path).append("</code><td>").append(summary).append("\n");
  };
  for (const route_entry& each : all_routes()) add(each.method, each.path, each.summary);
  for (const store_route& each : store_routes()) add(each.method, each.path, each.summary);
  for (const coordinator_route& each : coordinator_routes()) add(each.method, each.path, each.summary);
  body += "</table>\n</html>\n";
  http_reply reply = ok_reply(std::move(body), wire_form::text);
  reply.content_type = "text/html; charset=utf-8";
  return reply;
}

}  // namespace kvc::net

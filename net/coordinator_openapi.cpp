#include "net/coordinator_openapi.hpp"

#include <algorithm>
#include <cctype>
#include <string_view>
#include <vector>

#include "net/coordinator_router.hpp"

namespace kvc::net {
namespace {

using enum coordinator_endpoint;

/// What bodies and answers look like. (Source: spec coordinator-api, section 2.)
constexpr std::string_view schemas = R"json("MpServer":{"type":"object","required":["ip","http_port"],"properties":{
 "ip":{"type":"string","minLength":1,"description":"Name or address of the server's HTTP interface"},
 "http_port":{"type":"integer","minimum":1,"maximum":65535},
 "instance_id":{"type":"string","default":"","description":"Empty: the coordinator makes one up"},
 "metadata":{"type":"object","additionalProperties":{"type":"string"}},
 "p2p_advertised_url":{"type":"string","default":""},
 "mq_port":{"type":"integer","minimum":0,"maximum":65535,"default":0}}},
"MpServerAdded":{"type":"object","required":["instance_id","re_registered"],"properties":{
 "instance_id":{"type":"string"},"re_registered":{"type":"boolean"}}},
"MpServerAlive":{"type":"object","required":["instance_id"],"properties":{"instance_id":{"type":"string"}}},
"MpServers":{"type":"object","required":["instances"],"properties":{"instances":{"type":"array","items":{
 "allOf":[{"$ref":"#/components/schemas/MpServer"},{"type":"object","properties":{
 "registration_time":{"type":"number","description":"Seconds since the epoch"}}}]}}}},
"SaltUsage":{"type":"object","required":["cache_salt","quota_limit_gb","quota_exists","usage_gb"],"description":"In GiB","properties":{
 "cache_salt":{"type":"string"},"quota_limit_gb":{"type":"number"},"quota_exists":{"type":"boolean"},"usage_gb":{"type":"number"}}},
"AllUsage":{"type":"object","required":["total_gb","by_cache_salt"],"properties":{"total_gb":{"type":"number"},
 "by_cache_salt":{"type":"array","items":{"$ref":"#/components/schemas/SaltUsage"}}}},
"Quota":{"type":"object","required":["limit_gb"],"properties":{"limit_gb":{"type":"number","minimum":0,"description":"In GiB"},
 "tier":{"type":"string","enum":["l1","l2","all"],"default":"l2","description":"Only l2 has quotas"}}},
"QuotaChanged":{"type":"object","required":["cache_salt","limit_gb","status"],"properties":{"cache_salt":{"type":"string"},
 "limit_gb":{"type":"number"},"status":{"type":"string","enum":["ok","removed","not_found"]}}},
"QuotaConfig":{"type":"object","required":["default_limit_gb"],"properties":{"default_limit_gb":{"type":["number","null"],"minimum":0,
 "description":"Limit of cache salts without a quota; null: they are never evicted"}}},
"ObjectKey":{"type":"object","required":["chunk_hash_hex","model_name","kv_rank"],"properties":{
 "chunk_hash_hex":{"type":"string","description":"At most 2,048 bytes"},
 "model_name":{"type":"string","description":"At most 4,096 bytes"},
 "kv_rank":{"type":"integer"},"object_group_id":{"type":"integer","minimum":0,"default":0},"cache_salt":{"type":"string","maxLength":128,"default":""}}},
"UsageEvents":{"type":"object","required":["instance_id","seq","events"],"properties":{"instance_id":{"type":"string"},
 "seq":{"type":"integer","minimum":1},"tier":{"type":"string","enum":["l1","l2","all"],"default":"l2"},
 "events":{"type":"array","items":{"type":"object","required":["type","key","bytes"],"properties":{
 "type":{"type":"string","enum":["store","lookup","delete"]},"key":{"$ref":"#/components/schemas/ObjectKey"},
 "bytes":{"type":"integer","minimum":0}}}}}},
"Recorded":{"type":"object","required":["recorded"],"properties":{"recorded":{"type":"integer"}}},
"EventBatches":{"type":"object","required":["batches"],"properties":{"batches":{"type":"array","items":{"type":"object",
 "required":["instance_id","incarnation","seq","event_type"],"properties":{"instance_id":{"type":"string"},
 "incarnation":{"type":"integer","minimum":0},"seq":{"type":"integer","minimum":1},
 "event_type":{"type":"string","enum":["store","access","delete","config"]},"tier":{"type":"string","default":"l2"},
 "entries":{"type":"array","items":{"type":"object","required":["key"],"properties":{"key":{"$ref":"#/components/schemas/ObjectKey"},
 "size_bytes":{"type":"integer","minimum":0}}}}}}}}},
"BatchesTaken":{"type":"object","required":["applied","duplicates","stale"],"properties":{"applied":{"type":"integer"},
 "duplicates":{"type":"integer"},"stale":{"type":"integer"}}},
"Prefetch":{"type":"object","required":["instance_id","model_name","world_size"],"properties":{"instance_id":{"type":"string"},
 "model_name":{"type":"string"},"world_size":{"type":"integer","minimum":1},
 "token_ids":{"type":"array","items":{"type":"integer"},"maxItems":1000000},"cache_salt":{"type":"string","default":""}}},
"PrefetchSubmitted":{"type":"object","required":["instance_id","request_id","chunks","status"],"properties":{
 "instance_id":{"type":"string"},"request_id":{"type":"string"},"chunks":{"type":"integer"},"status":{"type":"string"}}},
"PrefetchStatus":{"type":"object","description":"What the MP server answers"},
"Chunks":{"type":"object","properties":{"ranges":{"type":"array","items":{"type":"object","required":["model_scope","old_st_base"],
 "properties":{"model_scope":{"type":"string"},"tokens":{"type":"array","items":{"type":"integer"}},
 "object_keys":{"type":"array","items":{"type":"string"}},"old_st_base":{"type":"integer","minimum":0}}}}}},
"ChunksInserted":{"type":"object","required":["inserted"],"properties":{"inserted":{"type":"integer"}}},
"ChunkKeys":{"type":"object","properties":{"object_keys":{"type":"array","items":{"type":"string"}}}},
"ChunksRemoved":{"type":"object","required":["removed"],"properties":{"removed":{"type":"integer"}}},
"BlendPrompt":{"type":"object","required":["model_scope"],"properties":{"model_scope":{"type":"string"},
 "tokens_b64":{"type":"string","contentEncoding":"base64","description":"Little-endian u32"},
 "tokens_u64_b64":{"type":"string","contentEncoding":"base64","description":"Instead of tokens_b64: little-endian u64"}}},
"BlendMatches":{"type":"object","required":["matches"],"properties":{"matches":{"type":"array","items":{"type":"object",
 "required":["object_key","old_st","cur_st"],"properties":{"object_key":{"type":"string"},"old_st":{"type":"integer"},
 "cur_st":{"type":"integer"}}}}}},
"Detail":{"type":"object","properties":{"detail":{"description":"A sentence, or with 422 everything that is wrong","oneOf":[
 {"type":"string"},{"type":"array","items":{"type":"object","required":["type","loc","msg"],"properties":{"type":{"type":"string"},
 "loc":{"type":"array"},"msg":{"type":"string"},"input":{},"ctx":{"type":"object"}}}}]},
 "error":{"type":"string","description":"Instead of detail: unknown instance, invalid quota limit"}}})json";

struct shapes {
  std::string_view asked;     ///< schema of the body; empty: none
  std::string_view answered;  ///< schema of the answer; empty: none
};

shapes shapes_of(coordinator_endpoint which) {
  switch (which) {
    case add_instance: return {"MpServer", "MpServerAdded"};
    case list_instances: return {"", "MpServers"};
    case remove_instance: return {"", ""};
    case heartbeat: return {"", "MpServerAlive"};
    case list_usage: return {"", "AllUsage"};
    case read_usage: return {"", "SaltUsage"};
    case set_quota: return {"Quota", "QuotaChanged"};
    case remove_quota: return {"", "QuotaChanged"};
    case read_default_quota: return {"", "QuotaConfig"};
    case set_default_quota: return {"QuotaConfig", "QuotaConfig"};
    case usage_events: return {"UsageEvents", "Recorded"};
    case event_batches: return {"EventBatches", "BatchesTaken"};
    case publish_chunks: return {"Chunks", "ChunksInserted"};
    case remove_chunks: return {"ChunkKeys", "ChunksRemoved"};
    case match_chunks: return {"BlendPrompt", "BlendMatches"};
    case submit_prefetch: return {"Prefetch", "PrefetchSubmitted"};
    case poll_prefetch: return {"", "PrefetchStatus"};
  }
  return {};
}

bool has_tier(coordinator_endpoint which) {
  return which == list_usage || which == read_usage || which == remove_quota;
}

std::string content_of(std::string_view schema) {
  return R"("content":{"application/json":{"schema":{"$ref":"#/components/schemas/)" + std::string(schema) + "\"}}}";
}

void append_parameters(std::string& out, const coordinator_route& route) {
  std::string list;
  for (std::string_view rest = route.path; rest.find('{') != std::string_view::npos;) {
    rest.remove_prefix(rest.find('{') + 1);
    list.append(R"({"name":")")
        .append(rest.substr(0, rest.find('}')))
        .append(R"(","in":"path","required":true,"schema":{"type":"string"}},)");
  }
  if (has_tier(route.endpoint))
    list += R"({"name":"tier","in":"query","schema":{"type":"string","enum":["l1","l2","all"],"default":"l2"}},)";
  if (list.empty()) return;
  list.back() = ']';
  out.append(R"("parameters":[)").append(list).append(",");
}

void append_operation(std::string& out, const coordinator_route& route) {
  const shapes bodies = shapes_of(route.endpoint);
  std::string method(route.method);
  std::ranges::transform(method, method.begin(), [](unsigned char letter) { return static_cast<char>(std::tolower(letter)); });
  out.append("\"").append(method).append(R"(":{"summary":")").append(route.summary).append("\",");
  out += R"("security":[{},{"bearer":[]}],)";
  append_parameters(out, route);
  if (!bodies.asked.empty()) out.append(R"("requestBody":{"required":true,)").append(content_of(bodies.asked)).append("},");
  if (bodies.answered.empty()) {
    out += R"("responses":{"204":{"description":"Gone, or never there"},)";
  } else {
    out.append(R"("responses":{"200":{"description":"The answer",)").append(content_of(bodies.answered)).append("},");
  }
  out.append(R"("default":{"description":"Why there is none",)").append(content_of("Detail")).append("}}}");
}

}  // namespace

void append_coordinator_paths(std::string& out) {
  std::vector<std::string_view> told;
  for (const coordinator_route& each : coordinator_routes()) {
    if (std::ranges::find(told, each.path) != told.end()) continue;
    if (!told.empty()) out += ',';
    told.push_back(each.path);
    out.append("\"").append(each.path).append("\":{");
    bool is_first = true;
    for (const coordinator_route& same : coordinator_routes()) {
      if (same.path != each.path) continue;
      if (!is_first) out += ',';
      is_first = false;
      append_operation(out, same);
    }
    out += '}';
  }
}

void append_coordinator_schemas(std::string& out) {
  out += schemas;
}

}  // namespace kvc::net

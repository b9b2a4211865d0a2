#include "net/pages_openapi.hpp"

#include <string_view>

namespace kvc::net {
namespace {

/// What a member's name does not say is in its description. (Source: core/stream_status.)
constexpr std::string_view schemas = R"json("StreamState":{"type":"string",
 "enum":["joining","catching_up","whole","recovering","incomplete","stale","stopped"],
 "description":"whole: every batch up to last_seqno is applied. incomplete: some are lost or may be, or blocks evicted. stale: silent"},
"Counts":{"type":"object","additionalProperties":{"type":"integer"}},
"Held":{"type":"object","description":"Blocks by medium","additionalProperties":{"type":"integer"}},
"Services":{"type":"object","required":["count","services"],"properties":{"count":{"type":"integer"},
 "services":{"type":"array","items":{"$ref":"#/components/schemas/Service"}}}},
"Service":{"type":"object",
 "description":"A registration, under the Conductor's names and ours, and its stream, counted since it was registered","properties":{
 "Endpoint":{"type":"string"},"endpoint":{"type":"string"},"ReplayEndpoint":{"type":"string"},"replay_endpoint":{"type":"string"},
 "Type":{"type":"string"},"type":{"type":"string"},"ModelName":{"type":"string"},"modelname":{"type":"string"},
 "LoraName":{"type":"string"},"lora_name":{"type":"string"},"TenantID":{"type":"string"},"tenant_id":{"type":"string"},
 "InstanceID":{"type":"string"},"instance_id":{"type":"string"},"BlockSize":{"type":"integer"},"block_size":{"type":"integer"},
 "DPRank":{"type":"integer"},"dp_rank":{"type":"integer"},"AdditionalSalt":{"type":"string"},"additionalsalt":{"type":"string"},
 "topic":{"type":"string"},"after_loss":{"type":["string","null"],"description":"null: as the server is set"},
 "expect_idle":{"type":"boolean"},"bind":{"type":"boolean"},"hash_seed":{"type":"integer"},"medium":{"type":"string"},
 "backend_id":{"type":"string"},"copy_counting":{"type":"boolean"},"shared":{"type":"boolean"},"shards":{"type":["integer","null"]},
 "class":{"type":"string","enum":["engine","pool"]},
 "state":{"$ref":"#/components/schemas/StreamState"},
 "connection":{"type":"string","enum":["connecting","connected","disconnected","failed"],
  "description":"failed: there is no socket, as the address is taken or none; it is tried again"},
 "last_seqno":{"type":["integer","null"],"description":"Of the newest batch applied"},
 "lag_ms":{"type":["integer","null"],"description":"Age of that batch"},
 "delay_ms":{"type":["integer","null"],"description":"How old it was when it was applied, by its publisher's clock"},
 "lag_batches":{"type":"integer","description":"Known to have been published and not applied yet"},
 "batches":{"type":"integer"},"events":{"type":"integer"},
 "rejected":{"type":"integer","description":"Messages, batches and events that were not understood"},
 "bad_messages":{"type":"integer","description":"Of them, messages of another shape"},
 "bad_batches":{"type":"integer","description":"Of them, payloads that are no batch"},
 "other_topics":{"type":"integer","description":"Messages for others"},
 "stale_batches":{"type":"integer","description":"Batches that had been applied already"},
 "gaps":{"type":"integer"},"replays":{"type":"integer"},"replays_failed":{"type":"integer","description":"Never answered"},
 "replays_by_outcome":{"$ref":"#/components/schemas/Counts"},"restarts":{"type":"integer","description":"Of its publisher"},
 "failures":{"type":"integer",
  "description":"Times something went wrong here, as for want of memory: what it held was dropped, and it is tried again"},
 "missing":{"type":"integer","description":"Batches lost for good in this generation"},
 "lost":{"type":"integer","description":"The same in all generations"},
 "unproven_absences":{"type":"integer","description":"After which its publisher may be another one"},
 "doubted_blocks":{"type":"integer","description":"Dropped, as what was missed may have removed them"},
 "evicted":{"type":"integer","description":"Blocks given up for the budget of the index, in this generation"},
 "orphans":{"type":"integer","description":"Blocks that wait for a parent"},"dropped_orphans":{"type":"integer"},
 "unknown_removals":{"type":"integer","description":"Of blocks that nobody had stored"},
 "rank_mismatches":{"type":"integer","description":"Batches of another rank than registered"},
 "skipped_blocks":{"type":"integer","description":"Stored and not indexed, as they cannot be"},
 "reblocked_pages":{"type":"integer","description":"Blocks of another size than registered, made to fit"},
 "uncounted_blocks":{"type":"integer","description":"Held in KV-cache groups that cannot answer for a prefix"},
 "unplaced_events":{"type":"integer","description":"About objects whose blocks nothing names"},
 "decoded":{"description":"Events by dialect","$ref":"#/components/schemas/Counts"},
 "rejected_events":{"description":"By reason","$ref":"#/components/schemas/Counts"},
 "unknown_words":{"type":"object","description":"Tags, fields and media nobody has told us about: how often each was met",
  "additionalProperties":{"$ref":"#/components/schemas/Counts"}},
 "pool":{"type":"object","description":"Pools only","properties":{"objects":{"type":"integer"},
  "waiting":{"type":"integer","description":"Blocks whose names no engine has explained"},
  "doubtful":{"type":"integer","description":"Names that engines use for different blocks"},
  "incomplete":{"type":"integer","description":"Blocks of which a part is missing, or may be"},
  "joined":{"type":"integer","description":"Blocks whose names an engine has explained"},
  "dropped":{"type":"integer","description":"Blocks given up because of a bound"}}},
 "blocks":{"$ref":"#/components/schemas/Held"},
 "other_ranks":{"type":"array","items":{"type":"integer"},"description":"That the stream speaks for as well"},
 "hash_recipe":{"type":"object","description":"Whether its engine hashes as the others of its partition do","properties":{
  "verdict":{"type":"string","enum":["unknown","agrees","names_differ","chains_differ","contradicts_tokens"]},
  "shared_roots":{"type":"integer"},"agreeing_roots":{"type":"integer"},"shared_blocks":{"type":"integer"},
  "contradictions":{"type":"integer"}}},
 "generation":{"type":"integer","description":"Of what is held: one more each time it begins anew"},"lane":{"type":"integer"}}},
"NotWhole":{"type":"object","properties":{"instance_id":{"type":"string"},"tenant_id":{"type":"string"},"dp_rank":{"type":"integer"},
 "class":{"type":"string","enum":["engine","pool"]},"state":{"$ref":"#/components/schemas/StreamState"}}},
"Workers":{"type":"object","required":["count","workers"],"properties":{"workers":{"type":"array","items":{"type":"object","properties":{
 "instance_id":{"type":"string"},"tenant_id":{"type":"string"},"dp_rank":{"type":"integer"},
 "state":{"description":"Of its most troubled stream","$ref":"#/components/schemas/StreamState"},"whole":{"type":"boolean"},
 "lag_ms":{"type":["integer","null"],"description":"Age of the newest batch applied"},"blocks":{"$ref":"#/components/schemas/Held"},
 "missing":{"type":"integer","description":"Batches lost for good"},
 "delay_ms":{"type":["integer","null"],"description":"How old it was then, by its publisher's clock: the greatest of its streams"},
 "unproven_absences":{"type":"integer","description":"After which its publisher may be another one"},
 "connected":{"type":"boolean","description":"All of its streams are"},
 "generation":{"type":"integer","description":"Rises when a stream of it begins anew"}}}},"count":{"type":"integer"}}},
"Alive":{"type":"object","required":["status"],"properties":{"status":{"type":"string","enum":["healthy"]}}},
"Health":{"type":"object","required":["status","version","uptime_s","components"],"properties":{
 "status":{"type":"string","enum":["healthy"]},"version":{"type":"string"},"uptime_s":{"type":"integer"},
 "components":{"type":"object","properties":{"lanes":{"type":"integer"},
  "http":{"type":"object","properties":{"connections":{"type":"integer"},"draining":{"type":"boolean"}}},
  "streams":{"description":"How many there are, and how many in each state","$ref":"#/components/schemas/Counts"},
  "index":{"type":"object","properties":{"partitions":{"type":"integer"},"blocks":{"type":"integer"}}}}}}},
"Readiness":{"type":"object","required":["status"],
 "description":"With 503 not ready, and why. Either tells of streams that are not whole; past their grace they hold back nothing",
 "properties":{"status":{"type":"string","enum":["ready","not ready"]},"error":{"type":"string"},"reason":{"type":"string"},
 "reasons":{"type":"array","items":{"type":"string"}},
 "streams":{"description":"How many there are, and how many in each state","$ref":"#/components/schemas/Counts"},
 "not_whole":{"type":"array","maxItems":16,"description":"The most troubled first",
  "items":{"$ref":"#/components/schemas/NotWhole"}}}},)json";

}  // namespace

void append_page_schemas(std::string& out) {
  out += schemas;
}

}  // namespace kvc::net

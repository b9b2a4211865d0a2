// One row per setting. The default is the member initialiser in settings.hpp or in the net struct it belongs to.
#include "app/config_fields.hpp"

#include <array>

#include "app/config_texts.hpp"

namespace kvc::app {
namespace {

template <class Target>
[[nodiscard]] std::uint64_t count_of(const Target& value) {
  if constexpr (requires { value.count(); }) {
    return static_cast<std::uint64_t>(value.count());
  } else {
    return static_cast<std::uint64_t>(value);
  }
}

/// Access to a whole number or a duration through a captureless function that finds it inside the settings.
template <class Reach>
[[nodiscard]] constexpr integer_access whole(Reach, std::uint64_t least, std::uint64_t most) {
  return {.get = [](const settings& from) { return count_of(Reach{}(from)); },
          .put =
              [](settings& into, std::uint64_t value) {
                auto& target = Reach{}(into);
                using target_type = std::remove_reference_t<decltype(target)>;
                if constexpr (requires { typename target_type::rep; }) {
                  target = target_type(static_cast<typename target_type::rep>(value));
                } else {
                  target = static_cast<target_type>(value);
                }
              },
          .least = least,
          .most = most};
}

/// The same for a number with a fraction, or a duration in seconds.
template <class Reach>
[[nodiscard]] constexpr decimal_access decimal(Reach, double least, double most, bool without_least = false) {
  return {.get =
              [](const settings& from) {
                const auto value = Reach{}(from);
                if constexpr (requires { value.count(); }) {
                  return value.count();
                } else {
                  return value;
                }
              },
          .put =
              [](settings& into, double value) {
                auto& target = Reach{}(into);
                target = std::remove_reference_t<decltype(target)>(value);
              },
          .least = least,
          .most = most,
          .without_least = without_least};
}

template <class Reach>
[[nodiscard]] constexpr boolean_access yes_or_no(Reach) {
  return {.get = [](const settings& from) { return Reach{}(from); }, .put = [](settings& into, bool value) { Reach{}(into) = value; }};
}

[[nodiscard]] constexpr integer_access size(integer_access bytes) {
  bytes.is_size = true;
  return bytes;
}

template <class Reach>
[[nodiscard]] constexpr list_access tokens(Reach) {
  return {.get = [](const settings& from) { return Reach{}(from); },
          .put =
              [](settings& into, const std::vector<std::string>& items) {
                if (!are_tokens(items)) return false;
                Reach{}(into) = items;
                return true;
              },
          .numbers = false};
}

#define KVC_AT(member) ([](auto& all) -> auto& { return all.member; })

constexpr boolean_access pin_lanes{[](const settings& from) { return from.pin_lanes; },
                                   [](settings& into, bool value) { into.pin_lanes = value; }};

constexpr std::uint64_t kib = 1024;
constexpr std::uint64_t mib = kib * kib;
constexpr std::uint64_t gib = mib * kib;
constexpr std::uint64_t tib = gib * kib;
constexpr std::uint64_t hour_ms = 3'600'000;
constexpr std::uint64_t day_ms = 24 * hour_ms;
constexpr double ten_years_s = 315'360'000;
constexpr std::uint64_t any_u64 = ~std::uint64_t{0};

constexpr std::string_view host_words = "an IPv4 or IPv6 address; 0.0.0.0 = every IPv4 address, :: = every address";
constexpr std::string_view token_words = "a list of tokens of 1 to 4096 letters, digits and -._~+/=; empty = none";

constexpr std::array rows{
    field_info{"process", "lanes", whole(KVC_AT(lanes), 0, 1024), "0 = one per CPU this process may use",
               "threads that serve requests and apply events"},
    field_info{"process", "pin_lanes", pin_lanes, "true or false", "keep each lane on a CPU of its own; no more lanes than CPUs then"},
    field_info{"process", "zmq_io_threads", whole(KVC_AT(zmq_io_threads), 1, 64), "",
               "threads that move answers to replays, and as many again for the events of publishers that connect to us"},
    field_info{"process", "hash_seed", whole(KVC_AT(hash_seed), 0, any_u64), "0 is a seed like any other",
               "XXH3 seed of block hashes where a registration names none"},
    field_info{"process", "shutdown_timeout_ms", whole(KVC_AT(shutdown_timeout), 0, hour_ms),
               "0 = do not wait, but for half a second in which idle connections leave",
               "how long running requests may take to finish after the first TERM"},

    // Before the row it changes, so that the plain name outranks it.
    field_info{"http", "coordinator_host", text_access{get_http_host, put_coordinator_host}, "as http_host, or localhost",
               "the MP coordinator's name for http_host", "http_host"},
    field_info{"http", "http_host", text_access{get_http_host, put_http_host}, host_words, "address to listen on"},
    field_info{"http", "http_ports", list_access{get_http_ports, put_http_ports, true},
               "1 to 16 different ports of 0..65535; 0 = a free port, told in the log",
               "every route is served on every one of these ports"},
    field_info{"http", "http_server_port", integer_access{get_first_port, put_first_port, 0, 65'535}, "0 = a free port",
               "the Conductor's name for the first of http_ports", "http_ports"},
    field_info{"http", "coordinator_port", integer_access{get_last_port, put_last_port, 0, 65'535}, "0 = a free port",
               "the MP coordinator's name for the last of http_ports", "http_ports"},
    field_info{"http", "http_idle_timeout_ms", whole(KVC_AT(http.idle_timeout), 10, 24 * hour_ms), "",
               "how long a connection may wait between requests"},
    field_info{"http", "http_header_timeout_ms", whole(KVC_AT(http.header_timeout), 10, hour_ms), "",
               "how long a request's header may take to arrive"},
    field_info{"http", "http_body_timeout_ms", whole(KVC_AT(http.body_timeout), 10, hour_ms), "",
               "how long a request's body may take to arrive"},
    field_info{"http", "http_handler_timeout_ms", whole(KVC_AT(http.handler_timeout), 10, hour_ms), "",
               "how long answering a request may take"},
    field_info{"http", "http_write_timeout_ms", whole(KVC_AT(http.write_timeout), 10, hour_ms), "",
               "how long a client may take to read its answer"},
    field_info{"http", "http_max_header_bytes", whole(KVC_AT(http.max_header_bytes), kib, mib), "",
               "largest request header, and as much in trailers and chunk extensions"},
    field_info{"http", "http_max_body_bytes", whole(KVC_AT(http.max_body_bytes), kib, 4 * gib), "", "largest request body; more is a 413"},
    field_info{"http", "http_max_connections", whole(KVC_AT(http.max_connections), 1, 1'000'000), "",
               "open connections, all lanes together, and three quarters of the open files allowed at most; more are refused with a 503"},
    field_info{"http", "http_body_budget_bytes", whole(KVC_AT(http.body_budget_bytes), kib, 1024 * gib), "not below http_max_body_bytes",
               "bytes of all bodies being read at once, and of all answers being written; more are refused with a 503"},
    field_info{
        "http", "auth_tokens", tokens(KVC_AT(http.auth_tokens)), token_words,
        "bearer tokens that may call every route; with no token at all every caller may. Health, /readyz and /metrics need none and tell "
        "the names of streams and cache salts to anybody",
        "", true},
    field_info{"http", "auth_read_tokens", tokens(KVC_AT(http.auth_read_tokens)), token_words,
               "bearer tokens that may ask but not register or unregister", "", true},

    field_info{
        "streams", "stream_receive_high_water", whole(KVC_AT(streams.receive_high_water), 1, 10'000'000), "",
        "messages kept per stream that does not receive, as during a replay; more wait with the publisher, and what it drops is a gap"},
    field_info{"streams", "stream_max_payload_bytes", whole(KVC_AT(streams.max_payload_bytes), kib, gib), "",
               "a publisher that sends a larger frame is disconnected"},
    field_info{"streams", "stream_batches_per_turn", whole(KVC_AT(streams.batches_per_turn), 1, 65'536), "",
               "batches applied before other work of the lane gets a turn"},
    field_info{"streams", "stream_blocks_per_turn", whole(KVC_AT(streams.blocks_per_turn), 1, 16'777'216), "",
               "blocks of a leaving worker removed before other work of the lane gets a turn"},
    field_info{"streams", "stream_max_orphans", whole(KVC_AT(streams.max_orphans), 0, 16'777'216), "0 = such blocks are dropped at once",
               "blocks per stream that may wait for a parent not seen yet"},
    field_info{"streams", "stream_replay_timeout_ms", whole(KVC_AT(streams.replay_timeout), 10, hour_ms), "",
               "longest silence inside one replay"},
    field_info{"streams", "stream_replay_attempts", whole(KVC_AT(streams.replay_attempts), 1, 1'000), "",
               "requests without progress, then batches left out as untransportable, before a gap is given up"},
    field_info{"streams", "stream_idle_check_ms", whole(KVC_AT(streams.idle_check), 10, hour_ms), "",
               "how often an idle stream looks around while something is to be found out; sixty times as long when nothing is"},
    field_info{"streams", "stream_after_loss", text_access{get_after_loss, put_after_loss}, "drop or keep",
               "what happens to blocks that a batch lost for good may have removed: they leave, or they stay and may be overstated"},
    field_info{"streams", "stream_stale_after_ms", whole(KVC_AT(streams.stale_after), 0, day_ms), "0 = never",
               "silence, neither a batch nor a connection, after which a stream is stale"},
    field_info{"streams", "stream_evict_after_ms", whole(KVC_AT(streams.evict_after), 0, day_ms),
               "0 = never; else not before the stream is stale, for which stream_stale_after_ms must not be 0",
               "silence after which the blocks of a stream leave"},
    field_info{"streams", "ready_grace_ms", whole(KVC_AT(streams.ready_grace), 0, hour_ms), "0 = new streams never hold back readiness",
               "how long a new stream that is not whole yet may hold back readiness"},

    field_info{"coordinator", "coordinator_instance_timeout", decimal(KVC_AT(coordinator.instance_timeout), 0, ten_years_s, true), "",
               "seconds of silence after which an MP server is dropped"},
    field_info{"coordinator", "coordinator_health_check_interval", decimal(KVC_AT(coordinator.health_check_interval), 0, ten_years_s),
               "0 = never", "seconds between two looks for silent MP servers"},
    field_info{"coordinator", "coordinator_eviction_check_interval", decimal(KVC_AT(coordinator.eviction_check_interval), 0, ten_years_s),
               "0 = never", "seconds between two eviction cycles"},
    field_info{"coordinator", "coordinator_eviction_ratio", decimal(KVC_AT(coordinator.eviction_ratio), 0, 1),
               "0 = none with unit keys, but all of a salt without quota", "share of a cache salt's objects that a cycle evicts"},
    field_info{"coordinator", "coordinator_trigger_watermark", decimal(KVC_AT(coordinator.trigger_watermark), 0, 1, true), "",
               "share of its quota at which a cache salt is evicted from"},
    field_info{"coordinator", "coordinator_eviction_unit", text_access{get_eviction_unit, put_eviction_unit}, "keys or bytes",
               "evict by share of objects, or as many as bring the usage under the watermark"},
    field_info{"coordinator", "coordinator_blend_chunk_size", whole(KVC_AT(coordinator.blend_chunk_size), 1, 1'048'576), "",
               "tokens per chunk of the CacheBlend directory; must be that of the MP servers"},
    field_info{"coordinator", "coordinator_blend_probe_stride", whole(KVC_AT(coordinator.blend_probe_stride), 1, 1'048'576), "",
               "tokens from one offset of a prompt that is looked at to the next"},
    field_info{"coordinator", "coordinator_blend_max_chunks", whole(KVC_AT(coordinator.blend_max_chunks), 1'024, 1'073'741'824), "",
               "chunks the directory holds, each with some 20 bytes taken at the start; beyond, the least recently used ones leave"},
    field_info{"coordinator", "coordinator_timeout_keep_alive", whole(KVC_AT(coordinator.timeout_keep_alive), 1, 86'400), "",
               "seconds a connection may wait after a request to the coordinator; more than the MP servers' heartbeat interval"},
    field_info{"coordinator", "coordinator_enable_startup_resync", yes_or_no(KVC_AT(coordinator.enable_startup_resync)), "true or false",
               "ask an MP server at the start what lies in the shared storage"},
    field_info{"coordinator", "coordinator_resync_poll_interval", decimal(KVC_AT(coordinator.resync_poll_interval), 0, ten_years_s, true),
               "", "seconds between two looks for an MP server to ask"},
    field_info{"coordinator", "coordinator_resync_max_wait", decimal(KVC_AT(coordinator.resync_max_wait), 0, ten_years_s),
               "0 = only those that are there at the first look", "seconds to wait for an MP server to ask"},
    field_info{"coordinator", "coordinator_resync_page_size", whole(KVC_AT(coordinator.resync_page_size), 1, 1'000'000), "",
               "objects asked for at a time; MP servers have a bound of their own"},
    field_info{"coordinator", "coordinator_max_keys", whole(KVC_AT(coordinator.max_keys), 1, 100'000'000), "",
               "objects whose usage is tracked; stores beyond are counted only"},
    field_info{"coordinator", "coordinator_quota_file", text_access{get_quota_file, put_quota_file},
               "a path; empty = quotas end with the process", "file that keeps the quotas from one start to the next"},
    field_info{"coordinator", "coordinator_call_timeout", decimal(KVC_AT(coordinator.call_timeout), 0, 3'600, true), "",
               "seconds a call to an MP server may wait for a connection, and may take once it has one"},

    field_info{"index", "index_budget", size(whole(KVC_AT(streams.index_budget), 0, tib * 1024)),
               "0 = any amount; as text also with K, M, G or T, as in 8G",
               "bytes the index may use; over it, the blocks matched least recently are evicted, fairly by tenant"},
    field_info{"index", "index_reserve", size(whole(KVC_AT(index_reserve), 0, tib * 1024)),
               "0 = none; as text also with K, M, G or T, as in 8G",
               "bytes of memory taken and touched at the start, so that no lane waits until the system has found and cleared them"},

    field_info{"stores", "store_max_objects", whole(KVC_AT(stores.max_objects), 1, 100'000'000), "",
               "objects kept per table, of which there are eight; a backend's are all in one; more are refused and counted"},
    field_info{"stores", "store_max_key_bytes", whole(KVC_AT(stores.max_key_bytes), 16, 4'096), "", "longest key of an object"},
    field_info{"stores", "store_call_timeout_ms", whole(KVC_AT(stores.store_call_timeout), 10, hour_ms), "",
               "how long one call to a store may take"},
    field_info{"stores", "exist_max_keys", whole(KVC_AT(stores.exist_max_keys), 1, 1'000'000), "", "keys of one probe; more is a 400"},
    field_info{"stores", "prefetch_dedup_ms", whole(KVC_AT(stores.prefetch_dedup), 0, day_ms), "0 = not at all",
               "how long an object that was promoted is left alone"},
    field_info{"stores", "prefetch_cooldown_ms", whole(KVC_AT(stores.prefetch_cooldown), 0, day_ms), "0 = not at all",
               "how long an object whose promotion failed is left alone"},
    field_info{"stores", "prefetch_deadline_ms", whole(KVC_AT(stores.prefetch_deadline), 10, hour_ms), "",
               "how long a promotion may take, waiting for its turn included"},
    field_info{"stores", "prefetch_in_flight", whole(KVC_AT(stores.prefetch_in_flight), 1, 1'000'000), "",
               "objects being promoted or waiting for it, of all stores; more are suppressed"},
    field_info{"stores", "prefetch_concurrency", whole(KVC_AT(stores.prefetch_concurrency), 1, 64), "",
               "calls for promotions at one time, per store"},
    field_info{"stores", "prefetch_max_blocks", whole(KVC_AT(stores.prefetch_max_blocks), 1, 65'536), "",
               "blocks that one query may have promoted"},
    field_info{"stores", "promotion_hits", whole(KVC_AT(stores.promotion_hits), 1, 100),
               "must not be below the master's promotion_admission_threshold",
               "how often a Mooncake master is asked for an object so that it promotes it"},
    field_info{"stores", "reconcile_age_ms", whole(KVC_AT(stores.reconcile_age), 0, day_ms), "0 = always",
               "what is known of an object for longer is read again from its store when somebody asks for it"},
    field_info{"stores", "reconcile_rate", whole(KVC_AT(stores.reconcile_rate), 0, 1'000'000), "0 = nothing is read again",
               "objects read again per second and store, asked for or not"},

    field_info{"log", "log_level", text_access{get_log_level, put_log_level}, "trace, debug, info, warn, error or off",
               "least severe lines to write"},
    field_info{"log", "log_modules", list_access{get_log_modules, put_log_modules, false, true},
               "module=level, modules app, http, stream, fleet; empty = log_level for all", "levels of single modules"},
};

}  // namespace

std::span<const field_info> config_fields() noexcept {
  return rows;
}

}  // namespace kvc::app

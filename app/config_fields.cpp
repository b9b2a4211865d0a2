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
constexpr std::uint64_t any_u64 = ~std::uint64_t{0};

constexpr std::string_view token_words = "a list of tokens of 1 to 4096 letters, digits and -._~+/=; empty = none";

constexpr std::array rows{
    field_info{"process", "lanes", whole(KVC_AT(lanes), 0, 1024), "0 = one per CPU this process may use",
               "threads that serve requests and apply events"},
    field_info{"process", "pin_lanes", pin_lanes, "true or false", "keep each lane on a CPU of its own"},
    field_info{"process", "zmq_io_threads", whole(KVC_AT(zmq_io_threads), 1, 64), "", "threads that move event bytes for all lanes"},
    field_info{"process", "hash_seed", whole(KVC_AT(hash_seed), 0, any_u64), "0 is a seed like any other",
               "XXH3 seed of block hashes where a registration names none"},
    field_info{"process", "shutdown_timeout_ms", whole(KVC_AT(shutdown_timeout), 0, hour_ms), "0 = do not wait",
               "how long running requests may take to finish after the first TERM"},

    field_info{"http", "http_host", text_access{get_http_host, put_http_host},
               "an IPv4 or IPv6 address; 0.0.0.0 = every IPv4 address, :: = every address", "address to listen on"},
    field_info{"http", "http_ports", list_access{get_http_ports, put_http_ports, true},
               "1 to 16 different ports of 0..65535; 0 = a free port, told in the log", "every route is served on every one of these ports"},
    field_info{"http", "http_server_port", integer_access{get_first_port, put_first_port, 0, 65'535}, "0 = a free port",
               "the Conductor's name for the first of http_ports", "http_ports"},
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
    field_info{"http", "http_max_header_bytes", whole(KVC_AT(http.max_header_bytes), kib, mib), "", "largest request header"},
    field_info{"http", "http_max_body_bytes", whole(KVC_AT(http.max_body_bytes), kib, 4 * gib), "", "largest request body; more is a 413"},
    field_info{"http", "http_max_connections", whole(KVC_AT(http.max_connections), 1, 1'000'000), "",
               "open connections, all lanes together; more are refused with a 503"},
    field_info{"http", "http_body_budget_bytes", whole(KVC_AT(http.body_budget_bytes), kib, 1024 * gib), "not below http_max_body_bytes",
               "bytes of all bodies being read at once; more are refused with a 503"},
    field_info{"http", "auth_tokens", tokens(KVC_AT(http.auth_tokens)), token_words,
               "bearer tokens that may call every route; with no token at all every caller may", "", true},
    field_info{"http", "auth_read_tokens", tokens(KVC_AT(http.auth_read_tokens)), token_words,
               "bearer tokens that may ask but not register or unregister", "", true},

    field_info{"streams", "stream_receive_high_water", whole(KVC_AT(streams.receive_high_water), 1, 10'000'000), "",
               "messages kept per stream while its lane is busy; what comes after that is a gap"},
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
               "requests without progress before a gap is given up"},
    field_info{"streams", "stream_idle_check_ms", whole(KVC_AT(streams.idle_check), 10, hour_ms), "",
               "how often an idle stream looks at its connection; five times as long when nothing depends on it"},
    field_info{"streams", "ready_grace_ms", whole(KVC_AT(streams.ready_grace), 0, hour_ms), "0 = new streams never hold back readiness",
               "how long a new stream that is not whole yet may hold back readiness"},

    field_info{"index", "index_budget", size(whole(KVC_AT(streams.index_budget), 0, tib * 1024)),
               "0 = any amount; as text also with K, M, G or T, as in 8G",
               "bytes the index may use; over it, the blocks matched least recently are evicted, fairly by tenant"},

    field_info{"log", "log_level", text_access{get_log_level, put_log_level}, "trace, debug, info, warn, error or off",
               "least severe lines to write"},
    field_info{"log", "log_modules", list_access{get_log_modules, put_log_modules, false},
               "module=level, modules app, http, stream, fleet; empty = log_level for all", "levels of single modules"},
};

}  // namespace

std::span<const field_info> config_fields() noexcept { return rows; }

}  // namespace kvc::app

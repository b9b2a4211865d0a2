# Fails when a file includes what its room may not: run as `cmake -DROOT=<source folder> -P layering.cmake`.
#
# Rules (each line of a room's files is looked at; only `#include` lines and the words named below count):
#   core    no net, app, perf, tests; no Asio, Beast, JSON, ZeroMQ, msgpack, threads, streams, logging, metrics, clock reads
#   net     no app, perf, tests
#   app     no perf, tests, and no protocol library
#   perf    no app, tests; protocol libraries only through net
#   a source includes the header of its own name first, so that compiling it shows that the header needs nothing before it
#   nothing is awaited in a conditional expression; no two test files of a room have one suite
#   one file (or the few named) per third-party library, and one for the environment; the benchmarks' references are a second
cmake_minimum_required(VERSION 3.25)
if(NOT DEFINED ROOT)
  get_filename_component(ROOT "${CMAKE_CURRENT_LIST_DIR}/.." ABSOLUTE)
endif()
set(faults 0)

# forbid(<room> <regex> <why> [EXCEPT <file regex>] [ALLOW <line regex>]): no line of the room's sources may match, outside the excepted
# files and lines.
function(forbid room regex why)
  cmake_parse_arguments(PARSE_ARGV 3 rule "" "EXCEPT;ALLOW" "")
  file(GLOB_RECURSE files RELATIVE "${ROOT}" "${ROOT}/${room}/*.hpp" "${ROOT}/${room}/*.cpp")
  foreach(name IN LISTS files)
    if(rule_EXCEPT AND name MATCHES "${rule_EXCEPT}")
      continue()
    endif()
    file(STRINGS "${ROOT}/${name}" hits REGEX "${regex}")
    if(rule_ALLOW)
      list(FILTER hits EXCLUDE REGEX "${rule_ALLOW}")
    endif()
    foreach(line IN LISTS hits)
      message(SEND_ERROR "${name}: ${line}\n  ${why}")
      math(EXPR faults "${faults} + 1")
    endforeach()
  endforeach()
  set(faults ${faults} PARENT_SCOPE)
endfunction()

set(inc "^[ \t]*#[ \t]*include[ \t]*")

# What the compiler of Debian 12 gets wrong, without a word.
foreach(room core net app perf tests)
  forbid(${room} "[?].*co_await|^ *: co_await" "g++ 12 destroys what is awaited in a conditional expression too early; write an if")
endforeach()

# Rooms only look down: app -> net -> core.
forbid(core "${inc}[\"<](net|app|perf|tests)/" "core is the lowest room")
forbid(net "${inc}[\"<](app|perf|tests)/" "net must not know app; what it needs from there comes through constructors")
forbid(app "${inc}[\"<](perf|tests)/" "app is shipped, these are not")
forbid(perf "${inc}[\"<](app|tests)/" "perf uses core and net only")
forbid(core "${inc}\"[a-z_]+\\.hpp\"" "includes are written from the repository root")
forbid(net "${inc}\"[a-z_]+\\.hpp\"" "includes are written from the repository root")
forbid(app "${inc}\"[a-z_]+\\.hpp\"" "includes are written from the repository root")

# core: values in, values out.
forbid(core "${inc}<boost/(asio|beast|json|url|process)" "core does no input or output")
forbid(core "${inc}<(zmq|msgpack|spdlog|fmt|prometheus|openssl|systemd)" "core knows no wire, log or metrics library")
forbid(core "${inc}<(thread|iostream|ostream|istream|fstream|print|future|stop_token|sys/|unistd)" "core starts no threads and does no input or output"
       EXCEPT "^core/(large_page|page_allocator)\\.cpp$")  # ask the system for pages
forbid(core "(steady_clock|system_clock|high_resolution_clock)::now|[^a-z_]gettimeofday|clock_gettime" "time enters core as an argument")
forbid(core "random_device|[^a-z_]rand\\(" "randomness enters core as a seed")

# net: the pure translators include no Asio.
file(GLOB_RECURSE translators RELATIVE "${ROOT}" "${ROOT}/net/*.hpp" "${ROOT}/net/*.cpp")
list(FILTER translators INCLUDE REGEX "net/(zmq_frames|event_|dump_extra_keys|msgpack_|api_types|http_router|http_message|http_reply|field_rules|answer_writer|json_|request_|list_elements|refusal)")
foreach(name IN LISTS translators)
  file(STRINGS "${ROOT}/${name}" hits REGEX "${inc}(<boost/(asio|beast)|\"net/(runtime|task_scope|zmq_socket|fleet_service)\\.hpp)")
  foreach(line IN LISTS hits)
    message(SEND_ERROR "${name}: ${line}\n  translators turn bytes into values and wait for nothing")
    math(EXPR faults "${faults} + 1")
  endforeach()
endforeach()

# One room, and there one file, per third-party library.
foreach(room core net app perf)
  # The benchmark's reference is the published design on the same map; it is linked into no server (app may not include perf).
  forbid(${room} "${inc}<(oneapi/)?tbb/" "only the index uses oneTBB, and the design it is measured against"
         EXCEPT "^(core/run_directory|perf/bench_positional)\\.cpp$")
  forbid(${room} "${inc}<xxh" "only the block hasher and its long digest use xxHash" EXCEPT "^core/(block_hasher|long_digest)\\.cpp$")
  forbid(${room} "${inc}<msgpack" "only the writer uses msgpack, and what our reader is measured beside"
         EXCEPT "^(net/msgpack_writer|perf/micro_library)\\.cpp$")
  forbid(${room} "${inc}<zmq" "only the socket, its engine and its monitor use libzmq" EXCEPT "^net/zmq_(socket|engine|monitor)\\.cpp$")
  forbid(${room} "${inc}<prometheus" "only the metrics page uses the metrics library" EXCEPT "^net/metrics\\.cpp$")
  forbid(${room} "${inc}<spdlog|${inc}<fmt" "only the log and its sink use spdlog" EXCEPT "^(net/log|app/log_sink)\\.cpp$")
  forbid(${room} "${inc}<systemd" "only the notifier uses libsystemd" EXCEPT "^app/service_notify\\.cpp$")
  forbid(${room} "getenv|[^a-z_]environ[^a-z_m]" "only app/config_env reads the environment" EXCEPT "^app/config_env\\.cpp$")
  forbid(${room} "std::getenv|secure_getenv" "only app/config_env reads the environment" EXCEPT "^app/config_env\\.cpp$")
  forbid(${room} "${inc}<boost/json/(value|object|array|string|parse|serialize|parser|stream_parser|value_to|value_from)\\.hpp|${inc}<boost/json\\.hpp"
         "documents as trees are for configuration, the simulator and results; request bodies are read as they stream in"
         EXCEPT "^(app/config_(file|print)|net/openapi|net/api_types|perf/sim_.*|perf/report_figures|perf/micro_library)\\.(cpp|hpp)$")
endforeach()

# Headers of one room show no third-party types of another; Asio's executors and awaitables are the common language of net and app.
foreach(room core net app)
  file(GLOB headers RELATIVE "${ROOT}" "${ROOT}/${room}/*.hpp")
  foreach(name IN LISTS headers)
    file(STRINGS "${ROOT}/${name}" hits REGEX "${inc}<(zmq|msgpack|(oneapi/)?tbb/|xxh|spdlog|prometheus|systemd|boost/json|openssl)")
    foreach(line IN LISTS hits)
      message(SEND_ERROR "${name}: ${line}\n  third-party types stay inside the file that uses them")
      math(EXPR faults "${faults} + 1")
    endforeach()
    file(STRINGS "${ROOT}/${name}" once REGEX "^#pragma once$")
    if(NOT once)
      message(SEND_ERROR "${name}: no #pragma once")
      math(EXPR faults "${faults} + 1")
    endif()
  endforeach()
endforeach()

# What lone_headers.cmake does not compile by itself is compiled alone by its source.
foreach(room core net app perf tests)
  file(GLOB_RECURSE sources RELATIVE "${ROOT}" "${ROOT}/${room}/*.cpp")
  foreach(name IN LISTS sources)
    string(REGEX REPLACE "cpp$" "hpp" header "${name}")
    if(NOT EXISTS "${ROOT}/${header}")
      continue()
    endif()
    file(STRINGS "${ROOT}/${name}" first REGEX "^#[ \t]*include" LIMIT_COUNT 1)
    if(NOT first STREQUAL "#include \"${header}\"")
      message(SEND_ERROR "${name}: ${first}\n  a source includes the header of its own name first")
      math(EXPR faults "${faults} + 1")
    endif()
  endforeach()
endforeach()

# Some test files of a room are compiled together, so that two which share a suite would share the names they have for themselves.
foreach(room core net app perf system chaos)
  file(GLOB sources RELATIVE "${ROOT}" "${ROOT}/tests/${room}/*.cpp")
  set(suites)
  foreach(name IN LISTS sources)
    file(STRINGS "${ROOT}/${name}" opened REGEX "^BOOST_[A-Z]+_TEST_SUITE\\(")
    foreach(line IN LISTS opened)
      string(REGEX REPLACE "^[^(]*\\(([a-z0-9_]+).*" "\\1" suite "${line}")
      if(suite IN_LIST suites)
        message(SEND_ERROR "${name}: ${suite}\n  another file of the room has this suite")
        math(EXPR faults "${faults} + 1")
      endif()
      list(APPEND suites ${suite})
    endforeach()
  endforeach()
endforeach()

# Tasks are spawned through the task scope; the runtime itself needs futures to stop.
foreach(room net app perf)
  forbid(${room} "asio::detached|[^a-z_]detached\\)" "no orphan tasks: spawn through net::task_scope")
  forbid(${room} "co_spawn\\(" "spawn through net::task_scope, or await what runs on another lane" EXCEPT "^net/(task_scope|runtime)\\.cpp$"
         ALLOW "co_await asio::co_spawn\\(")
endforeach()

if(faults GREATER 0)
  message(FATAL_ERROR "layering: ${faults} faults")
endif()
message(STATUS "layering: every include is where it may be")

// `kv-conductor-bench json`: what reading requests and writing answers costs.
#pragma once

#include "perf/bench_report.hpp"
#include "perf/micro_plan.hpp"

namespace kvc::perf {

/// Figures in nanoseconds. For bodies of 4,096 and 131,072 tokens and of 128 hashes: `plain`, our one-pass reader; `general`, the reader
/// for everything else, which is Boost.JSON's scanner with our handler (the same body with one escaped letter); `library`, Boost.JSON to a
/// value; `packed`, the tokens as a MessagePack bin; `copy`, the bytes copied, the floor. For answers of 64 rows: `answer_json`,
/// `answer_msgpack`, and `answer_library`, Boost.JSON writing the same from a value that is there. Throws std::runtime_error when a reader
/// refuses.
[[nodiscard]] bench_report measure_json(const micro_plan& plan);

}  // namespace kvc::perf

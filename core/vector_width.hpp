// Whether vectors of 512 bits make this CPU faster.
#pragma once

namespace kvc::core {

/// Whether a step of 512 bits is worth taking: the CPU has AVX-512 (F and BW), and is of a kind that keeps its clock while it does. Intel's
/// first three kinds of servers with AVX-512 (Skylake, Cascade Lake and Cooper Lake) run everything slower for most of a millisecond behind
/// each such step, so that AVX2 is faster by a tenth (core/README.md, "Why"); VBMI2 is what came with the next. Asked of the CPU at each
/// call: callers keep the answer. Any lane.
[[nodiscard]] inline bool wide_vectors_pay() noexcept {
#if defined(__x86_64__)
  __builtin_cpu_init();
  return __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512bw") && __builtin_cpu_supports("avx512vbmi2");
#else
  return false;
#endif
}

}  // namespace kvc::core

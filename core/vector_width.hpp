// Whether vectors of 512 bits make this CPU faster.
#pragma once

namespace kvc::core {

/// Whether a step of 512 bits is worth taking: the CPU has AVX-512 (F and BW), and is of a kind that keeps its clock while it does. Intel's
/// first three kinds of servers with AVX-512 (Skylake, Cascade Lake and Cooper Lake) lower it for a while behind such steps, by Intel's
/// optimization manual; on Cascade Lake AVX2 was faster by a tenth (core/README.md, "Why"). VBMI2 is what came with the next kind. Sums of
/// polynomial_hash, which AVX-512 takes a quarter of the time for, do not ask here. Asked of the CPU at each call: callers keep the answer.
/// Any lane.
[[nodiscard]] inline bool wide_vectors_pay() noexcept {
#if defined(__x86_64__)
  __builtin_cpu_init();
  return __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512bw") && __builtin_cpu_supports("avx512vbmi2");
#else
  return false;
#endif
}

}  // namespace kvc::core

#include "perf/bench_machine.hpp"

#include <array>
#include <cstdio>
#include <ctime>
#include <fstream>
#include <memory>
#include <sched.h>
#include <string_view>

namespace kvc::perf {
namespace {

constexpr const char* unknown = "unknown";

std::string first_line(const char* path) {
  std::ifstream file(path);
  std::string line;
  std::getline(file, line);
  return line.empty() ? unknown : line;
}

std::string cpu_model() {
  std::ifstream file("/proc/cpuinfo");
  for (std::string line; std::getline(file, line);) {
    // arm64 kernels tell numbers only.
    if (!line.starts_with("model name") && !line.starts_with("CPU part")) continue;
    const auto colon = line.find(": ");
    if (colon != std::string::npos) return line.substr(colon + 2);
  }
  return unknown;
}

unsigned usable_cores() {
  cpu_set_t allowed;
  CPU_ZERO(&allowed);
  if (::sched_getaffinity(0, sizeof(allowed), &allowed) != 0) return 0;
  return static_cast<unsigned>(CPU_COUNT(&allowed));
}

std::string output_of(const char* command) {
  struct closer {
    void operator()(std::FILE* pipe) const noexcept { ::pclose(pipe); }
  };
  const std::unique_ptr<std::FILE, closer> pipe(::popen(command, "re"));
  std::array<char, 256> line{};
  if (!pipe || std::fgets(line.data(), line.size(), pipe.get()) == nullptr) return unknown;
  std::string text(line.data());
  while (text.ends_with('\n')) text.pop_back();
  return text.empty() ? unknown : text;
}

std::string describe_build() {
#ifdef __clang__
  std::string text = "clang " __clang_version__;
#else
  std::string text = "g++ " __VERSION__;
#endif
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
  text += ", WITH SANITIZERS: these figures mean nothing";
#elif !defined(__OPTIMIZE__) || !defined(NDEBUG)
  text += ", NOT A RELEASE BUILD: these figures mean little";
#endif
  return text;
}

std::string today() {
  const std::time_t now = std::time(nullptr);
  std::tm parts{};
  ::gmtime_r(&now, &parts);
  std::array<char, 16> text{};
  return std::string(text.data(), std::strftime(text.data(), text.size(), "%Y-%m-%d", &parts));
}

}  // namespace

bench_machine describe_machine() {
  return {.cpu = cpu_model(),
          .cores = usable_cores(),
          .governor = first_line("/sys/devices/system/cpu/cpu0/cpufreq/scaling_governor"),
          .huge_pages = first_line("/sys/kernel/mm/transparent_hugepage/enabled"),
          .build = describe_build(),
          .date = today(),
          .commit = output_of("git describe --always --dirty 2>/dev/null")};
}

}  // namespace kvc::perf

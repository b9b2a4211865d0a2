#include "perf/bench_fresh.hpp"

#include <array>
#include <bit>
#include <cerrno>
#include <cstdint>
#include <cstdio>
#include <cstring>
#include <exception>
#include <optional>
#include <signal.h>
#include <string_view>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>
#include <utility>

#include "perf/bench_stolen.hpp"

namespace kvc::perf {
namespace {

/// Far more than any report has.
constexpr std::size_t max_report_bytes = std::size_t{1} << 20;

std::string write_down(const bench_report& report) {
  std::string text;
  for (const bench_figure& figure : report.figures()) {
    text += figure.name + ' ' + std::to_string(std::bit_cast<std::uint64_t>(figure.value)) + '\n';
  }
  return text;
}

bench_report read_back(std::string_view text) {
  bench_report report;
  while (!text.empty()) {
    const std::size_t end = text.find('\n');
    const std::size_t gap = text.find(' ');
    report.add(std::string(text.substr(0, gap)),
               std::bit_cast<double>(std::uint64_t{std::stoull(std::string(text.substr(gap + 1, end - gap - 1)))}));
    text.remove_prefix(end + 1);
  }
  return report;
}

[[noreturn]] void be_the_child(int out, const std::function<bench_report()>& measure) noexcept {
  int status = 1;
  try {
    const std::string text = write_down(measure());
    std::size_t sent = 0;
    while (sent < text.size()) {
      const ssize_t taken = ::write(out, text.data() + sent, text.size() - sent);
      if (taken <= 0) break;
      sent += static_cast<std::size_t>(taken);
    }
    status = sent == text.size() ? 0 : 1;
  } catch (const std::exception& fault) {
    std::fprintf(stderr, "kv-conductor-bench: %s\n", fault.what());
  }
  ::_exit(status);
}

std::string read_all(int in) {
  std::string text;
  std::array<char, 4'096> part;
  while (text.size() < max_report_bytes) {
    const ssize_t got = ::read(in, part.data(), part.size());
    if (got < 0 && errno == EINTR) continue;
    if (got <= 0) break;
    text.append(part.data(), static_cast<std::size_t>(got));
  }
  return text;
}

}  // namespace

boost::system::result<bench_report, std::string> measure_fresh(const std::function<bench_report()>& measure) {
  std::array<int, 2> ends{};
  if (::pipe(ends.data()) != 0) return std::string("no pipe for the run's figures: ") + std::strerror(errno);
  const pid_t parent = ::getpid();
  const pid_t child = ::fork();
  if (child < 0) {
    const std::string reason = std::strerror(errno);
    for (const int end : ends) ::close(end);
    return "no process for the run: " + reason;
  }
  if (child == 0) {
    ::close(ends[0]);
    ::prctl(PR_SET_PDEATHSIG, SIGKILL);
    if (::getppid() != parent) ::_exit(1);
    be_the_child(ends[1], measure);
  }
  ::close(ends[1]);
  const std::string text = read_all(ends[0]);
  ::close(ends[0]);
  int status = 0;
  while (::waitpid(child, &status, 0) < 0 && errno == EINTR) {
  }
  if (WIFSIGNALED(status)) {
    std::string reason = "the run was ended by signal " + std::to_string(WTERMSIG(status));
    if (WTERMSIG(status) == SIGKILL) reason += " (by hand, or the machine ran out of memory)";
    return reason;
  }
  if (WEXITSTATUS(status) != 0) return "the run failed with exit code " + std::to_string(WEXITSTATUS(status));
  return read_back(text);
}

boost::system::result<bench_report, std::string> measure_quietly(const std::function<bench_report()>& measure, double most_stolen,
                                                                 const std::string& figure) {
  std::optional<bench_report> quietest;
  double least_stolen = 1;
  for (unsigned tries = 1;; ++tries) {
    const auto before = cpu_time_now();
    auto measured = measure_fresh(measure);
    const auto after = cpu_time_now();
    if (!measured || !before || !after) return measured;
    const double stolen = stolen_share(*before, *after);
    measured->add(figure, stolen);
    if (stolen <= most_stolen) return measured;
    if (!quietest || stolen < least_stolen) {
      least_stolen = stolen;
      quietest = std::move(*measured);
    }
    if (tries == most_tries) return std::move(*quietest);
    std::fprintf(stderr, "the host took %.2f %% of the CPUs: measured again (%u of %u)\n", 100 * stolen, tries + 1, most_tries);
  }
}

}  // namespace kvc::perf

#include "perf/bench_server.hpp"

#include <array>
#include <cerrno>
#include <charconv>
#include <csignal>
#include <cstring>
#include <fcntl.h>
#include <filesystem>
#include <fstream>
#include <poll.h>
#include <sched.h>
#include <sstream>
#include <stdexcept>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

namespace kvc::perf {
namespace {

constexpr std::string_view port_words = " ports=";

std::uint16_t read_port(std::string_view output) {
  const std::size_t line = output.find("listening");
  const std::size_t at = line == std::string_view::npos ? line : output.find(port_words, line);
  std::uint16_t port = 0;
  if (at == std::string_view::npos || output.find('\n', at) == std::string_view::npos) return port;
  std::from_chars(output.data() + at + port_words.size(), output.data() + output.size(), port);
  return port;
}

/// In the new process, as long as it is ours.
[[noreturn]] void give_up(const std::string& reason) {
  static_cast<void>(!::write(STDERR_FILENO, reason.data(), reason.size()));
  ::_exit(127);
}

}  // namespace

bool stay_on_cpu(int cpu) noexcept {
  cpu_set_t only;
  CPU_ZERO(&only);
  CPU_SET(static_cast<std::size_t>(cpu), &only);
  return ::sched_setaffinity(0, sizeof(only), &only) == 0;
}

bench_server::bench_server(const place& where, std::vector<std::string> flags) {
  flags.insert(flags.begin(), {where.program, "--http-host", "127.0.0.1", "--http-ports", "0", "--lanes", "1", "--log-level", "info"});
  std::vector<char*> words;
  for (std::string& each : flags) words.push_back(each.data());
  words.push_back(nullptr);
  std::array<int, 2> ends{};
  if (::pipe2(ends.data(), O_CLOEXEC) != 0) throw std::runtime_error(std::string("no pipe for the server: ") + std::strerror(errno));
  // What it says when the pipe is full is dropped: nobody reads on, and it must not wait for a reader, least of all when it stops.
  ::fcntl(ends[1], F_SETFL, O_NONBLOCK);
  const pid_t parent = ::getpid();
  pid_ = ::fork();
  if (pid_ < 0) {
    const std::string reason = std::strerror(errno);
    for (const int end : ends) ::close(end);
    throw std::runtime_error("no process for the server: " + reason);
  }
  if (pid_ == 0) {
    ::prctl(PR_SET_PDEATHSIG, SIGKILL);
    if (::getppid() != parent) ::_exit(1);  // it has gone before that
    ::dup2(ends[1], STDOUT_FILENO);
    ::dup2(ends[1], STDERR_FILENO);
    // Somewhere else it would be measured beside its load, and nobody would know.
    if (where.cpu >= 0 && !stay_on_cpu(where.cpu)) give_up("there is no CPU " + std::to_string(where.cpu) + " for it");
    ::execv(words[0], words.data());
    give_up(std::string("it cannot be started: ") + std::strerror(errno));
  }
  ::close(ends[1]);
  output_ = ends[0];
  std::string heard;
  constexpr int patience_ms = 30'000;
  for (pollfd waiting{output_, POLLIN, 0}; port_ == 0 && ::poll(&waiting, 1, patience_ms) > 0;) {
    std::array<char, 4'096> part;
    const ssize_t got = ::read(output_, part.data(), part.size());
    if (got <= 0) break;
    heard.append(part.data(), static_cast<std::size_t>(got));
    port_ = read_port(heard);
  }
  if (port_ == 0) {
    ::kill(pid_, SIGKILL);
    ::waitpid(pid_, nullptr, 0);
    ::close(output_);
    throw std::runtime_error("the server " + where.program + " does not listen; it said: " + heard);
  }
}

int bench_server::stop() {
  constexpr int patience_ms = 30'000;
  int status = 0;
  if (pid_ < 0) return -1;
  ::kill(pid_, SIGTERM);
  for (int waited = 0; waited < patience_ms; waited += 10) {
    if (::waitpid(pid_, &status, WNOHANG) == pid_) {
      pid_ = -1;
      return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
    }
    ::poll(nullptr, 0, 10);
  }
  return -1;
}

bench_server::~bench_server() {
  // Asked first: what a server writes when it ends (see etc/tune) would be lost otherwise.
  if (pid_ > 0) (void)stop();
  if (pid_ > 0) {
    ::kill(pid_, SIGKILL);
    ::waitpid(pid_, nullptr, 0);
  }
  ::close(output_);
}

double bench_server::cpu_seconds() const {
  std::ifstream file("/proc/" + std::to_string(pid_) + "/stat");
  std::string text;
  std::getline(file, text);
  std::istringstream fields(text.substr(text.rfind(')') + 1));
  std::string skipped;
  for (int i = 0; i < 11; ++i) fields >> skipped;  // state ... cmajflt; see proc(5)
  unsigned long long user = 0;
  unsigned long long kernel = 0;
  fields >> user >> kernel;
  return static_cast<double>(user + kernel) / static_cast<double>(::sysconf(_SC_CLK_TCK));
}

double bench_server::waited_ms() const {
  double waited = 0;
  std::error_code gone;
  for (const auto& each : std::filesystem::directory_iterator("/proc/" + std::to_string(pid_) + "/task", gone)) {
    std::ifstream file(each.path() / "schedstat");
    std::uint64_t ran_ns = 0;
    std::uint64_t waited_ns = 0;
    if (file >> ran_ns >> waited_ns) waited += static_cast<double>(waited_ns) / 1e6;
  }
  return waited;
}

std::size_t bench_server::resident_bytes() const {
  std::ifstream file("/proc/" + std::to_string(pid_) + "/smaps_rollup");
  for (std::string word; file >> word;) {
    std::size_t kilobytes = 0;
    if (word == "Rss:" && file >> kilobytes) return kilobytes * 1024;
  }
  return 0;
}

}  // namespace kvc::perf

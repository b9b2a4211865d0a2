#include "tests/system/child_process.hpp"

#include <algorithm>
#include <array>
#include <cstdlib>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <spawn.h>
#include <stdexcept>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <system_error>
#include <unistd.h>

namespace kvc::test {
namespace {

using clock = std::chrono::steady_clock;

int until(clock::time_point deadline) {
  const auto left = std::chrono::ceil<std::chrono::milliseconds>(deadline - clock::now()).count();
  return static_cast<int>(std::clamp<long long>(left, 0, 3'600'000));
}

std::vector<char*> as_argv(std::vector<std::string>& words) {
  std::vector<char*> pointers;
  for (std::string& word : words) pointers.push_back(word.data());
  pointers.push_back(nullptr);
  return pointers;
}

}  // namespace

child_process::child_process(const std::vector<std::string>& command, const std::vector<std::string>& variables) {
  std::array<int, 2> ends{};
  if (pipe2(ends.data(), O_CLOEXEC) != 0) throw std::system_error(errno, std::generic_category(), "pipe2");
  posix_spawn_file_actions_t actions;
  posix_spawn_file_actions_init(&actions);
  posix_spawn_file_actions_adddup2(&actions, ends[1], STDOUT_FILENO);
  posix_spawn_file_actions_adddup2(&actions, ends[1], STDERR_FILENO);
  std::vector<std::string> words = command;
  std::vector<std::string> settings = variables;
  for (const char* const name : {"ASAN_OPTIONS", "UBSAN_OPTIONS", "TSAN_OPTIONS", "LSAN_OPTIONS"}) {
    if (const char* const value = std::getenv(name)) settings.push_back(std::string(name) + "=" + value);
  }
  const int failure = posix_spawn(&pid_, words.front().c_str(), &actions, nullptr, as_argv(words).data(), as_argv(settings).data());
  posix_spawn_file_actions_destroy(&actions);
  close(ends[1]);
  out_ = ends[0];
  if (failure != 0) throw std::system_error(failure, std::generic_category(), "cannot start " + words.front());
  process_ = static_cast<int>(syscall(SYS_pidfd_open, pid_, 0));
  if (process_ < 0) throw std::system_error(errno, std::generic_category(), "pidfd_open");
}

child_process::~child_process() {
  if (pid_ > 0) {
    kill(pid_, SIGKILL);
    waitpid(pid_, nullptr, 0);
  }
  if (process_ >= 0) close(process_);
  close_output();
}

void child_process::send_signal(int number) const {
  if (pid_ > 0) kill(pid_, number);
}

void child_process::close_output() {
  if (out_ >= 0) close(out_);
  out_ = -1;
}

child_process::heard child_process::read_some(clock::time_point deadline) {
  pollfd readable{out_, POLLIN, 0};
  if (out_ < 0) return heard::end;
  if (poll(&readable, 1, until(deadline)) <= 0) return heard::nothing_yet;
  std::array<char, 4096> chunk{};
  const ssize_t got = read(out_, chunk.data(), chunk.size());
  if (got <= 0) return heard::end;
  output_.append(chunk.data(), static_cast<std::size_t>(got));
  return heard::more;
}

bool child_process::wait_for(const std::string& text, milliseconds patience) {
  const auto deadline = clock::now() + patience;
  for (;;) {
    const std::size_t at = output_.find(text);
    if (at != std::string::npos && output_.find('\n', at) != std::string::npos) return true;
    if (read_some(deadline) != heard::more) return false;
  }
}

std::optional<int> child_process::wait_for_end(milliseconds patience) {
  const auto deadline = clock::now() + patience;
  // Its output is read first, so that a full pipe cannot keep it from ending; the pipe closes when it does.
  while (read_some(deadline) == heard::more) continue;
  pollfd ended{process_, POLLIN, 0};
  if (poll(&ended, 1, until(deadline)) <= 0) return std::nullopt;
  int status = 0;
  if (waitpid(pid_, &status, 0) != pid_) return std::nullopt;
  pid_ = -1;
  return WIFEXITED(status) ? WEXITSTATUS(status) : -WTERMSIG(status);
}

std::string built_program(const std::string& name) {
  return std::string(KVC_BINARY_DIR) + "/" + name;
}

}  // namespace kvc::test

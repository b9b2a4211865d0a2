// A program under test: started, listened to, signalled and waited for, each with a deadline.
#pragma once

#include <chrono>
#include <optional>
#include <string>
#include <sys/types.h>
#include <vector>

namespace kvc::test {

/// One child process. Its standard output and error are read together. Killed when still alive at the end.
class child_process {
 public:
  using milliseconds = std::chrono::milliseconds;

  /// `variables` (`NAME=value`) are all the environment it gets, apart from the sanitizers' options.
  explicit child_process(const std::vector<std::string>& command, const std::vector<std::string>& variables = {});
  ~child_process();
  child_process(const child_process&) = delete;
  child_process& operator=(const child_process&) = delete;

  void send_signal(int number) const;

  /// Reads on until the output has `text` in a line that is complete. False when the program ends or the time is over before.
  [[nodiscard]] bool wait_for(const std::string& text, milliseconds patience = milliseconds(60'000));

  /// The exit code, or minus the number of the signal that ended it; nothing when it is still running after `patience`.
  [[nodiscard]] std::optional<int> wait_for_end(milliseconds patience = milliseconds(60'000));

  /// All output read so far.
  [[nodiscard]] const std::string& output() const noexcept { return output_; }

  /// Hangs up: what it writes from now on meets a closed pipe.
  void close_output();

 private:
  enum class heard { more, nothing_yet, end };
  [[nodiscard]] heard read_some(std::chrono::steady_clock::time_point deadline);

  pid_t pid_ = -1;
  int process_ = -1;  ///< descriptor that becomes readable when the process ends
  int out_ = -1;
  std::string output_;
};

/// Path of a program of this build.
[[nodiscard]] std::string built_program(const std::string& name);

}  // namespace kvc::test

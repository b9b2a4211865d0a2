// Where log lines go: standard error, in the form a person or the systemd journal reads best.
#pragma once

#include <chrono>
#include <memory>

namespace kvc::app {

/// Receives every log line while it lives.
///
/// Lines are handed to a thread of its own through a bounded queue, so that a reader of our standard error that hangs (a stopped terminal,
/// a journal in trouble) never holds up a lane; when the queue is full the oldest line is dropped, and how many were is told once lines are
/// taken again.
/// For the journal a line starts with its priority as `<N>` (sd-daemon(3)) and has no time, which the journal adds; otherwise it starts
/// with time and level. Made before the lanes start, destroyed after they have stopped; the destructor writes out what is queued, which a
/// crash would lose, and waits for the reader as long as that takes: `write_out` first tells whether there is one.
class log_sink {
 public:
  explicit log_sink(bool to_journal);
  ~log_sink();
  log_sink(const log_sink&) = delete;
  log_sink& operator=(const log_sink&) = delete;

  /// Waits until the lines so far are written, but no longer than `patience`. False: they are not, and the process should leave without
  /// the destructor. Any thread.
  bool write_out(std::chrono::milliseconds patience);

 private:
  struct state;
  std::shared_ptr<state> state_;
};

}  // namespace kvc::app

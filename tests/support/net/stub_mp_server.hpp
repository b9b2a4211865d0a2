// An MP server's HTTP interface that answers what a test tells it to and remembers what it was asked.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

namespace kvc::test {

/// On a port of its own, with a thread of its own. Thread-safety: all members from the test's thread.
class stub_mp_server {
 public:
  struct asked {
    std::string method;
    std::string target;  ///< with the query
    std::string head;    ///< the whole head, as it came
    std::string body;
  };
  struct told {
    unsigned status = 200;
    std::string body = "{}";
    std::string content_type = "application/json";
    bool breaks_off = false;                               ///< the connection ends instead of an answer
    bool is_silent = false;                                ///< nothing comes
    std::size_t most_sent = static_cast<std::size_t>(-1);  ///< bytes of the answer, head included; then the connection ends
  };

  /// `answer` is called for each request, on the server's thread. Without one everything is answered 200 `{}`.
  explicit stub_mp_server(std::function<told(const asked&)> answer = {});
  ~stub_mp_server();
  stub_mp_server(const stub_mp_server&) = delete;
  stub_mp_server& operator=(const stub_mp_server&) = delete;

  [[nodiscard]] std::uint16_t port() const;

  /// Takes requests but leaves them unanswered until `resume`.
  void hold();
  /// Answers requests as things are when they come, and sends the answers with `resume` only. Answers how many had come before.
  std::size_t delay();
  void resume();
  /// Closes the connections on which something is held.
  void cut();

  /// Everything asked so far, once there are at least `count`; throws after 20 s.
  [[nodiscard]] std::vector<asked> wait_for(std::size_t count);
  [[nodiscard]] std::vector<asked> so_far();
  /// True once the other side has closed a connection with a held request; false after 20 s.
  [[nodiscard]] bool is_abandoned();
  /// The most connections that were open at one time.
  [[nodiscard]] std::size_t most_connections();

 private:
  struct state;
  std::unique_ptr<state> state_;
};

}  // namespace kvc::test

// A Mooncake master's admin interface with objects that a test moves about.
#pragma once

#include <cstdint>
#include <map>
#include <mutex>
#include <string>
#include <vector>

#include "tests/support/net/stub_mp_server.hpp"

namespace kvc::test {

/// Promotes an object on local disk when it has been asked for `hits` times, unless it is told not to.
/// Thread-safety: all members from the test's thread.
class stub_master {
 public:
  struct object {
    bool memory = false;
    bool disk = false;
    bool local_disk = false;
    int hits = 0;
    bool stays = false;           ///< however often it is asked for
    bool is_copied = false;       ///< somebody brings it to memory
    bool spoils_lists = false;    ///< a list it is in is answered 500
    bool breaks_touches = false;  ///< whoever asks for it loses the connection
    bool breaks_looks = false;    ///< the same of whoever asks where it is, alone or among others
  };

  stub_master();

  [[nodiscard]] std::string url() const { return "http://127.0.0.1:" + std::to_string(server_.port()); }

  void put(const std::string& key, object what);
  void remove(const std::string& key);
  [[nodiscard]] int hits(const std::string& key);
  [[nodiscard]] int looks();

  int wanted_hits = 2;
  /// What happens when an object has been asked for often enough.
  enum class on_hit { promote, nothing, refuse, refuse_and_break, vanish };
  void set(on_hit what);
  /// Longer targets are answered 414.
  void set_longest_target(std::size_t bytes);
  /// Everything is answered 503 and the leader is there; "" again answers.
  void depose(const std::string& leader_url);
  /// Everything is answered with this, or as many requests as are said; "" again answers.
  void babble(const std::string& text, int times = 1'000'000);
  void hold() { server_.hold(); }
  void resume() { server_.resume(); }
  [[nodiscard]] stub_mp_server& server() { return server_; }

 private:
  [[nodiscard]] stub_mp_server::told answer(const stub_mp_server::asked& what);
  [[nodiscard]] std::string look(const std::string& keys);

  std::mutex lock_;
  std::map<std::string, object> objects_;
  on_hit on_hit_ = on_hit::promote;
  std::uint64_t refused_ = 0;
  int looks_ = 0;
  std::size_t longest_target_ = 1'000'000;
  std::string leader_;
  std::string babble_;
  int babbles_ = 0;
  stub_mp_server server_;  ///< last: it answers from the others
};

}  // namespace kvc::test

// A blocking HTTP client for tests that says exactly what it is told to, byte by byte.
#pragma once

#include <chrono>
#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace kvc::test {

/// One answer as it came: header names in lower case.
struct raw_answer {
  int status = 0;  ///< 0: the connection ended before a whole answer was there
  std::map<std::string, std::string> headers;
  std::string body;

  [[nodiscard]] std::string header(const std::string& lower_case_name) const {
    const auto found = headers.find(lower_case_name);
    return found == headers.end() ? std::string() : found->second;
  }
};

using header_list = std::vector<std::pair<std::string, std::string>>;

/// One connection to a server on loopback. Every blocking call gives up after 20 s, so that a server that hangs fails the test.
class raw_client {
 public:
  explicit raw_client(std::uint16_t port);
  ~raw_client();
  raw_client(raw_client&& other) noexcept : descriptor_(std::exchange(other.descriptor_, -1)), received_(std::move(other.received_)) {}
  raw_client(const raw_client&) = delete;
  raw_client& operator=(const raw_client&) = delete;
  raw_client& operator=(raw_client&&) = delete;

  /// False when the server has closed or does not take the bytes.
  bool send(std::string_view bytes);
  /// The next answer; interim answers (1xx) are returned like any other. With `without_body` (HEAD), none is waited for.
  raw_answer receive(bool without_body = false);
  /// Everything that comes before the server closes, heads and all.
  std::string receive_until_closed();
  /// True when the server closes within the patience without sending anything more.
  bool is_closed();
  /// Sends one byte, waits for the pause, and again, until the server closes. False after 20 s.
  bool trickles_until_closed(char byte, std::chrono::milliseconds pause);
  /// No more sending; the server may still answer.
  void finish();
  /// Bytes the kernel may keep for this client; small to play a slow reader.
  void shrink_receive_buffer(int bytes);

  raw_answer ask(std::string_view method, std::string_view target, std::string_view body = {}, const header_list& headers = {});

  [[nodiscard]] static std::string request(std::string_view method, std::string_view target, std::string_view body = {},
                                           const header_list& headers = {});

 private:
  bool fill();
  bool receive_chunks(std::string& body);

  int descriptor_ = -1;
  std::string received_;
};

/// One request over a connection of its own.
raw_answer ask(std::uint16_t port, std::string_view method, std::string_view target, std::string_view body = {},
               const header_list& headers = {});

}  // namespace kvc::test

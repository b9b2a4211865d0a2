#include "perf/ingest_asker.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <stdexcept>
#include <string_view>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <unistd.h>

#include "perf/ingest_board.hpp"

namespace kvc::perf {
namespace {

/// A blocking connection: nothing stands between the answer and whoever waits for it.
class connection {
 public:
  explicit connection(std::uint16_t port)
      : socket_(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0)), buffer_(std::size_t{64} << 10, '\0') {
    sockaddr_in to{};
    to.sin_family = AF_INET;
    to.sin_port = htons(port);
    to.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    if (::connect(socket_, reinterpret_cast<const sockaddr*>(&to), sizeof(to)) != 0) {
      ::close(socket_);
      throw std::runtime_error("cannot connect to the server");
    }
    const int on = 1;
    ::setsockopt(socket_, IPPROTO_TCP, TCP_NODELAY, &on, sizeof(on));
    const timeval patience{.tv_sec = 30, .tv_usec = 0};
    ::setsockopt(socket_, SOL_SOCKET, SO_RCVTIMEO, &patience, sizeof(patience));
  }
  ~connection() { ::close(socket_); }
  connection(const connection&) = delete;
  connection& operator=(const connection&) = delete;

  void ask(std::string_view question) {
    for (std::size_t sent = 0; sent < question.size();) {
      const ssize_t taken = ::send(socket_, question.data() + sent, question.size() - sent, MSG_NOSIGNAL);
      if (taken <= 0) throw std::runtime_error("the server closed the connection");
      sent += static_cast<std::size_t>(taken);
    }
    std::size_t have = 0;
    std::size_t wanted = std::numeric_limits<std::size_t>::max();
    while (have < wanted) {
      if (have == buffer_.size()) throw std::runtime_error("the answer is too long");
      const ssize_t got = ::recv(socket_, buffer_.data() + have, buffer_.size() - have, 0);
      if (got <= 0) throw std::runtime_error("no answer from the server");
      have += static_cast<std::size_t>(got);
      const std::string_view text(buffer_.data(), have);
      const std::size_t end = text.find("\r\n\r\n");
      if (end != std::string_view::npos) wanted = end + 4 + length_of(text.substr(0, end));
    }
    if (!std::string_view(buffer_).starts_with("HTTP/1.1 200")) {
      throw std::runtime_error("a query failed: " + buffer_.substr(0, std::min<std::size_t>(have, 300)));
    }
  }

 private:
  static std::size_t length_of(std::string_view head) {
    constexpr std::string_view name = "\r\nContent-Length: ";
    const std::size_t at = head.find(name);
    if (at == std::string_view::npos) throw std::runtime_error("an answer without its length");
    return std::stoul(std::string(head.substr(at + name.size(), 10)));
  }

  int socket_;
  std::string buffer_;
};

}  // namespace

std::vector<std::string> ingest_questions(const std::vector<std::vector<std::uint32_t>>& prompts) {
  std::vector<std::string> questions;
  for (const auto& prompt : prompts) {
    std::string body = R"({"model":"bench","block_size":16,"token_ids":[)";
    for (std::size_t i = 0; i < prompt.size(); ++i) body += (i == 0 ? "" : ",") + std::to_string(prompt[i]);
    body += "]}";
    questions.push_back("POST /query HTTP/1.1\r\nHost: bench\r\nContent-Type: application/json\r\nContent-Length: " +
                        std::to_string(body.size()) + "\r\n\r\n" + body);
  }
  return questions;
}

std::vector<std::uint32_t> ask_at_rate(std::uint16_t port, const std::vector<std::string>& questions, double rate,
                                       const std::function<bool()>& is_over) {
  ::prctl(PR_SET_TIMERSLACK, 1);
  connection server(port);
  std::vector<std::uint32_t> took;
  const std::int64_t start = ingest_now();
  for (std::size_t i = 0; !is_over(); ++i) {
    const std::int64_t due = start + std::llround(static_cast<double>(i) * 1e9 / rate);
    if (const std::int64_t ahead = due - ingest_now(); ahead > 1'000) ingest_nap(std::chrono::microseconds(ahead / 1'000));
    server.ask(questions[i % questions.size()]);
    took.push_back(static_cast<std::uint32_t>(std::clamp<std::int64_t>(ingest_now() - due, 0, 4'000'000'000)));
  }
  return took;
}

}  // namespace kvc::perf

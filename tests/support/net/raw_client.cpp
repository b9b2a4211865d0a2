#include "tests/support/net/raw_client.hpp"

#include <algorithm>
#include <arpa/inet.h>
#include <array>
#include <cctype>
#include <cerrno>
#include <netinet/in.h>
#include <poll.h>
#include <stdexcept>
#include <sys/socket.h>
#include <sys/time.h>
#include <unistd.h>

namespace kvc::test {
namespace {

/// What a call with a time-out is not begun anew for by the system: a signal, a debugger, a stop and its end.
template <class Call>
ssize_t uninterrupted(Call call) {
  for (;;) {
    const ssize_t done = call();
    if (done >= 0 || errno != EINTR) return done;
  }
}

}  // namespace

raw_client::raw_client(std::uint16_t port) : descriptor_(::socket(AF_INET, SOCK_STREAM, 0)) {
  timeval patience{};
  patience.tv_sec = 20;
  ::setsockopt(descriptor_, SOL_SOCKET, SO_RCVTIMEO, &patience, sizeof(patience));
  ::setsockopt(descriptor_, SOL_SOCKET, SO_SNDTIMEO, &patience, sizeof(patience));
  sockaddr_in to{};
  to.sin_family = AF_INET;
  to.sin_port = htons(port);
  to.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  if (::connect(descriptor_, reinterpret_cast<const sockaddr*>(&to), sizeof(to)) != 0) {
    ::close(descriptor_);
    throw std::runtime_error("cannot connect to the server under test");
  }
}

raw_client::~raw_client() {
  if (descriptor_ >= 0) ::close(descriptor_);
}

bool raw_client::send(std::string_view bytes) {
  while (!bytes.empty()) {
    const ssize_t sent = uninterrupted([&] { return ::send(descriptor_, bytes.data(), bytes.size(), MSG_NOSIGNAL); });
    if (sent <= 0) return false;
    bytes.remove_prefix(static_cast<std::size_t>(sent));
  }
  return true;
}

bool raw_client::fill() {
  std::array<char, 65'536> chunk;
  const ssize_t got = uninterrupted([&] { return ::recv(descriptor_, chunk.data(), chunk.size(), 0); });
  if (got <= 0) return false;
  received_.append(chunk.data(), static_cast<std::size_t>(got));
  return true;
}

raw_answer raw_client::receive(bool without_body) {
  raw_answer answer;
  std::size_t end = std::string::npos;
  while ((end = received_.find("\r\n\r\n")) == std::string::npos) {
    if (!fill()) return answer;
  }
  const std::string head = received_.substr(0, end + 2);
  std::size_t line = head.find("\r\n") + 2;
  while (line < head.size()) {
    const std::size_t next = head.find("\r\n", line);
    const std::size_t colon = head.find(": ", line);
    std::string name = head.substr(line, colon - line);
    std::ranges::transform(name, name.begin(), [](unsigned char letter) { return static_cast<char>(std::tolower(letter)); });
    answer.headers[name] = head.substr(colon + 2, next - colon - 2);
    line = next + 2;
  }
  received_.erase(0, end + 4);
  if (answer.header("transfer-encoding") == "chunked" && !without_body) {
    if (receive_chunks(answer.body)) answer.status = std::stoi(head.substr(9, 3));
    return answer;
  }
  const std::string length = answer.header("content-length");
  const std::size_t wanted = length.empty() || without_body ? 0 : std::stoul(length);
  while (received_.size() < wanted) {
    if (!fill()) return answer;
  }
  answer.body = received_.substr(0, wanted);
  received_.erase(0, wanted);
  answer.status = std::stoi(head.substr(9, 3));
  return answer;
}

bool raw_client::receive_chunks(std::string& body) {
  for (;;) {
    std::size_t end = std::string::npos;
    while ((end = received_.find("\r\n")) == std::string::npos) {
      if (!fill()) return false;
    }
    const std::size_t size = std::stoul(received_.substr(0, end), nullptr, 16);
    while (received_.size() < end + 2 + size + 2) {
      if (!fill()) return false;
    }
    body.append(received_, end + 2, size);
    received_.erase(0, end + 2 + size + 2);
    if (size == 0) return true;
  }
}

std::string raw_client::receive_until_closed() {
  while (fill()) continue;
  return std::exchange(received_, {});
}

bool raw_client::is_closed() {
  char byte = 0;
  if (!received_.empty()) return false;
  const ssize_t got = uninterrupted([&] { return ::recv(descriptor_, &byte, 1, 0); });
  return got == 0 || (got < 0 && errno == ECONNRESET);
}

bool raw_client::trickles_until_closed(char byte, std::chrono::milliseconds pause) {
  const auto deadline = std::chrono::steady_clock::now() + std::chrono::seconds(20);
  while (std::chrono::steady_clock::now() < deadline) {
    pollfd wanted{};
    wanted.fd = descriptor_;
    wanted.events = POLLIN;
    if (::poll(&wanted, 1, static_cast<int>(pause.count())) > 0) return is_closed();
    if (!send({&byte, 1})) return true;
  }
  return false;
}

void raw_client::finish() {
  ::shutdown(descriptor_, SHUT_WR);
}

void raw_client::shrink_receive_buffer(int bytes) {
  ::setsockopt(descriptor_, SOL_SOCKET, SO_RCVBUF, &bytes, sizeof(bytes));
}

std::string raw_client::request(std::string_view method, std::string_view target, std::string_view body, const header_list& headers) {
  std::string text;
  text.append(method).append(" ").append(target).append(" HTTP/1.1\r\nHost: test\r\n");
  for (const auto& [name, value] : headers) text.append(name).append(": ").append(value).append("\r\n");
  if (method == "POST" || !body.empty()) text.append("Content-Length: ").append(std::to_string(body.size())).append("\r\n");
  text.append("\r\n").append(body);
  return text;
}

raw_answer raw_client::ask(std::string_view method, std::string_view target, std::string_view body, const header_list& headers) {
  if (!send(request(method, target, body, headers))) return {};
  return receive(method == "HEAD");
}

raw_answer ask(std::uint16_t port, std::string_view method, std::string_view target, std::string_view body, const header_list& headers) {
  return raw_client(port).ask(method, target, body, headers);
}

}  // namespace kvc::test

#include "perf/bench_load.hpp"

#include <algorithm>
#include <arpa/inet.h>
#include <array>
#include <cerrno>
#include <charconv>
#include <chrono>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/socket.h>
#include <sys/uio.h>
#include <system_error>
#include <unistd.h>

namespace kvc::perf {

using steady = std::chrono::steady_clock;

std::string request_text(std::string_view method, std::string_view target, std::string_view body) {
  std::string text(method);
  text.append(" ").append(target).append(" HTTP/1.1\r\nHost: 127.0.0.1\r\n");
  if (!body.empty() || method == "PUT" || method == "POST") {
    text.append("Content-Type: application/json\r\nContent-Length: ").append(std::to_string(body.size())).append("\r\n");
  }
  text.append("\r\n").append(body);
  return text;
}

/// One connection: what is still to be written, what was sent and when, and what was read of the next answer.
class load_stream::connection final : public pollable {
 public:
  connection(load_stream& of, std::uint16_t port) : stream_(of), socket_(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0)) {
    sockaddr_in where{};
    where.sin_family = AF_INET;
    where.sin_port = htons(port);
    where.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    const int on = 1;
    if (socket_ < 0 || ::connect(socket_, reinterpret_cast<const sockaddr*>(&where), sizeof(where)) != 0) {
      const int why = errno;
      if (socket_ >= 0) ::close(socket_);
      throw std::system_error(why, std::generic_category(), "connect");
    }
    ::setsockopt(socket_, IPPROTO_TCP, TCP_NODELAY, &on, sizeof(on));
    read_.resize(std::size_t{256} << 10);
  }
  ~connection() override { ::close(socket_); }

  [[nodiscard]] int descriptor() const noexcept { return socket_; }
  [[nodiscard]] bool is_idle() const noexcept { return is_broken_ || in_flight_.empty(); }
  [[nodiscard]] bool is_broken() const noexcept { return is_broken_; }

  void stirred() override {
    while (!is_broken_) {
      // Read first: answers make room for requests.
      const bool has_read = pull();
      fill();
      const bool has_written = push();
      if (!has_read && !has_written) return;
    }
  }

  void fill() {
    while (!is_broken_ && in_flight_.size() < stream_.window_) {
      const auto request = stream_.take();
      if (!request) return;
      to_write_.push_back(*request);
      in_flight_.push_back(steady::now());
    }
  }

 private:
  bool push() {
    if (to_write_.empty() || is_broken_) return false;
    std::array<iovec, 64> parts;
    std::size_t count = 0;
    for (const std::string_view each : to_write_) {
      if (count == parts.size()) break;
      parts[count++] = {const_cast<char*>(each.data()), each.size()};
    }
    msghdr message{};
    message.msg_iov = parts.data();
    message.msg_iovlen = count;
    ssize_t sent = ::sendmsg(socket_, &message, MSG_DONTWAIT | MSG_NOSIGNAL);
    if (sent < 0) {
      if (errno != EAGAIN && errno != EINTR) fail(errno);
      return false;
    }
    while (sent > 0) {
      std::string_view& first = to_write_.front();
      const std::size_t part = std::min(first.size(), static_cast<std::size_t>(sent));
      first.remove_prefix(part);
      sent -= static_cast<ssize_t>(part);
      if (first.empty()) to_write_.pop_front();
    }
    return true;
  }

  bool pull() {
    if (filled_ == read_.size()) read_.resize(read_.size() * 2);
    const ssize_t got = ::recv(socket_, read_.data() + filled_, read_.size() - filled_, MSG_DONTWAIT);
    if (got < 0) {
      if (errno != EAGAIN && errno != EINTR) fail(errno);
      return false;
    }
    if (got == 0) {
      fail(ECONNRESET);
      return false;
    }
    filled_ += static_cast<std::size_t>(got);
    std::size_t at = 0;
    while (const std::size_t used = take_answer(std::string_view(read_.data() + at, filled_ - at))) at += used;
    std::copy(read_.begin() + static_cast<std::ptrdiff_t>(at), read_.begin() + static_cast<std::ptrdiff_t>(filled_), read_.begin());
    filled_ -= at;
    return true;
  }

  /// Bytes of the whole answer at the beginning of `bytes`; 0 when it is not whole yet.
  std::size_t take_answer(std::string_view bytes) {
    constexpr std::string_view length_name = "\r\ncontent-length: ";
    const std::size_t head = bytes.find("\r\n\r\n");
    if (head == std::string_view::npos || bytes.size() < 12) return 0;
    std::size_t length = 0;
    for (std::size_t at = bytes.find('\r'); at + length_name.size() < head + 2; at = bytes.find('\r', at + 1)) {
      const auto is_same = [](char there, char name) { return there == name || (there >= 'A' && there <= 'Z' && there + 32 == name); };
      if (!std::equal(length_name.begin(), length_name.end(), bytes.begin() + static_cast<std::ptrdiff_t>(at),
                      [&](char name, char there) { return is_same(there, name); })) {
        continue;
      }
      std::from_chars(bytes.data() + at + length_name.size(), bytes.data() + head, length);
      break;
    }
    const std::size_t whole = head + 4 + length;
    if (bytes.size() < whole) return 0;
    load_counts& counts = stream_.counts_;
    const std::string_view body = bytes.substr(head + 4, length);
    if (in_flight_.empty()) {
      fail(EPROTO);
      return 0;
    }
    counts.latencies_ns.push_back(static_cast<std::uint32_t>(std::chrono::nanoseconds(steady::now() - in_flight_.front()).count()));
    in_flight_.pop_front();
    if (bytes[9] == '2') {
      ++counts.answered;
    } else {
      ++counts.failed;
      if (counts.first_failure.empty()) counts.first_failure = std::string(bytes.substr(0, std::min<std::size_t>(whole, 600)));
    }
    if (counts.answered == 1 || stream_.is_stopped_ || stream_.window_ == 1) stream_.last_body_ = body;
    return whole;
  }

  void fail(int why) {
    is_broken_ = true;
    stream_.counts_.failed += in_flight_.size() + 1;
    if (stream_.counts_.first_failure.empty()) stream_.counts_.first_failure = std::system_category().message(why);
  }

  load_stream& stream_;
  int socket_;
  bool is_broken_ = false;
  std::deque<std::string_view> to_write_;
  std::deque<steady::time_point> in_flight_;
  std::vector<char> read_;
  std::size_t filled_ = 0;
};

load_stream::load_stream(poller& in, const shape& how, source next) : next_(std::move(next)), window_(how.window) {
  for (std::size_t i = 0; i < how.connections; ++i) {
    connections_.push_back(std::make_unique<connection>(*this, how.port));
    in.watch(connections_.back()->descriptor(), *connections_.back());
  }
}

load_stream::~load_stream() = default;

void load_stream::start() {
  for (const auto& each : connections_) each->stirred();
}

bool load_stream::is_done() const noexcept {
  if (!is_stopped_) {
    return std::ranges::all_of(connections_, [](const auto& each) { return each->is_broken(); });
  }
  return std::ranges::all_of(connections_, [](const auto& each) { return each->is_idle(); });
}

std::optional<std::string_view> load_stream::take() {
  if (is_stopped_) return std::nullopt;
  auto request = next_();
  if (request) {
    ++counts_.sent;
  } else {
    is_stopped_ = true;
  }
  return request;
}

bool poll_until(poller& all, const std::function<bool()>& is_done) {
  constexpr int patience_ms = 60'000;
  while (!is_done()) {
    if (!all.wait(patience_ms)) return false;
  }
  return true;
}

}  // namespace kvc::perf

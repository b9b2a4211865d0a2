#include "perf/bench_sink.hpp"

#include <algorithm>
#include <arpa/inet.h>
#include <array>
#include <cerrno>
#include <charconv>
#include <netinet/in.h>
#include <string>
#include <string_view>
#include <sys/socket.h>
#include <system_error>
#include <unistd.h>

namespace kvc::perf {

class deletion_sink::connection final : public pollable {
 public:
  connection(deletion_sink& of, int socket) : sink_(of), socket_(socket) {}
  ~connection() override { ::close(socket_); }

  void stirred() override {
    std::array<char, std::size_t{64} << 10> part;
    for (;;) {
      const ssize_t got = ::recv(socket_, part.data(), part.size(), MSG_DONTWAIT);
      if (got <= 0) return;
      take(std::string_view(part.data(), static_cast<std::size_t>(got)));
    }
  }

 private:
  void take(std::string_view bytes) {
    while (!bytes.empty()) {
      if (body_left_ > 0) {
        const std::string_view part = bytes.substr(0, body_left_);
        // Every key is an object in the object that the body is.
        sink_.keys_ += static_cast<std::uint64_t>(std::ranges::count(part, '{'));
        body_left_ -= part.size();
        bytes.remove_prefix(part.size());
        if (body_left_ == 0) answer();
        continue;
      }
      head_.append(bytes);
      const std::size_t end = head_.find("\r\n\r\n");
      if (end == std::string::npos) return;
      const std::size_t before = head_.size() - bytes.size();
      bytes.remove_prefix(end + 4 - before);
      std::ranges::transform(head_, head_.begin(),
                             [](char each) { return each >= 'A' && each <= 'Z' ? static_cast<char>(each + 32) : each; });
      constexpr std::string_view name = "content-length: ";
      const std::size_t at = head_.find(name);
      if (at != std::string::npos && at < end) std::from_chars(head_.data() + at + name.size(), head_.data() + end, body_left_);
      head_.clear();
      if (body_left_ == 0) answer();
      --sink_.keys_;  // the outer object
    }
  }

  void answer() {
    constexpr std::string_view text =
        "HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: 35\r\n\r\n{\"deleted\":0,\"skipped\":0,\"ok\":true}";
    ++sink_.requests_;
    static_cast<void>(::send(socket_, text.data(), text.size(), MSG_NOSIGNAL));
  }

  deletion_sink& sink_;
  int socket_;
  std::string head_;
  std::size_t body_left_ = 0;
};

class deletion_sink::listener final : public pollable {
 public:
  explicit listener(deletion_sink& of) : sink_(of), socket_(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0)) {
    sockaddr_in where{};
    where.sin_family = AF_INET;
    where.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    socklen_t length = sizeof(where);
    const bool fine = socket_ >= 0 && ::bind(socket_, reinterpret_cast<const sockaddr*>(&where), length) == 0 &&
                      ::listen(socket_, SOMAXCONN) == 0 && ::getsockname(socket_, reinterpret_cast<sockaddr*>(&where), &length) == 0;
    if (!fine) throw std::system_error(errno, std::generic_category(), "listen");
    sink_.port_ = ntohs(where.sin_port);
    sink_.poller_.watch(socket_, *this);
  }
  ~listener() override { ::close(socket_); }

  void stirred() override {
    for (;;) {
      const int accepted = ::accept4(socket_, nullptr, nullptr, SOCK_CLOEXEC | SOCK_NONBLOCK);
      if (accepted < 0) return;
      sink_.connections_.push_back(std::make_unique<connection>(sink_, accepted));
      sink_.poller_.watch(accepted, *sink_.connections_.back());
    }
  }

 private:
  deletion_sink& sink_;
  int socket_;
};

deletion_sink::deletion_sink(poller& in) : poller_(in), listener_(std::make_unique<listener>(*this)) {}
deletion_sink::~deletion_sink() = default;

}  // namespace kvc::perf

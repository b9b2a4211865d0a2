#include "tests/support/net/stub_mp_server.hpp"

#include <algorithm>
#include <arpa/inet.h>
#include <array>
#include <atomic>
#include <chrono>
#include <condition_variable>
#include <list>
#include <mutex>
#include <netinet/in.h>
#include <optional>
#include <poll.h>
#include <stdexcept>
#include <string_view>
#include <sys/socket.h>
#include <thread>
#include <unistd.h>
#include <utility>

namespace kvc::test {
namespace {

constexpr std::chrono::seconds patience{20};

struct connection {
  int descriptor = -1;
  std::string received;
  bool is_answered = true;  ///< nothing is owed
};

/// The first whole request of what has come, taken out of it; false when there is none yet.
bool take_request(std::string& received, stub_mp_server::asked& into) {
  const std::size_t end = received.find("\r\n\r\n");
  if (end == std::string::npos) return false;
  into.head = received.substr(0, end);
  std::size_t length = 0;
  const std::string_view name = "Content-Length: ";
  if (const std::size_t at = into.head.find(name); at != std::string::npos) length = std::stoul(into.head.substr(at + name.size()));
  if (received.size() < end + 4 + length) return false;
  into.body = received.substr(end + 4, length);
  received.erase(0, end + 4 + length);
  const std::size_t blank = into.head.find(' ');
  into.method = into.head.substr(0, blank);
  into.target = into.head.substr(blank + 1, into.head.find(' ', blank + 1) - blank - 1);
  return true;
}

}  // namespace

struct stub_mp_server::state {
  std::function<told(const asked&)> answer;
  int listener = -1;
  std::uint16_t port = 0;
  int wake[2] = {-1, -1};
  std::mutex guard;
  std::condition_variable changed;
  std::vector<asked> requests;
  bool is_held = false;
  bool is_over = false;
  bool was_abandoned = false;
  std::size_t most = 0;
  struct owed {
    connection* to = nullptr;
    asked request;
    std::optional<told> decided;
  };
  bool is_late = false;  ///< what is held has been decided
  std::list<owed> held;
  std::list<connection> connections;
  std::thread thread;

  told decide(const asked& request) const { return answer ? answer(request) : told{}; }

  static void reply(connection& to, const told& what) {
    if (what.is_silent) return;
    if (what.breaks_off) {
      to.is_answered = true;
      ::shutdown(to.descriptor, SHUT_RDWR);
      return;
    }
    const std::string text = "HTTP/1.1 " + std::to_string(what.status) + " Told\r\nContent-Type: " + what.content_type +
                             "\r\nContent-Length: " + std::to_string(what.body.size()) + "\r\n\r\n" + what.body;
    std::string_view rest = std::string_view(text).substr(0, what.most_sent);
    const bool is_whole = rest.size() == text.size();
    while (!rest.empty()) {
      const ssize_t sent = ::send(to.descriptor, rest.data(), rest.size(), MSG_NOSIGNAL);
      if (sent <= 0) break;
      rest.remove_prefix(static_cast<std::size_t>(sent));
    }
    if (!is_whole) ::shutdown(to.descriptor, SHUT_RDWR);
    to.is_answered = true;
  }

  /// False: closed.
  bool read(connection& from) {
    std::array<char, 65'536> chunk;
    const ssize_t got = ::recv(from.descriptor, chunk.data(), chunk.size(), 0);
    const std::lock_guard locked(guard);
    if (got <= 0) {
      was_abandoned = was_abandoned || !from.is_answered;
      std::erase_if(held, [&](const auto& each) { return each.to == &from; });
      changed.notify_all();
      return false;
    }
    from.received.append(chunk.data(), static_cast<std::size_t>(got));
    for (asked one; take_request(from.received, one);) {
      from.is_answered = false;
      requests.push_back(one);
      if (is_held) {
        held.push_back({&from, one, is_late ? std::optional(decide(one)) : std::nullopt});
      } else {
        reply(from, decide(one));
      }
      changed.notify_all();
    }
    return true;
  }

  void accept_one() {
    const int descriptor = ::accept(listener, nullptr, nullptr);
    if (descriptor < 0) return;
    connections.push_back({descriptor, {}, true});
    const std::lock_guard locked(guard);
    most = std::max(most, connections.size());
  }

  void answer_held() {
    std::array<char, 16> ignored;
    static_cast<void>(::read(wake[0], ignored.data(), ignored.size()));
    const std::lock_guard locked(guard);
    if (is_held) return;
    for (const owed& each : held) reply(*each.to, each.decided ? *each.decided : decide(each.request));
    held.clear();
  }

  void run() {
    for (;;) {
      std::vector<pollfd> watched{{wake[0], POLLIN, 0}, {listener, POLLIN, 0}};
      for (const connection& each : connections) watched.push_back({each.descriptor, POLLIN, 0});
      if (::poll(watched.data(), watched.size(), -1) < 0) continue;
      if (watched[0].revents != 0) answer_held();
      {
        const std::lock_guard locked(guard);
        if (is_over) return;
      }
      auto each = connections.begin();
      for (std::size_t i = 2; i < watched.size(); ++i) {
        const auto here = each++;
        if (watched[i].revents == 0 || read(*here)) continue;
        ::close(here->descriptor);
        connections.erase(here);
      }
      if (watched[1].revents != 0) accept_one();
    }
  }

  void stir() { static_cast<void>(::write(wake[1], "x", 1)); }
};

stub_mp_server::stub_mp_server(std::function<told(const asked&)> answer) : state_(std::make_unique<state>()) {
  state& self = *state_;
  self.answer = std::move(answer);
  self.listener = ::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
  sockaddr_in at{};
  at.sin_family = AF_INET;
  at.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  socklen_t length = sizeof(at);
  if (::bind(self.listener, reinterpret_cast<const sockaddr*>(&at), sizeof(at)) != 0 || ::listen(self.listener, 128) != 0 ||
      ::getsockname(self.listener, reinterpret_cast<sockaddr*>(&at), &length) != 0 || ::pipe(self.wake) != 0) {
    throw std::runtime_error("the stub cannot listen");
  }
  self.port = ntohs(at.sin_port);
  self.thread = std::thread([&self] { self.run(); });
}

stub_mp_server::~stub_mp_server() {
  state& self = *state_;
  {
    const std::lock_guard locked(self.guard);
    self.is_over = true;
  }
  self.stir();
  self.thread.join();
  for (const connection& each : self.connections) ::close(each.descriptor);
  for (const int each : {self.listener, self.wake[0], self.wake[1]}) ::close(each);
}

std::uint16_t stub_mp_server::port() const {
  return state_->port;
}

void stub_mp_server::hold() {
  const std::lock_guard locked(state_->guard);
  state_->is_held = true;
  state_->is_late = false;
}

std::size_t stub_mp_server::delay() {
  const std::lock_guard locked(state_->guard);
  state_->is_held = true;
  state_->is_late = true;
  return state_->requests.size();
}

void stub_mp_server::cut() {
  const std::lock_guard locked(state_->guard);
  for (const state::owed& each : state_->held) ::shutdown(each.to->descriptor, SHUT_RDWR);
}

void stub_mp_server::resume() {
  {
    const std::lock_guard locked(state_->guard);
    state_->is_held = false;
  }
  state_->stir();
}

std::vector<stub_mp_server::asked> stub_mp_server::wait_for(std::size_t count) {
  std::unique_lock locked(state_->guard);
  const bool has_come = state_->changed.wait_for(locked, patience, [&] { return state_->requests.size() >= count; });
  if (!has_come) throw std::runtime_error("only " + std::to_string(state_->requests.size()) + " requests have come");
  return state_->requests;
}

std::vector<stub_mp_server::asked> stub_mp_server::so_far() {
  const std::lock_guard locked(state_->guard);
  return state_->requests;
}

bool stub_mp_server::is_abandoned() {
  std::unique_lock locked(state_->guard);
  return state_->changed.wait_for(locked, patience, [&] { return state_->was_abandoned; });
}

std::size_t stub_mp_server::most_connections() {
  const std::lock_guard locked(state_->guard);
  return state_->most;
}

}  // namespace kvc::test

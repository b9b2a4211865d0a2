#include "perf/http_load.hpp"

#include <algorithm>
#include <array>
#include <cerrno>
#include <cmath>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <stdexcept>
#include <string_view>
#include <sys/epoll.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <unistd.h>

#include "perf/bench_caller.hpp"
#include "perf/ingest_board.hpp"

namespace kvc::perf {

/// One connection with at most one request under way.
class http_load::connection {
 public:
  enum class went : std::uint8_t { waits, answered, broken };

  explicit connection(std::uint16_t port) : socket_(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0)), read_(std::size_t{16} << 10, '\0') {
    sockaddr_in to{};
    to.sin_family = AF_INET;
    to.sin_port = htons(port);
    to.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    const int on = 1;
    if (::connect(socket_, reinterpret_cast<const sockaddr*>(&to), sizeof(to)) != 0) {
      ::close(socket_);
      throw std::runtime_error("nobody listens on the port that is to be loaded");
    }
    ::setsockopt(socket_, IPPROTO_TCP, TCP_NODELAY, &on, sizeof(on));
  }
  ~connection() { ::close(socket_); }
  connection(const connection&) = delete;
  connection& operator=(const connection&) = delete;

  [[nodiscard]] int descriptor() const noexcept { return socket_; }
  [[nodiscard]] std::int64_t begun_ns() const noexcept { return begun_ns_; }
  [[nodiscard]] bool is_busy() const noexcept { return is_busy_; }
  /// Status and body of the answer that has just come.
  [[nodiscard]] bool is_good() const noexcept { return read_[9] == '2'; }
  [[nodiscard]] std::string answer() const { return read_.substr(0, std::min<std::size_t>(have_, 400)); }

  went send(std::string_view request, std::int64_t begun_ns) {
    rest_ = request;
    begun_ns_ = begun_ns;
    have_ = 0;
    wanted_ = 0;
    is_busy_ = true;
    return push();
  }

  /// Something stirred.
  went move() {
    if (!is_busy_) return went::broken;  // the server ended a connection that owed nothing
    if (!rest_.empty() && push() == went::broken) return went::broken;
    for (;;) {
      if (have_ == read_.size()) read_.resize(read_.size() * 2);
      const ssize_t got = ::recv(socket_, read_.data() + have_, read_.size() - have_, MSG_DONTWAIT);
      if (got < 0) return errno == EAGAIN || errno == EINTR ? went::waits : went::broken;
      if (got == 0) return went::broken;
      have_ += static_cast<std::size_t>(got);
      if (wanted_ == 0) {
        const std::string_view text(read_.data(), have_);
        const std::size_t end = text.find("\r\n\r\n");
        if (end != std::string_view::npos) wanted_ = end + 4 + answer_length(text.substr(0, end + 4));
      }
      if (wanted_ != 0 && have_ >= wanted_) {
        is_busy_ = false;
        return went::answered;
      }
    }
  }

 private:
  went push() {
    while (!rest_.empty()) {
      const ssize_t sent = ::send(socket_, rest_.data(), rest_.size(), MSG_DONTWAIT | MSG_NOSIGNAL);
      if (sent < 0) return errno == EAGAIN || errno == EINTR ? went::waits : went::broken;
      rest_.remove_prefix(static_cast<std::size_t>(sent));
    }
    return went::waits;
  }

  int socket_;
  std::string read_;
  std::size_t have_ = 0;
  std::size_t wanted_ = 0;  ///< bytes of the whole answer; 0: not known yet
  std::string_view rest_;   ///< of the request, not taken by the socket yet
  std::int64_t begun_ns_ = 0;
  bool is_busy_ = false;
};

/// One run of the load.
struct http_load::stretch {
  std::int64_t start_ns = 0;
  std::int64_t end_ns = 0;
  double tick_ns = 0;  ///< between two requests; 0: a closed loop
  std::uint64_t begun = 0;
  std::uint64_t under_way = 0;
  http_outcome outcome;

  [[nodiscard]] std::int64_t due_ns(std::uint64_t number) const noexcept {
    return start_ns + std::llround(static_cast<double>(number) * tick_ns);
  }
};

http_load::http_load(std::uint16_t port, std::uint32_t connections, const std::vector<std::string>& requests, bool is_alone)
    : requests_(requests), is_alone_(is_alone), epoll_(::epoll_create1(EPOLL_CLOEXEC)), idle_(connections) {
  for (std::uint32_t i = 0; i < connections; ++i) {
    connections_.push_back(std::make_unique<connection>(port));
    epoll_event wanted{};
    wanted.events = EPOLLIN | EPOLLOUT | EPOLLET | EPOLLRDHUP;
    wanted.data.ptr = connections_.back().get();
    if (::epoll_ctl(epoll_, EPOLL_CTL_ADD, connections_.back()->descriptor(), &wanted) != 0) throw std::runtime_error("no epoll");
    idle_[i] = connections_.back().get();
  }
  idle_count_ = connections;
  ::prctl(PR_SET_TIMERSLACK, 1);  // sleeps end when they should
}

http_load::~http_load() {
  ::close(epoll_);
}

void http_load::give(stretch& run, connection& to, std::int64_t due_ns) {
  const std::string& request = requests_[next_request_];
  next_request_ = next_request_ + 1 == requests_.size() ? 0 : next_request_ + 1;
  ++run.begun;
  ++run.under_way;
  if (to.send(request, due_ns) == connection::went::broken) throw std::runtime_error("the server has ended a connection");
}

/// How long there is nothing to do unless something stirs.
std::int64_t http_load::nap_ns(const stretch& run, std::int64_t now) const noexcept {
  constexpr std::int64_t longest = 1'000'000;
  if (is_alone_) return 0;
  if (now >= run.end_ns || run.tick_ns == 0 || idle_count_ == 0) return longest;
  return std::clamp<std::int64_t>(run.due_ns(run.begun) - now, 0, longest);
}

void http_load::drive(stretch& run) {
  constexpr std::int64_t patience_ns = 10'000'000'000;
  std::array<epoll_event, 256> events;
  for (std::int64_t now = ingest_now(); now < run.end_ns || run.under_way > 0; now = ingest_now()) {
    if (now > run.end_ns + patience_ns) throw std::runtime_error("answers did not come within 10 s");
    while (now < run.end_ns && idle_count_ > 0) {
      if (run.tick_ns > 0 && run.due_ns(run.begun) > now) break;
      connection& to = *idle_[idle_begin_];
      idle_begin_ = idle_begin_ + 1 == idle_.size() ? 0 : idle_begin_ + 1;
      --idle_count_;
      give(run, to, run.tick_ns > 0 ? run.due_ns(run.begun) : now);
    }
    const std::int64_t nap = nap_ns(run, now);
    const timespec patience{.tv_sec = nap / 1'000'000'000, .tv_nsec = nap % 1'000'000'000};
    const int count = ::epoll_pwait2(epoll_, events.data(), static_cast<int>(events.size()), &patience, nullptr);
    for (int i = 0; i < count; ++i) {
      connection& stirred = *static_cast<connection*>(events[static_cast<std::size_t>(i)].data.ptr);
      if (!stirred.is_busy() && (events[static_cast<std::size_t>(i)].events & EPOLLIN) == 0) continue;
      const auto went = stirred.move();
      if (went == connection::went::broken) throw std::runtime_error("the server has ended a connection");
      if (went == connection::went::waits) continue;
      const std::int64_t done = ingest_now();
      --run.under_way;
      run.outcome.latency_ns.add(static_cast<std::uint64_t>(std::max<std::int64_t>(0, done - stirred.begun_ns())));
      if (!stirred.is_good()) {
        ++run.outcome.failed;
        if (run.outcome.first_failure.empty()) run.outcome.first_failure = stirred.answer();
      } else if (done <= run.end_ns) {
        ++run.outcome.answered;
      }
      if (run.tick_ns == 0 && done < run.end_ns) {
        give(run, stirred, done);
        continue;
      }
      idle_[(idle_begin_ + idle_count_) % idle_.size()] = &stirred;
      ++idle_count_;
    }
  }
  run.outcome.seconds = static_cast<double>(run.end_ns - run.start_ns) / 1e9;
  run.outcome.offered = run.begun;
}

http_outcome http_load::run_closed(std::chrono::nanoseconds length) {
  stretch run;
  run.start_ns = ingest_now();
  run.end_ns = run.start_ns + length.count();
  drive(run);
  return std::move(run.outcome);
}

http_outcome http_load::run_open(double rate, std::chrono::nanoseconds length) {
  stretch run;
  run.start_ns = ingest_now();
  run.end_ns = run.start_ns + length.count();
  run.tick_ns = 1e9 / rate;
  drive(run);
  run.outcome.offered = static_cast<std::uint64_t>(std::llround(rate * run.outcome.seconds));
  // What was due and never sent has waited at least until now; without it an overloaded server would look fast.
  for (std::uint64_t number = run.begun; run.due_ns(number) < run.end_ns; ++number) {
    run.outcome.latency_ns.add(static_cast<std::uint64_t>(run.end_ns - run.due_ns(number)));
  }
  return std::move(run.outcome);
}

}  // namespace kvc::perf

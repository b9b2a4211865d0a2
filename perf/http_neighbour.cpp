#include "perf/http_neighbour.hpp"

#include <array>
#include <csignal>
#include <fcntl.h>
#include <fstream>
#include <netinet/in.h>
#include <stdexcept>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "perf/bench_caller.hpp"
#include "perf/bench_load.hpp"
#include "perf/bench_server.hpp"
#include "perf/ingest_board.hpp"

namespace kvc::perf {
namespace {

/// A port that nobody has at this moment.
std::uint16_t free_port() {
  const int probe = ::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
  sockaddr_in at{};
  at.sin_family = AF_INET;
  at.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  socklen_t length = sizeof(at);
  const bool is_known = ::bind(probe, reinterpret_cast<const sockaddr*>(&at), sizeof(at)) == 0 &&
                        ::getsockname(probe, reinterpret_cast<sockaddr*>(&at), &length) == 0;
  ::close(probe);
  if (!is_known) throw std::runtime_error("no port for nginx");
  return ntohs(at.sin_port);
}

/// One process without a master, which is its own worker; nothing written per request. Keep-alive connections are never counted out.
std::string configuration(std::uint16_t port, std::string_view body) {
  std::string text = "daemon off;\nmaster_process off;\nworker_processes 1;\npid nginx.pid;\nerror_log stderr crit;\n";
  text += "events { worker_connections 16384; }\nhttp {\n  access_log off;\n  keepalive_requests 1000000000;\n";
  for (const char* each : {"client_body", "proxy", "fastcgi", "uwsgi", "scgi"})
    text += std::string("  ") + each + "_temp_path " + each + ";\n";
  text +=
      "  server {\n    listen 127.0.0.1:" + std::to_string(port) + ";\n    location = /healthz {\n      default_type application/json;\n";
  return text + "      return 200 '" + std::string(body) + "';\n    }\n  }\n}\n";
}

}  // namespace

std::string http_neighbour::find() {
  for (const char* each : {"/usr/sbin/nginx", "/usr/local/sbin/nginx", "/usr/bin/nginx", "/usr/local/bin/nginx"}) {
    if (::access(each, X_OK) == 0) return each;
  }
  return {};
}

http_neighbour::http_neighbour(const std::string& program, int cpu, std::string_view body) : port_(free_port()) {
  const std::string file = folder_.file("nginx.conf");
  std::ofstream(file) << configuration(port_, body);
  const std::string prefix = folder_.path().string() + "/";
  const pid_t parent = ::getpid();
  pid_ = ::fork();
  if (pid_ == 0) {
    ::prctl(PR_SET_PDEATHSIG, SIGKILL);
    if (::getppid() != parent) ::_exit(1);
    stay_on_cpu(cpu);
    ::execl(program.c_str(), program.c_str(), "-p", prefix.c_str(), "-c", file.c_str(), static_cast<char*>(nullptr));
    ::_exit(127);
  }
  const auto deadline = std::chrono::steady_clock::now() + std::chrono::seconds(10);
  const std::string request = request_text("GET", "/healthz");
  for (;;) {
    try {
      if (bench_caller(port_).call(request) == body) return;
    } catch (const std::runtime_error&) {
    }
    if (pid_ > 0 && ::waitpid(pid_, nullptr, WNOHANG) != 0) pid_ = -1;
    if (pid_ < 0 || std::chrono::steady_clock::now() > deadline) break;
    ingest_nap(std::chrono::milliseconds(20));
  }
  if (pid_ > 0) {
    ::kill(pid_, SIGKILL);
    ::waitpid(pid_, nullptr, 0);
  }
  throw std::runtime_error("nginx does not answer");
}

http_neighbour::~http_neighbour() {
  ::kill(pid_, SIGKILL);
  ::waitpid(pid_, nullptr, 0);
}

}  // namespace kvc::perf

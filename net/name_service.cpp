#include "net/name_service.hpp"

#include <algorithm>
#include <csignal>
#include <deque>
#include <mutex>
#include <netdb.h>
#include <optional>
#include <pthread.h>
#include <system_error>
#include <thread>
#include <unordered_map>
#include <utility>

#include <boost/asio/error.hpp>
#include <boost/asio/ip/address_v4.hpp>
#include <boost/asio/ip/address_v6.hpp>

#include "core/text_spread.hpp"

namespace kvc::net {
namespace {

struct asker {
  std::weak_ptr<void> wanted;
  std::function<void(const name_service::answer&)> tell;
};

using askers = std::vector<asker>;

void forget_gone(askers& from) {
  std::erase_if(from, [](const asker& each) { return each.wanted.expired(); });
}

/// Signals are for the threads that were there before.
class without_signals {
 public:
  without_signals() {
    sigset_t all;
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before_);
  }
  ~without_signals() { pthread_sigmask(SIG_SETMASK, &before_, nullptr); }
  without_signals(const without_signals&) = delete;
  without_signals& operator=(const without_signals&) = delete;

 private:
  sigset_t before_{};
};

error_code error_of(int failed) {
  switch (failed) {
    case EAI_AGAIN: return asio::error::host_not_found_try_again;
    case EAI_FAIL: return asio::error::no_recovery;
    case EAI_MEMORY: return asio::error::no_memory;
    default: return asio::error::host_not_found;
  }
}

std::optional<asio::ip::address> address_in(const addrinfo& found) {
  if (found.ai_family == AF_INET) {
    const auto* const raw = reinterpret_cast<const sockaddr_in*>(found.ai_addr);
    return asio::ip::address_v4(ntohl(raw->sin_addr.s_addr));
  }
  if (found.ai_family != AF_INET6) return std::nullopt;
  const auto* const raw = reinterpret_cast<const sockaddr_in6*>(found.ai_addr);
  asio::ip::address_v6::bytes_type bytes;
  std::copy_n(raw->sin6_addr.s6_addr, bytes.size(), bytes.begin());
  return asio::ip::address_v6(bytes, raw->sin6_scope_id);
}

}  // namespace

/// Shared with the threads.
struct name_service::state {
  state(look_up how, const limits& with) : asks(std::move(how)), bounds(with) {}

  const look_up asks;
  const limits bounds;
  mutable std::mutex guard;
  std::unordered_map<std::string, askers, core::text_spread> pending;  ///< by name, those that are looked up included
  std::deque<std::string> waiting;                                     ///< names whose turn is still to come
  std::size_t threads = 0;

  /// The next name that somebody wants. Guarded.
  std::optional<std::string> next() {
    while (!waiting.empty()) {
      std::string name = std::move(waiting.front());
      waiting.pop_front();
      const auto found = pending.find(name);
      forget_gone(found->second);
      if (!found->second.empty()) return name;
      pending.erase(found);
    }
    return std::nullopt;
  }

  /// Makes room where names wait that nobody wants. Guarded.
  void forget_unwanted() {
    std::erase_if(waiting, [&](const std::string& name) {
      const auto found = pending.find(name);
      forget_gone(found->second);
      if (!found->second.empty()) return false;
      pending.erase(found);
      return true;
    });
  }

  [[nodiscard]] answer look(const std::string& name) const {
    try {
      return asks(name);
    } catch (...) {
      return error_code(asio::error::no_memory);
    }
  }

  /// A thread's life.
  void work() {
    std::unique_lock holding(guard);
    while (const auto name = next()) {
      holding.unlock();
      const answer found = look(*name);
      holding.lock();
      const auto known = pending.find(*name);
      askers told = std::move(known->second);
      pending.erase(known);
      holding.unlock();
      for (const asker& each : told) {
        try {
          if (!each.wanted.expired()) each.tell(found);
        } catch (...) {
          // There is no memory to tell it with; whoever asked waits no longer than he meant to. The thread, and the process, go on.
        }
      }
      told.clear();
      holding.lock();
    }
    --threads;
  }
};

name_service::name_service(look_up how, const limits& with) : state_(std::make_shared<state>(std::move(how), with)) {}
name_service::~name_service() = default;

name_service& name_service::of_system() {
  // Its threads may still be there when the process destroys what is static.
  static name_service& only = *new name_service(addresses_of_host, limits{});  // NOLINT(cppcoreguidelines-owning-memory)
  return only;
}

error_code name_service::ask(const std::string& host, std::weak_ptr<void> wanted, std::function<void(const answer&)> tell) {
  state& self = *state_;
  const std::lock_guard holding(self.guard);
  if (const auto known = self.pending.find(host); known != self.pending.end()) {
    forget_gone(known->second);
    known->second.push_back({std::move(wanted), std::move(tell)});
    return {};
  }
  if (self.pending.size() >= self.bounds.pending) self.forget_unwanted();
  if (self.pending.size() >= self.bounds.pending) return errc::overloaded;
  askers first;
  first.push_back({std::move(wanted), std::move(tell)});
  self.waiting.push_back(host);
  // From here on either both know of the name or neither: one that is pending and waits for no turn would never be looked up.
  try {
    self.pending.emplace(host, std::move(first));
    if (self.threads == self.bounds.threads) return {};
    start_thread();
  } catch (const std::exception& failed) {
    if (self.threads != 0 && self.pending.contains(host)) return {};  // those that are there come to it
    self.waiting.pop_back();
    self.pending.erase(host);
    const auto* const refused = dynamic_cast<const std::system_error*>(&failed);
    if (refused == nullptr) throw;
    return {refused->code().value(), boost::system::system_category()};
  }
  return {};
}

void name_service::start_thread() {
  const without_signals around;
  std::thread asking([shared = state_] {
    ::pthread_setname_np(::pthread_self(), "name look-up");
    shared->work();
  });
  ++state_->threads;
  asking.detach();
}

std::size_t name_service::threads() const {
  const std::lock_guard holding(state_->guard);
  return state_->threads;
}

name_service::answer addresses_of_host(const std::string& host) {
  addrinfo wanted{};
  wanted.ai_family = AF_UNSPEC;
  wanted.ai_socktype = SOCK_STREAM;
  addrinfo* list = nullptr;
  if (const int failed = ::getaddrinfo(host.c_str(), nullptr, &wanted, &list); failed != 0) return error_of(failed);
  const std::unique_ptr<addrinfo, decltype(&::freeaddrinfo)> found(list, ::freeaddrinfo);
  name_service::addresses all;
  for (const addrinfo* each = list; each != nullptr; each = each->ai_next) {
    if (const auto address = address_in(*each)) all.push_back(*address);
  }
  if (all.empty()) return error_code(asio::error::host_not_found);
  std::ranges::stable_partition(all, [](const asio::ip::address& each) { return each.is_v4(); });
  return all;
}

}  // namespace kvc::net

// A stand-in store as a whole, on a lane and thread of its own: masters, publishers, storage.
#pragma once

#include <future>
#include <memory>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

#include <boost/asio/awaitable.hpp>
#include <boost/asio/post.hpp>

#include "core/catalog.hpp"
#include "net/runtime.hpp"
#include "net/zmq_socket.hpp"
#include "perf/sim_store_master.hpp"
#include "perf/sim_store_world.hpp"

namespace kvc::sim {

/// A store that goes on by itself: promotions end, memory is evicted, what happens is told.
///
/// Life cycle: construct; `open` once; then use it through `at_home` from any other thread; `stop`, or destroy.
class store_cluster {
 public:
  explicit store_cluster(const store_options& chosen);
  ~store_cluster();
  store_cluster(const store_cluster&) = delete;
  store_cluster& operator=(const store_cluster&) = delete;

  /// Listens, fills the store with `objects`, and begins. Returns a sentence about what went wrong, or an empty one.
  [[nodiscard]] std::string open();
  /// Answers what hangs and ends everything; false when something did not end in time. Once is enough.
  bool stop();

  /// Of a master, valid after `open`.
  [[nodiscard]] const std::string& url(std::size_t master = 0) const { return world_.urls.at(master); }
  [[nodiscard]] std::string endpoint(std::size_t master = 0) const { return endpoints_.at(master); }
  [[nodiscard]] std::string replay_endpoint(std::size_t master = 0) const { return replay_endpoints_.at(master); }

  /// Does something to the world on its lane and waits for it; what happened to the store is told then. Not from the lane itself.
  template <class Do>
  std::invoke_result_t<Do&, store_world&> at_home(Do what) {
    std::packaged_task<std::invoke_result_t<Do&, store_world&>()> task([&] {
      const teller told{world_};
      return what(world_);
    });
    auto done = task.get_future();
    boost::asio::post(world_.home.context, [&task] { task(); });
    return done.get();
  }

  [[nodiscard]] const store_options& options() const noexcept { return world_.chosen; }
  /// For what runs on the lane itself.
  [[nodiscard]] store_world& world() noexcept { return world_; }

 private:
  /// Tells when it goes, so that it comes behind the action and before its result is seen.
  struct teller {
    store_world& world;
    ~teller() { world.tell(); }
  };

  [[nodiscard]] boost::asio::awaitable<void> tend();
  void fill();

  core::catalog catalog_;
  net::zmq_engine engine_;
  net::runtime lanes_;
  store_world world_;
  std::vector<std::unique_ptr<store_master>> masters_;
  std::vector<std::string> endpoints_;
  std::vector<std::string> replay_endpoints_;
  bool is_open_ = false;
};

}  // namespace kvc::sim

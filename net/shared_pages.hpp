// Pages that take long to make: each is made once for all who have asked for it by then.
#pragma once

#include <cstddef>
#include <exception>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include <boost/asio/any_completion_handler.hpp>
#include <boost/asio/any_io_executor.hpp>
#include <boost/asio/awaitable.hpp>

#include "net/aside.hpp"
#include "net/http_message.hpp"
#include "net/http_shared.hpp"

namespace kvc::net {

/// Makes pages beside the lanes, one after the other.
///
/// A page is never older than the question for it: who asks while it is being made gets the next one, with all others who ask until that is
/// begun. So there is at most one of a name in the making and one queued, whoever asks how often, and its body is there once for all of
/// them. Large pages that clients have not taken yet have a budget. Life cycle: goes with the thread beside the lanes, which is destroyed
/// first. Lane: any.
class shared_pages {
 public:
  /// Different pages that may be queued at one time.
  static constexpr std::size_t most_queued = 64;

  /// Bytes of all large pages that are being written to clients, unless told otherwise.
  static constexpr std::size_t most_kept_bytes = std::size_t{256} << 20;

  using maker = std::function<http_reply()>;

  explicit shared_pages(aside_thread& beside, std::size_t most_kept = most_kept_bytes)
      : beside_(beside), kept_(std::make_shared<byte_budget>(most_kept)) {}
  shared_pages(const shared_pages&) = delete;
  shared_pages& operator=(const shared_pages&) = delete;

  /// The page of this name, on the caller's lane, with its body in `shared`; nothing when too many are queued or being written. Throws what
  /// `make` threw to all who wait for it, and `cancelled` once the thread beside the lanes is closed. All makers of a name make the same;
  /// one of them is called, on that thread. It may refer to what the caller keeps, as the caller waits: no cancellation reaches this wait.
  /// Deadline: none, pages end by themselves.
  [[nodiscard]] asio::awaitable<std::optional<http_reply>> ask(std::string name, maker make);

 private:
  using page = std::shared_ptr<const http_reply>;
  using told = void(std::exception_ptr, page);

  struct asker {
    asio::any_io_executor lane;  ///< which has something to wait for meanwhile
    asio::any_completion_handler<told> handler;

    void tell(std::exception_ptr failure, page made);
  };
  struct making {
    maker make;
    std::vector<asker> askers;
  };

  void join(const std::string& name, maker make, asker who);
  void carry_out(const std::string& name, bool is_refused);
  [[nodiscard]] page kept(http_reply made);

  aside_thread& beside_;
  std::shared_ptr<byte_budget> kept_;     ///< shared with the pages, which sessions may hold for longer than this lives
  std::mutex lock_;                       ///< of the next: held for a look only
  std::map<std::string, making> queued_;  ///< not begun yet
};

}  // namespace kvc::net

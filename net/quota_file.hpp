// Quotas that outlive the process, in a file.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>

#include <boost/asio/any_io_executor.hpp>
#include <boost/asio/awaitable.hpp>
#include <boost/asio/steady_timer.hpp>
#include <boost/asio/thread_pool.hpp>

#include "core/quota.hpp"

namespace kvc::net {

namespace asio = boost::asio;

/// Keeps a quota table in a file: `{"default_limit_gb":null,"quotas":[{"cache_salt":"a","limit_gb":10}]}`.
///
/// Why: a coordinator that has lost its quotas takes every limit for 0 and has everything deleted. The file is replaced as a whole by a new
/// one beside it, which reaches the disk before it takes the name, so that a crash leaves the old or the new one. Writing is done by a
/// thread of its own; changes that come while it writes go into the next file together.
/// Lane: the executor's, but for `load`, which is called before it runs. Destroyed when no call is under way; waits for the thread.
class quota_file {
 public:
  /// Puts `text` in the place of the file at `path`; the reason when that failed, as is what it throws. Called on the writer's thread.
  using replacer = std::function<std::optional<std::string>(const std::string& path, const std::string& text)>;

  /// `path` empty: keeps nothing. `replace`: in place of writing to the disk, for tests.
  quota_file(asio::any_io_executor home, std::string path, replacer replace = {});
  ~quota_file();
  quota_file(const quota_file&) = delete;
  quota_file& operator=(const quota_file&) = delete;

  [[nodiscard]] bool is_used() const noexcept { return !path_.empty(); }

  /// Puts what the file says into an empty table, and logs that; only a file that is not there says nothing. Answers what is wrong with it.
  /// Where nothing can be written, logs a warning: quotas that only somebody else changes are of use.
  [[nodiscard]] std::optional<std::string> load(core::quota_table& into) const;

  /// Completes when the table, as it is at the call or later, is on the disk; or when that failed: then with the reason, whatever it was,
  /// and the next call tries again. Made in slices. The table outlives the call. Deadline: none, the disk's; callers have one. Throws only
  /// when the caller is cancelled; others who wait then write in its place.
  [[nodiscard]] asio::awaitable<std::optional<std::string>> save(const core::quota_table& from);

  /// Files that could not be written, since the start.
  [[nodiscard]] std::uint64_t failures() const noexcept { return failures_; }

 private:
  [[nodiscard]] asio::awaitable<std::string> written_down(const core::quota_table& from) const;

  std::string path_;
  replacer replace_;  ///< before the thread, which uses it
  asio::any_io_executor home_;
  asio::steady_timer finished_;  ///< never expires: waking is cancelling it
  std::unique_ptr<asio::thread_pool> writer_;
  std::uint64_t asked_ = 0;  ///< saves asked for so far
  std::uint64_t tried_ = 0;  ///< up to which of them the file has been tried to be brought
  bool is_writing_ = false;
  std::optional<std::string> outcome_;  ///< of the last try
  std::uint64_t failures_ = 0;
};

}  // namespace kvc::net

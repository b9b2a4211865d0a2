// Promotion by a Mooncake master through its admin interface.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "net/store_caller.hpp"
#include "net/store_executor.hpp"
#include "net/store_settings.hpp"

namespace kvc::net {

/// A master of today's release, run with offload and promotion on hit.
///
/// Story: nobody can order a promotion; the master promotes what is asked for often enough. So the executor looks where the objects are,
/// asks for those on local disk as often as the master's threshold wants, and looks again, ever less often, until they are in memory, have
/// gone, or the deadline passes; each is told of as soon as it has come. While they are awaited the master's count of what it refused for
/// want of memory is watched: once it grows, what is not there by the next look is given up. Looking moves nothing. A key with a comma
/// cannot be looked for so: while it is promoted it is asked for alone, which tells what is in memory and counts as a wish; otherwise
/// nothing is told about it. Where the copy goes is the master's choice: its interface takes no preference.
class master_executor final : public store_executor {
 public:
  /// `settings` outlive it.
  master_executor(asio::any_io_executor executor, store_url url, const store_settings& settings)
      : executor_(executor), settings_(settings), caller_(executor, std::move(url), settings.store_call_timeout) {}

  [[nodiscard]] asio::awaitable<std::vector<promotion_outcome>> promote(const promotion_order& order,
                                                                        const promotion_progress& progress) override;
  [[nodiscard]] bool can_be_asked() const noexcept override { return true; }
  [[nodiscard]] asio::awaitable<result<std::vector<placement>>> locate(const std::vector<std::string>& keys, const std::string& tenant,
                                                                       std::chrono::steady_clock::duration patience) override;
  [[nodiscard]] std::uint64_t refused_for_memory() const noexcept override { return refused_; }

 private:
  using time_point = std::chrono::steady_clock::time_point;
  struct waiting {
    std::vector<std::string> keys;
    std::vector<std::size_t> places;  ///< in the order
  };

  enum class looking : std::uint8_t { moves_nothing, promotes };
  [[nodiscard]] asio::awaitable<result<std::vector<placement>>> look(const std::vector<std::string>& keys, const std::string& tenant,
                                                                     time_point deadline, looking how);
  [[nodiscard]] asio::awaitable<error_code> look_at(std::vector<std::string> keys, std::vector<std::size_t> places,
                                                    const std::string& tenant, time_point deadline, std::vector<placement>& found);
  [[nodiscard]] asio::awaitable<error_code> look_alone(const std::string& key, const std::string& tenant, time_point deadline,
                                                       placement& found);
  [[nodiscard]] asio::awaitable<void> touch(const promotion_order& order, waiting& open, std::vector<promotion_outcome>& outcomes);
  [[nodiscard]] asio::awaitable<bool> sees_pressure(time_point deadline);
  [[nodiscard]] asio::awaitable<bool> pause(std::chrono::steady_clock::duration how_long);

  asio::any_io_executor executor_;
  const store_settings& settings_;
  store_caller caller_;
  std::uint64_t refused_ = 0;
  bool has_looked_ = false;  ///< at the count of refusals
};

}  // namespace kvc::net

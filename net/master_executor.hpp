// Promotion by a Mooncake master through its admin interface.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "net/store_caller.hpp"
#include "net/store_executor.hpp"
#include "net/store_settings.hpp"

namespace kvc::net {

/// A master of today's release, run with offload and promotion on hit.
///
/// Story: nobody can order a promotion; the master promotes what is asked for often enough. So the executor looks where the objects are,
/// asks for those on local disk as often as the master's threshold wants, some keys side by side, and looks again, ever less often, until
/// they are in memory, have gone, or the deadline passes; each is told of as soon as it has come. What could not be asked for is asked for
/// again after the next look, what is on its way already is not. While they are awaited the master's count of what it refused for want of
/// memory is watched: once it is higher than at the beginning, what is not there by the next look is given up. Looking moves nothing. A
/// list that is refused is halved, since one key, or the length, may be why; a key that fails alone is unknown. An order about which the
/// master is silent, though it answers our own key, is looked for in halves as well, and in halves of those the next time: a key that
/// breaks connections, or that nobody answers for in time, stands alone then and is tried now and then. A key with a comma cannot
/// be looked for so: while it is promoted it is asked for alone, which tells what is in memory and counts as a wish; otherwise nothing is
/// told about it. Where the copy goes is the master's choice: its interface takes no preference.
class master_executor final : public store_executor {
 public:
  /// `settings` outlive it.
  master_executor(asio::any_io_executor executor, store_url url, const store_settings& settings)
      : executor_(executor), settings_(settings), caller_(executor, std::move(url), settings.store_call_timeout, led_by::an_election) {}

  [[nodiscard]] asio::awaitable<std::vector<promotion_outcome>> promote(const promotion_order& order,
                                                                        const promotion_progress& progress) override;
  [[nodiscard]] bool can_be_asked() const noexcept override { return true; }
  [[nodiscard]] asio::awaitable<result<std::vector<placement>>> locate(const std::vector<std::string>& keys, const std::string& tenant,
                                                                       std::chrono::steady_clock::duration patience) override;
  [[nodiscard]] std::uint64_t refused_for_memory() const noexcept override { return refused_; }

 private:
  using time_point = std::chrono::steady_clock::time_point;
  using duration = std::chrono::steady_clock::duration;
  struct waiting {
    std::string key;
    std::size_t place = 0;      ///< in the order
    std::size_t hits_left = 0;  ///< wishes that the master still has to hear
    bool is_coming = false;     ///< by the last look
    std::size_t part = 0;       ///< of the order, which is looked for together; 0: those that are answered for
    time_point look_from;       ///< it has a part of its own, and is not looked for before

    [[nodiscard]] bool is_to_be_asked_for() const noexcept { return hits_left != 0 && !is_coming && part == 0; }
  };
  struct touching {
    std::vector<waiting>& open;
    std::size_t next = 0;
    std::size_t failures = 0;
  };
  /// What a list of keys that was not answered came to.
  enum class refusal : std::uint8_t { none, of_list, not_understood };

  enum class looking : std::uint8_t { moves_nothing, promotes };
  [[nodiscard]] asio::awaitable<result<std::vector<placement>>> look(const std::vector<std::string>& keys, const std::string& tenant,
                                                                     time_point deadline, duration patience, looking how);
  [[nodiscard]] asio::awaitable<error_code> look_together(const std::vector<std::string>& keys, std::span<const std::size_t> places,
                                                          const std::string& tenant, time_point deadline, duration patience,
                                                          std::vector<placement>& found);
  [[nodiscard]] asio::awaitable<result<refusal>> look_at(const std::vector<std::string>& keys, const std::vector<std::size_t>& places,
                                                         const std::string& tenant, time_point deadline, std::vector<placement>& found);
  [[nodiscard]] asio::awaitable<error_code> look_alone(const std::string& key, const std::string& tenant, time_point deadline,
                                                       placement& found);
  [[nodiscard]] asio::awaitable<error_code> look_in_parts(const promotion_order& order, std::vector<waiting>& open,
                                                          std::vector<placement>& found);
  [[nodiscard]] asio::awaitable<bool> answers(time_point deadline);
  [[nodiscard]] asio::awaitable<void> touch(const promotion_order& order, std::vector<waiting>& open);
  [[nodiscard]] asio::awaitable<void> touch_some(const promotion_order& order, touching& shared);
  [[nodiscard]] asio::awaitable<bool> sees_pressure(time_point deadline, std::optional<std::uint64_t>& at_first);
  [[nodiscard]] asio::awaitable<bool> pause(std::chrono::steady_clock::duration how_long);

  asio::any_io_executor executor_;
  const store_settings& settings_;
  store_caller caller_;
  std::uint64_t refused_ = 0;  ///< by the last page
};

}  // namespace kvc::net

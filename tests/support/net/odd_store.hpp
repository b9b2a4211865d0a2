// A store without sockets: what it has, and a mover that asks it in the master's words, late, in part, or not at all.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <map>
#include <random>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <boost/asio/awaitable.hpp>

#include "core/event.hpp"
#include "core/replica.hpp"
#include "net/event_encode.hpp"
#include "net/runtime.hpp"
#include "net/store_executor.hpp"

namespace kvc::test {

/// Where an object is.
struct odd_object {
  bool memory = false;
  bool disk = false;  ///< in the older sense
  bool local_disk = false;
  bool is_coming = false;  ///< to memory

  [[nodiscard]] bool is_anywhere() const noexcept { return memory || disk || local_disk || is_coming; }
  [[nodiscard]] core::replica_set set() const noexcept;
  friend bool operator==(const odd_object&, const odd_object&) = default;
};

/// An object that a store may have.
struct odd_thing {
  std::string tenant;
  std::string key;
  std::uint64_t block = 0;    ///< whose block it is; 0: nobody knows
  bool key_names_it = false;  ///< else only events do
};
inline constexpr std::uint32_t odd_block_size = 2;  ///< of their model, in tokens

/// What a store publishes of a change, in one of the stores' forms.
[[nodiscard]] std::vector<core::event> events_of(const odd_thing& about, const odd_object& before, const odd_object& after,
                                                 net::event_form form, const std::string& model);

/// What is in the store, and how it answers. Lane: that of its movers; tests change it on the same thread.
class odd_store {
 public:
  using name = std::pair<std::string, std::string>;  ///< tenant, key

  explicit odd_store(std::uint64_t seed) : random(seed) {}

  /// The body of an answer to a look by `target`, some of which is left out while there is trouble.
  [[nodiscard]] std::string answer_to(std::string_view target);

  bool chance(unsigned percent) { return random() % 100 < percent; }
  std::chrono::microseconds up_to(std::int64_t longest) {
    return std::chrono::microseconds(static_cast<std::int64_t>(random() % static_cast<std::uint64_t>(longest + 1)));
  }

  std::mt19937_64 random;
  std::map<name, odd_object> objects;
  unsigned trouble = 0;    ///< percent of answers that something is wrong with
  bool is_away = false;    ///< nobody answers
  std::string poison;      ///< whoever asks for this key, alone or among others, has his connection broken; "": none
  unsigned shortages = 0;  ///< so many looks find no memory
  std::size_t looks = 0;
  std::size_t keys_asked = 0;  ///< by looks
};

/// Asks one store, which outlives it, as the master's mover does. Lane: the home lane.
class odd_mover final : public net::store_executor {
 public:
  odd_mover(net::lane& home, odd_store& store) : home_(home), store_(store) {}

  [[nodiscard]] net::asio::awaitable<std::vector<net::promotion_outcome>> promote(const net::promotion_order& order,
                                                                                  const net::promotion_progress& progress) override;
  [[nodiscard]] bool can_be_asked() const noexcept override { return true; }
  [[nodiscard]] net::asio::awaitable<net::result<std::vector<net::placement>>> locate(
      const std::vector<std::string>& keys, const std::string& tenant, std::chrono::steady_clock::duration patience) override;

 private:
  /// False: the wait was ended.
  [[nodiscard]] net::asio::awaitable<bool> pause(std::chrono::microseconds how_long);

  net::lane& home_;
  odd_store& store_;
};

}  // namespace kvc::test

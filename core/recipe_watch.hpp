// Whether the members of a partition make the same hashes of the same tokens: everybody who does not misses silently.
#pragma once

#include <cstddef>
#include <cstdint>
#include <mutex>
#include <span>
#include <string_view>
#include <vector>

#include "core/ids.hpp"
#include "core/registration.hpp"

namespace kvc::core {

/// What is wrong with a stream's hashes, the worst thing last.
enum class recipe_verdict : std::uint8_t {
  unknown,             ///< nobody to compare with yet, or too little in common
  agrees,              ///< equal blocks have equal names elsewhere
  names_differ,        ///< equal blocks have other names at every other member: engine hashes of this fleet cannot be compared
  chains_differ,       ///< it shares blocks with others and never a first one: no prefix can ever match between them
  contradicts_tokens,  ///< its names do not follow from its tokens: blocks it names by the standard hash will never be found
};

[[nodiscard]] std::string_view to_string(recipe_verdict verdict) noexcept;

/// A bounded sample of what one stream stored, the same for everybody: the contents with the smallest hashes. So two that store the same
/// blocks sample the same ones, however many they store and in whatever order.
struct recipe_sample {
  struct root {
    local_hash content{};
    engine_hash name{};
  };
  std::vector<root> roots;         ///< first blocks of prompts, by content
  std::vector<local_hash> inner;   ///< blocks further behind, sorted
  std::uint64_t checked = 0;       ///< names that could be checked against tokens or against earlier names
  std::uint64_t contradicted = 0;  ///< and were wrong
};

/// Takes the sample of one stream.
/// Thread-safety: `note`, `note_check` and `reset` on the stream's lane, the others from anywhere. Memory: below 2 KiB.
class recipe_notes {
 public:
  static constexpr std::size_t kept_roots = 64;
  static constexpr std::size_t kept_inner = 64;

  /// Consecutive blocks were stored; `is_root`: the first of them begins a prompt. Locals and names are as many.
  void note(std::span<const local_hash> locals, std::span<const engine_hash> names, bool is_root);
  /// A name was compared with what it has to be.
  void note_check(bool is_right);
  /// The publisher began again, and may have another recipe now.
  void reset();

  [[nodiscard]] recipe_sample sample() const;

  /// What was last found out, by whoever compares. Zero counts: nothing yet.
  struct finding {
    recipe_verdict verdict = recipe_verdict::unknown;
    std::uint32_t shared_roots = 0;    ///< sampled first blocks that other members have as well
    std::uint32_t agreeing_roots = 0;  ///< of them, those that have the same name elsewhere
    std::uint32_t shared_inner = 0;    ///< other sampled blocks that other members have as well
    std::uint64_t contradicted = 0;

    friend bool operator==(const finding&, const finding&) = default;
  };
  /// Whether the verdict is another one now. One that was found stands, whoever this is compared with next, until another one is found or
  /// the sample it came from has gone. `is_part`: it was compared with some of the others only, which can show that somebody agrees and not
  /// that nobody does.
  [[nodiscard]] bool update(const finding& now, bool is_part = false);
  [[nodiscard]] finding found() const;

 private:
  void note_root(local_hash content, engine_hash name);

  mutable std::mutex changing_;  ///< taken for what enters the sample, which becomes rare
  recipe_sample sample_;
  finding found_;
  bool is_found_old_ = false;                       ///< it is about a sample that has gone
  std::uint64_t largest_root_ = ~std::uint64_t{0};  ///< lane only: what is larger cannot enter any more
  std::uint64_t largest_inner_ = ~std::uint64_t{0};
};

/// Members of a partition that are compared with each other: `count` in a row, from `first` on and as on a circle.
struct recipe_window {
  std::size_t first = 0;
  std::size_t count = 0;

  friend bool operator==(const recipe_window&, const recipe_window&) = default;
};

/// Divides a partition for one round of comparing at most `at_once` members at a time; above 2. Windows begin elsewhere each round. Each is
/// as full as can be, and the last one reaches back for that: whoever is compared with few, or with nobody, cannot be told from one that is
/// unlike everybody. Pure.
[[nodiscard]] std::vector<recipe_window> recipe_windows(std::size_t members, std::size_t at_once, std::size_t round);

/// A member of a partition, as far as recipes go.
struct recipe_member {
  publisher_type type = publisher_type::automatic;
  recipe_sample sample;
};

/// Compares all with all; one finding for each, in order. Names are compared between publishers of one type only, since engines have
/// recipes of their own. Some hundred members at most: the time is proportional to their samples. Pure.
[[nodiscard]] std::vector<recipe_notes::finding> compare_recipes(std::span<const recipe_member> members);

}  // namespace kvc::core

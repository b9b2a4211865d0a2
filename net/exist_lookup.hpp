// Looks for the objects of a probe in the tables, and decides what is to be said and done about each.
#pragma once

#include <chrono>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "core/counters.hpp"
#include "core/exist_decision.hpp"
#include "net/exist_request.hpp"
#include "net/object_shelves.hpp"
#include "net/promotion_service.hpp"
#include "net/store_reconciler.hpp"

namespace kvc::net {

/// What a probe answers for each of its keys, and the memory for it. One lane's; reused.
struct exist_answer {
  std::vector<core::exist_result> results;
  std::vector<prefetch_word> words;  ///< empty unless a prefetch was asked for
};

/// Answers probes on the lane that asks.
///
/// Without a backend every backend is looked at, and a key has the best that is true of it in any of them: in memory, on its way there, on
/// a disk it can be promoted from, there at all. A key that is nowhere, while a store that could have it cannot be asked or nobody answers
/// for the backend that is named, is not said to be missing but unavailable. Lane: one object per lane; what it refers to is shared and
/// outlives it.
class exist_lookup {
 public:
  exist_lookup(object_shelves& objects, promotion_service& promotions, store_reconciler& truth, std::size_t longest_key)
      : objects_(objects), promotions_(promotions), truth_(truth), longest_key_(longest_key) {}

  /// Fills `answer`; promotions that are wanted have been asked for when it returns. `wait`, if given, is told of their end.
  void run(const exist_request& request, exist_answer& answer, const std::shared_ptr<promotion_wait>& wait = {});
  /// While waiting: whether some of what was on its way by the table, by nobody's promotion here, still is. What is so no longer and has
  /// not come to memory is said to have failed. Its store is asked now and then, since it may be silent about it.
  [[nodiscard]] bool is_coming(const exist_request& request, exist_answer& answer);
  /// After waiting: promotions that have failed are said to have. Precondition: the request is the one that was run last.
  void note_failed(const exist_request& request, promotion_wait& wait, exist_answer& answer) const;

 private:
  /// The best there is of a key so far.
  struct best {
    core::exist_decision decision;
    std::uint32_t backend = 0;  ///< the one to promote from, or `in_memory_mark`
    int worth = 0;              ///< how good that is
  };
  static constexpr std::uint32_t in_memory_mark = 0xFFFF'FFFF;  ///< it is in memory somewhere

  void look(std::uint32_t backend, const exist_request& request);
  void seek(std::uint32_t backend, const exist_request& request);
  void promote(const exist_request& request, exist_answer& answer, const std::shared_ptr<promotion_wait>& wait);

  object_shelves& objects_;
  promotion_service& promotions_;
  store_reconciler& truth_;
  std::size_t longest_key_;
  struct awaited {
    std::size_t place = 0;
    std::uint32_t backend = 0;
  };

  std::vector<best> best_;
  std::vector<awaited> coming_;  ///< by the table; of a probe that waits
  std::chrono::steady_clock::time_point asked_again_;
  std::vector<std::uint32_t> found_;
  std::vector<std::string> old_;
  std::chrono::steady_clock::time_point last_touch_;
  std::chrono::steady_clock::time_point last_seek_;
  std::size_t seek_from_ = 0;  ///< place in a probe
  // Of the probe being answered.
  bool is_time_to_touch_ = false;
  bool is_time_to_seek_ = false;
  bool has_touched_ = false;
  bool has_sought_ = false;
};

}  // namespace kvc::net

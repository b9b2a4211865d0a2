#include "core/slot_table.hpp"

#include <algorithm>
#include <array>
#include <mutex>
#include <vector>

#include "core/quiescence.hpp"

namespace kvc::core {
namespace {

constexpr std::uint32_t page_slots = 1'024;
constexpr unsigned medium_bits = 4;
constexpr std::uint32_t kept_back = 1'024;  ///< more than there are lanes
constexpr std::size_t least_free_room = 16;

using page = std::array<std::atomic<std::uint64_t>, page_slots>;

std::uint64_t next_number() {
  static std::atomic<std::uint64_t> last{0};
  return last.fetch_add(1, std::memory_order_relaxed) + 1;
}

}  // namespace

struct slot_table::state {
  const std::uint64_t number = next_number();
  std::array<std::atomic<page*>, max_slots / page_slots> pages{};
  std::atomic<std::uint32_t> end{0};
  std::atomic<std::uint32_t> used{0};
  std::atomic<std::uint32_t> room{max_slots};  ///< free, or never used; not those that wait for their last reader
  std::atomic<media_mask> media{0};
  std::atomic<std::uint64_t> refused{0};
  std::mutex changing;
  std::array<std::uint32_t, max_media> on_medium{};  ///< slots in use; under `changing`
  std::vector<std::uint32_t> free;                   ///< under `changing`

  ~state() {
    for (const auto& each : pages) delete each.load();
  }
};

namespace {

/// A slot on its way back.
template <class State>
struct returned_slot {
  std::shared_ptr<State> of;
  std::uint32_t slot;

  static void free(void* object) {
    const std::unique_ptr<returned_slot> done(static_cast<returned_slot*>(object));
    const std::lock_guard lock(done->of->changing);
    done->of->free.push_back(done->slot);
    done->of->room.fetch_add(1, std::memory_order_relaxed);
  }
};

}  // namespace

slot_table::slot_table() : state_(std::make_shared<state>()) {}
slot_table::~slot_table() = default;

std::uint32_t slot_table::take(worker_id worker, medium_id medium) {
  state& all = *state_;
  const std::lock_guard lock(all.changing);
  std::uint32_t slot = all.end.load(std::memory_order_relaxed);
  if (!all.free.empty()) {
    slot = all.free.back();
    all.free.pop_back();
  } else if (slot == max_slots) {
    all.refused.fetch_add(1, std::memory_order_relaxed);
    return no_slot;
  }
  if (slot >= all.free.capacity()) all.free.reserve(std::max<std::size_t>(2 * slot, least_free_room));  // all may come back
  std::atomic<page*>& home = all.pages[slot / page_slots];
  if (home.load(std::memory_order_relaxed) == nullptr) home.store(new page{}, std::memory_order_release);
  const std::uint64_t owner = std::uint64_t{worker.get()} << medium_bits | static_cast<std::uint64_t>(medium);
  (*home.load(std::memory_order_relaxed))[slot % page_slots].store(owner, std::memory_order_release);
  if (all.on_medium[static_cast<std::size_t>(medium)]++ == 0) all.media.fetch_or(mask_of(medium), std::memory_order_release);
  if (slot >= all.end.load(std::memory_order_relaxed)) all.end.store(slot + 1, std::memory_order_release);
  all.used.fetch_add(1, std::memory_order_relaxed);
  all.room.fetch_sub(1, std::memory_order_relaxed);
  return slot;
}

void slot_table::give_back(std::uint32_t slot) {
  std::unique_ptr<returned_slot<state>> returned(new returned_slot<state>{state_, slot});  // first, since it may throw
  {
    state& all = *state_;
    const std::lock_guard lock(all.changing);
    const medium_id medium = owner(slot).medium;
    if (--all.on_medium[static_cast<std::size_t>(medium)] == 0) {
      all.media.fetch_and(static_cast<media_mask>(~mask_of(medium)), std::memory_order_release);
    }
    all.used.fetch_sub(1, std::memory_order_relaxed);
  }
  retire(returned.release(), returned_slot<state>::free);
}

slot_owner slot_table::owner(std::uint32_t slot) const noexcept {
  const page* const home = state_->pages[slot / page_slots].load(std::memory_order_acquire);
  const std::uint64_t owner = (*home)[slot % page_slots].load(std::memory_order_acquire);
  return {worker_id{static_cast<std::uint32_t>(owner >> medium_bits)}, static_cast<medium_id>(owner & ((1U << medium_bits) - 1))};
}

std::uint64_t slot_table::number() const noexcept {
  return state_->number;
}
std::uint32_t slot_table::end() const noexcept {
  return state_->end.load(std::memory_order_acquire);
}
media_mask slot_table::media() const noexcept {
  return state_->media.load(std::memory_order_acquire);
}
std::uint32_t slot_table::used() const noexcept {
  return state_->used.load(std::memory_order_relaxed);
}
bool slot_table::has_room() const noexcept {
  if (state_->room.load(std::memory_order_relaxed) > kept_back) return true;
  state_->refused.fetch_add(1, std::memory_order_relaxed);
  return false;
}
std::uint64_t slot_table::refused() const noexcept {
  return state_->refused.load(std::memory_order_relaxed);
}

}  // namespace kvc::core

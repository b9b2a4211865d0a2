#include "perf/sim_engine.hpp"

#include <algorithm>
#include <utility>

#include "perf/sim_mix.hpp"

namespace kvc::sim {
namespace {

core::event_scope on_device() {
  core::event_scope scope;
  scope.medium = core::medium_id::gpu;
  return scope;
}

}  // namespace

engine::engine(engine_shape shape) : shape_(shape), slots_(1) {
  shape_.secret = mix(shape_.secret);
  places_.reserve(shape_.capacity);
  slots_.reserve(std::size_t{shape_.capacity} + 1);
}

std::uint64_t engine::name_of(std::uint64_t chained) const noexcept {
  return mix(chained ^ shape_.secret);
}

std::uint32_t engine::matched(const turn& request) const {
  std::size_t depth = 0;
  while (depth < request.prompt_blocks && places_.contains(name_of(request.chain[depth]))) ++depth;
  return static_cast<std::uint32_t>(depth);
}

void engine::unlink(std::uint32_t which) noexcept {
  slot& leaving = slots_[which];
  slots_[leaving.before].after = leaving.after;
  slots_[leaving.after].before = leaving.before;
}

void engine::append(std::uint32_t which) noexcept {
  const std::uint32_t last = slots_[0].before;
  slots_[which].before = last;
  slots_[which].after = 0;
  slots_[last].after = which;
  slots_[0].before = which;
}

bool engine::has_room() const noexcept {
  return slots_.size() <= shape_.capacity || slots_[0].after != nowhere;
}

std::uint32_t engine::evict(core::event_batch* told) {
  const std::uint32_t victim = slots_[0].after;
  unlink(victim);
  if (told != nullptr) {
    // vLLM tells of every evicted block in an event of its own.
    core::removed_event event;
    event.scope = on_device();
    event.hashes.emplace_back(slots_[victim].name);
    told->events.emplace_back(std::move(event));
  }
  places_.erase(slots_[victim].name);
  return victim;
}

core::stored_event engine::describe(const turn& request, std::size_t first, std::size_t last) const {
  core::stored_event event;
  event.scope = on_device();
  event.scope.block_size = shape_.block_size;
  event.hashes.reserve(last - first);
  for (std::size_t i = first; i < last; ++i) event.hashes.emplace_back(name_of(request.chain[i]));
  if (first > 0) event.parent = core::engine_hash{name_of(request.chain[first - 1])};
  const auto tokens = request.tokens.begin();
  event.tokens.assign(tokens + static_cast<std::ptrdiff_t>(first * shape_.block_size),
                      tokens + static_cast<std::ptrdiff_t>(last * shape_.block_size));
  event.has_tokens = true;
  return event;
}

bool engine::run_step(const turn& request, std::size_t first, std::size_t last, std::vector<core::event_batch>* told, outcome& sum) {
  core::event_batch* batch = nullptr;
  if (told != nullptr) {
    batch = &told->emplace_back();
    batch->rank = shape_.rank;
  }
  std::size_t done = first;
  for (; done < last && has_room(); ++done) {
    std::uint32_t place = 0;
    if (slots_.size() <= shape_.capacity) {
      place = static_cast<std::uint32_t>(slots_.size());
      slots_.emplace_back();
    } else {
      place = evict(batch);
      ++sum.removed_blocks;
    }
    slots_[place].name = name_of(request.chain[done]);
    places_.emplace(slots_[place].name, place);
    in_use_.push_back(place);
  }
  sum.stored_blocks += static_cast<std::uint32_t>(done - first);
  if (batch != nullptr) {
    if (done > first) {
      batch->events.emplace_back(describe(request, first, done));
    } else {
      told->pop_back();
    }
  }
  return done == last;
}

engine::outcome engine::serve(const turn& request, std::vector<core::event_batch>* told) {
  outcome sum;
  sum.matched_blocks = matched(request);
  in_use_.clear();
  for (std::size_t i = 0; i < sum.matched_blocks; ++i) {
    const std::uint32_t place = places_.find(name_of(request.chain[i]))->second;
    unlink(place);
    in_use_.push_back(place);
  }

  const std::size_t step = std::max<std::size_t>(1, shape_.prefill_tokens / shape_.block_size);
  bool goes_on = true;
  for (std::size_t first = sum.matched_blocks; goes_on && first < request.prompt_blocks; first += step) {
    goes_on = run_step(request, first, std::min(first + step, request.prompt_blocks), told, sum);
  }
  for (std::size_t block = request.prompt_blocks; goes_on && block < request.chain.size(); ++block) {
    goes_on = run_step(request, block, block + 1, told, sum);
  }

  for (auto place = in_use_.rbegin(); place != in_use_.rend(); ++place) append(*place);
  return sum;
}

}  // namespace kvc::sim

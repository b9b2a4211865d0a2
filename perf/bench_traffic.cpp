#include "perf/bench_traffic.hpp"

#include <algorithm>

#include "perf/sim_mix.hpp"
#include "perf/sim_trace.hpp"

namespace kvc::perf {
namespace {

using core::local_hash;
using sim::dice;
using sim::mix;

/// Appends blocks `from` .. `to` of a text; each text and place has blocks of its own.
void append_text(std::uint64_t text, std::uint64_t from, std::uint64_t to, std::vector<local_hash>& out) {
  const std::uint64_t start = mix(text);
  for (std::uint64_t i = from; i < to; ++i) out.emplace_back(mix(start + i));
}

/// 1 .. 2 * mean - 1, every length as likely as the others. Precondition: mean is at least 1.
std::uint32_t about(dice& random, std::uint32_t mean) {
  return random.between(1, 2 * mean - 1);
}

class conversations final : public bench_traffic {
 public:
  conversations(const conversation_shape& shape, std::uint64_t seed) : shape_(shape), random_(seed), texts_(mix(seed)) {}

  bool next(made_request& into) override {
    std::size_t which = 0;
    if (chats_.empty() || random_.unit() < shape_.new_share) {
      if (chats_.size() < shape_.chats) {
        which = chats_.size();
        chats_.emplace_back();
      } else {
        which = random_.below(shape_.chats);
      }
      chats_[which] = {++texts_, 0};
    } else {
      which = random_.below(static_cast<std::uint32_t>(chats_.size()));
    }
    chat& current = chats_[which];
    const std::uint32_t asked = current.blocks + about(random_, shape_.turn_blocks);
    current.blocks = asked + (shape_.answer_blocks == 0 ? 0 : random_.below(2 * shape_.answer_blocks + 1));
    into.locals.clear();
    append_text(0, 0, shape_.system_blocks, into.locals);
    append_text(current.text, 0, current.blocks, into.locals);
    into.prompt_blocks = shape_.system_blocks + asked;
    into.affinity = current.text;
    if (current.blocks >= max_chat_blocks) current = {++texts_, 0};
    return true;
  }
  [[nodiscard]] const std::string& error() const noexcept override { return no_error_; }

 private:
  struct chat {
    std::uint64_t text = 0;
    std::uint32_t blocks = 0;
  };

  conversation_shape shape_;
  dice random_;
  std::uint64_t texts_;  ///< the youngest text; numbers go up
  std::vector<chat> chats_;
  std::string no_error_;
};

class agents final : public bench_traffic {
 public:
  agents(const agent_shape& shape, std::uint64_t seed) : shape_(shape), random_(seed), texts_(mix(seed)), tasks_(shape.tasks) {}

  bool next(made_request& into) override {
    task& current = tasks_[random_.below(shape_.tasks)];
    if (current.branches_left == 0) open_fan(current);
    --current.branches_left;
    into.locals.clear();
    append_text(0, 0, shape_.system_blocks, into.locals);
    append_text(current.text, 0, current.blocks, into.locals);
    append_text(++texts_, 0, about(random_, shape_.branch_blocks), into.locals);
    into.prompt_blocks = into.locals.size();
    into.affinity = current.text;
    return true;
  }
  [[nodiscard]] const std::string& error() const noexcept override { return no_error_; }

 private:
  struct task {
    std::uint64_t text = 0;
    std::uint32_t blocks = 0;  ///< of the trunk, behind the system prompt
    std::uint32_t fans_left = 0;
    std::uint32_t branches_left = 0;
  };

  void open_fan(task& current) {
    if (current.fans_left == 0) current = {.text = ++texts_, .blocks = 0, .fans_left = random_.between(1, shape_.fans), .branches_left = 0};
    --current.fans_left;
    current.blocks += about(random_, shape_.turn_blocks);
    current.branches_left = shape_.fan_out;
  }

  agent_shape shape_;
  dice random_;
  std::uint64_t texts_;
  std::vector<task> tasks_;
  std::string no_error_;
};

class trace final : public bench_traffic {
 public:
  trace(const trace_shape& shape, std::uint64_t seed) : file_(shape.path), shape_(shape), seed_(mix(seed)), copy_(shape.copies) {}

  bool next(made_request& into) override {
    do {
      if (copy_ == shape_.copies) {
        if (!file_.next(request_)) return false;
        copy_ = 0;
        ++number_;
      }
      describe(copy_++, into);
    } while (into.prompt_blocks == 0);  // shorter than a block: nothing is cached and nothing found
    return true;
  }
  [[nodiscard]] const std::string& error() const noexcept override { return file_.error(); }

 private:
  void describe(std::uint32_t copy, made_request& into) const {
    const std::uint64_t world = mix(seed_ + copy);
    const std::uint32_t parts = sim::trace_block_tokens / shape_.block_size;
    into.prompt_blocks = request_.input_length / shape_.block_size;
    into.locals.clear();
    for (std::size_t i = 0; i < into.prompt_blocks; ++i) {
      const std::size_t part = i % parts;
      append_text(mix(world ^ request_.hash_ids[i / parts]), part, part + 1, into.locals);
    }
    // The last token of an answer is never computed. No two answers are alike.
    const std::uint64_t tokens = std::uint64_t{request_.input_length} + std::max(request_.output_length, 1U) - 1;
    append_text(mix(~world) + number_, into.prompt_blocks, tokens / shape_.block_size, into.locals);
    // Nearly all prompts of the published trace begin with the same block; the second tells the conversations apart.
    into.affinity = mix(world ^ request_.hash_ids[std::min<std::size_t>(request_.hash_ids.size() - 1, 1)]);
  }

  sim::trace_file file_;
  trace_shape shape_;
  std::uint64_t seed_;
  sim::trace_request request_;
  std::uint64_t number_ = 0;  ///< of the request in the file, from 1
  std::uint32_t copy_;        ///< the next one to tell of
};

}  // namespace

std::unique_ptr<bench_traffic> make_conversations(const conversation_shape& shape, std::uint64_t seed) {
  return std::make_unique<conversations>(shape, seed);
}

std::unique_ptr<bench_traffic> make_agents(const agent_shape& shape, std::uint64_t seed) {
  return std::make_unique<agents>(shape, seed);
}

std::unique_ptr<bench_traffic> make_trace(const trace_shape& shape, std::uint64_t seed) {
  return std::make_unique<trace>(shape, seed);
}

}  // namespace kvc::perf

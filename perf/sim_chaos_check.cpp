#include "perf/sim_chaos_check.hpp"

#include <algorithm>
#include <array>
#include <charconv>
#include <cstddef>
#include <optional>

#include <boost/json/object.hpp>
#include <boost/json/parse.hpp>
#include <boost/json/value.hpp>

namespace kvc::sim {
namespace {

namespace json = boost::json;
using bounds = chaos_cache::bounds;

constexpr std::array<core::medium_id, 3> compared_media{core::medium_id::gpu, core::medium_id::cpu, core::medium_id::disk};
constexpr std::array<std::string_view, 3> media_names{"GPU", "CPU", "DISK"};

std::string text_of(json::string_view text) {
  return {text.data(), text.size()};
}

std::uint64_t tokens_of(const json::value& from) {
  if (const auto* whole = from.if_int64()) return static_cast<std::uint64_t>(*whole);
  if (const auto* whole = from.if_uint64()) return *whole;
  return ~std::uint64_t{0};  // no depth at all: seen as a difference
}

std::optional<std::size_t> place_of(const chaos_profile& profile, core::medium_id medium) {
  const auto found = std::ranges::find(profile.media, medium);
  if (found == profile.media.end()) return std::nullopt;
  return static_cast<std::size_t>(found - profile.media.begin());
}

void widen(bounds& sum, const bounds& by) {
  sum.least = std::max(sum.least, by.least);
  sum.most = std::max(sum.most, by.most);
}

class checking {
 public:
  checking(const chaos_world& world, const std::vector<stream_row>& rows, doubt_policy policy, const chaos_partition& whose)
      : world_(&world), rows_(&rows), drops_stale_(policy == doubt_policy::drops), whose_(&whose) {}

  void check_stream(std::size_t member) {
    const chaos_member& who = world_->members[member];
    const stream_row& row = (*rows_)[member];
    const chaos_losses& losses = who.publisher->losses();
    const std::string name = who.instance + " rank " + std::to_string(who.rank);
    if (row.state != "whole" && row.state != "incomplete") complain(name + " is " + row.state + " though it is quiet");
    if (row.state != "whole" && losses.is_empty()) complain(name + " is " + row.state + ", but nothing of it was lost");
    if (row.state == "whole" && row.missing > 0) complain(name + " is whole, but misses " + std::to_string(row.missing));
    if (row.state == "whole" && row.unproven > 0) complain(name + " is whole, but may be another one");
    if (row.state == "incomplete" && row.missing == 0 && row.unproven == 0) complain(name + " is incomplete, but misses nothing");
    if (row.unproven > 0 && !who.publisher->ledger().has_broken()) complain(name + " may be another one, but was never away");
    // What was counted in the life before still counts where nobody could tell that it was over.
    if (!losses.anything && !may_be_of_two_lives(member) && row.missing > losses.numbers.size()) {
      complain(name + " misses " + std::to_string(row.missing) + ", but only " + std::to_string(losses.numbers.size()) + " were lost");
    }
  }

  /// Prompts meet only what stands behind their beginnings; these are all of a stream's blocks, in both of its partitions. Left out are a
  /// store's, as they count where their names are explained; those of a cache of chunks, since a chunk counts where all of it is placed;
  /// and equal names in two partitions, of which only one may wait for its parent.
  void check_blocks(std::size_t member) {
    const chaos_member& who = world_->members[member];
    const stream_row& row = (*rows_)[member];
    const chaos_engine& engine = who.publisher->engine();
    const chaos_profile& profile = engine.profile();
    const bool has_names_twice = profile.has_standard_names && !profile.second.is_everybodys();
    if (row.state != "whole" || profile.is_pool || profile.chunk_tokens != 0 || has_names_twice) return;
    const bool is_one_rank = engine.ranks().size() == 1;
    const std::string name = who.instance + " rank " + std::to_string(who.rank);
    std::uint64_t told = 0;
    std::uint64_t held = 0;
    for (std::size_t m = 0; m < compared_media.size(); ++m) {
      const auto found = row.blocks.find(std::string(media_names[m]));
      const std::uint64_t told_here = found == row.blocks.end() ? 0 : found->second;
      const auto place = place_of(profile, compared_media[m]);
      std::uint64_t held_here = 0;
      for (const auto* const ranks : {&engine.ranks(), &engine.second_ranks()}) {
        for (const auto& [rank, cache] : *ranks) held_here += place ? cache.held_on(*place) : 0;
      }
      const bool may_be_less = doubts_of(member, was_cleared(engine), is_one_rank && place == 0U).only_less;
      if (told_here > held_here || (!may_be_less && told_here + row.orphans < held_here)) {
        complain(name + " has " + std::to_string(held_here) + " blocks on " + std::string(media_names[m]) + ", not " +
                 std::to_string(told_here) + " and " + std::to_string(row.orphans) + " orphans");
      }
      told += told_here;
      held += held_here;
    }
    if (told + row.orphans > held) {
      complain(name + " has " + std::to_string(held) + " blocks, not " + std::to_string(told) + " and " + std::to_string(row.orphans) +
               " orphans");
    }
  }

  void check_instance(const std::string& instance, std::size_t prompt, const chaos_answer& answer) {
    const auto found = answer.find(instance);
    // Who has never spoken of an adapter, or of a salt, has no row there.
    if (found == answer.end() && whose_->is_everybodys()) return complain("there is no row for " + instance);
    const chaos_row row = found == answer.end() ? chaos_row{} : found->second;
    const chaos_text::path& path = world_->text.prompts()[prompt];
    std::string where = instance + " prompt " + std::to_string(prompt) + " (blocks";
    for (const std::uint32_t block : path) where += " " + std::to_string(block);
    where += ") " + whose_->lora + whose_->salt + (whose_->is_everybodys() ? "" : " ");
    bounds longest;
    std::array<bounds, compared_media.size()> on{};
    for (std::size_t i = 0; i < world_->members.size(); ++i) {
      const chaos_member& who = world_->members[i];
      if (who.instance != instance) continue;
      const chaos_engine& engine = who.publisher->engine();
      const bool is_one_rank = engine.ranks().size() == 1;
      const bool is_held = whose_->is_everybodys() || engine.profile().second == *whose_;
      for (const auto& [rank, cache] : whose_->is_everybodys() ? engine.ranks() : engine.second_ranks()) {
        const auto depth_on = [&](chaos_cache::place_mask among) {
          if (!is_held) return bounds{};
          return cache.depth(path, among, doubts_of(i, was_cleared(engine), is_one_rank && among == 1U));
        };
        const bounds any = depth_on(chaos_cache::everywhere);
        widen(longest, any);
        const auto told = row.ranks.find(rank);
        compare(where + "DP[" + std::to_string(rank) + "]", told == row.ranks.end() ? 0 : told->second, any);
        for (std::size_t m = 0; m < compared_media.size(); ++m) {
          const auto place = place_of(engine.profile(), compared_media[m]);
          if (place) widen(on[m], depth_on(1U << *place));
        }
      }
    }
    compare(where + "longest_matched", row.longest, longest);
    for (std::size_t m = 0; m < compared_media.size(); ++m) {
      const auto told = row.media.find(std::string(media_names[m]));
      compare(where + std::string(media_names[m]), told == row.media.end() ? 0 : told->second, on[m]);
    }
  }

  [[nodiscard]] std::vector<std::string> take() { return std::move(complaints_); }

 private:
  /// A clear of all that is known makes a stream whole again; what was lost before it may have been on a medium, or a rank's, that nobody
  /// has heard of and that the clear did not mean.
  [[nodiscard]] chaos_cache::doubts doubts_of(std::size_t member, bool was_cleared, bool is_all_meant) const {
    const chaos_losses& losses = world_->members[member].publisher->losses();
    if ((*rows_)[member].state != "whole") {
      return {.losses = &losses, .drops_stale = drops_stale_, .is_of_two_lives = !drops_stale_ && may_be_of_two_lives(member)};
    }
    if (losses.is_empty() || !was_cleared || is_all_meant) return {};
    // Media are remembered when everything is given up, so what stands on them was told of by a lost batch alone; ranks are not.
    const bool has_ranks = world_->members[member].publisher->engine().ranks().size() > 1;
    return {.losses = &losses, .drops_stale = drops_stale_ && has_ranks, .only_less = true};
  }

  [[nodiscard]] static bool was_cleared(const chaos_engine& engine) {
    return std::ranges::any_of(engine.ranks(), [](const auto& each) { return each.second.was_cleared(); });
  }

  [[nodiscard]] bool may_be_of_two_lives(std::size_t member) const {
    return (*rows_)[member].unproven > 0 && world_->members[member].publisher->restarts() > 0;
  }

  void complain(std::string what) { complaints_.push_back(std::move(what)); }

  void compare(const std::string& what, std::uint64_t told, const bounds& right) {
    const std::uint64_t least = std::uint64_t{right.least} * chaos_text::block_size;
    const std::uint64_t most = std::uint64_t{right.most} * chaos_text::block_size;
    if (told >= least && told <= most) return;
    std::string truth = std::to_string(least);
    if (most != least) truth += " to " + std::to_string(most);
    complain(what + " is answered " + std::to_string(told) + ", the truth is " + truth);
  }

  const chaos_world* world_;
  const std::vector<stream_row>* rows_;
  bool drops_stale_;
  const chaos_partition* whose_;
  std::vector<std::string> complaints_;
};

void read_row(const json::object& from, chaos_row& into) {
  for (const auto& [name, value] : from) {
    if (name == "longest_matched") {
      into.longest = tokens_of(value);
    } else if (const auto* const ranks = value.if_object(); ranks != nullptr && name == "DP") {
      for (const auto& [number, depth] : *ranks) {
        std::uint32_t rank = 0;
        std::from_chars(number.data(), number.data() + number.size(), rank);
        into.ranks[rank] = tokens_of(depth);
      }
    } else {
      into.media[text_of(name)] = tokens_of(value);
    }
  }
}

}  // namespace

bool read_chaos_answer(std::string_view body, const std::string& tenant, chaos_answer& into, std::string& wrong) {
  into.clear();
  boost::system::error_code failed;
  const json::value parsed = json::parse(json::string_view(body.data(), body.size()), failed);
  const auto* const tenants = failed ? nullptr : parsed.if_object();
  if (tenants == nullptr) {
    wrong = "the answer to a query is no JSON object";
    return false;
  }
  const auto* const mine = tenants->if_contains(tenant);
  if (mine == nullptr) return true;
  const auto* const instances = mine->if_object();
  if (instances == nullptr) {
    wrong = "the tenant's answer is no object";
    return false;
  }
  for (const auto& [instance, row] : *instances) {
    if (const auto* const members = row.if_object()) read_row(*members, into[text_of(instance)]);
  }
  return true;
}

std::vector<std::string> check_chaos(const chaos_world& world, const std::vector<stream_row>& rows,
                                     const std::vector<chaos_answer>& answers, doubt_policy policy, const chaos_partition& whose) {
  checking all(world, rows, policy, whose);
  for (std::size_t i = 0; i < world.members.size() && whose.is_everybodys(); ++i) {  // once, whoever else is asked about
    all.check_stream(i);
    all.check_blocks(i);
  }
  for (std::size_t prompt = 0; prompt < answers.size(); ++prompt) {
    for (const std::string& instance : world.instances) all.check_instance(instance, prompt, answers[prompt]);
  }
  return all.take();
}

}  // namespace kvc::sim

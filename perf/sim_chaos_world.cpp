#include "perf/sim_chaos_world.hpp"

#include <algorithm>
#include <array>
#include <utility>

namespace kvc::sim {
namespace {

using net::event_form;
using form_list = std::vector<event_form>;

/// Dice beside these, which go on as if nothing had been drawn: what is added to fleets leaves the rest of a seed as it was.
dice beside(dice random) {
  return dice(random.next());
}

/// Some forms of those that `fits`, so that they change in the middle of the stream; at least one.
template <class Fits>
form_list draw_forms(dice& random, std::size_t most, Fits fits) {
  form_list all;
  for (const form_traits& each : all_forms()) {
    if (fits(each)) all.push_back(each.form);
  }
  for (std::size_t i = all.size(); i > 1; --i) std::swap(all[i - 1], all[random.below(static_cast<std::uint32_t>(i))]);
  all.resize(std::min(all.size(), 1 + std::size_t{random.below(static_cast<std::uint32_t>(most))}));
  return all;
}

/// A stream in which every form of engines may appear, behind a relay that does not care.
form_list draw_wild_forms(dice& random, bool with_standard) {
  return draw_forms(random, 8, [with_standard](const form_traits& each) { return each.form != event_form::standard || with_standard; });
}

/// Whether the forms can tell of blocks at all, and speak for several ranks.
bool are_enough(const form_list& forms, bool for_ranks) {
  const auto tells = [](event_form each) { return traits_of(each).has_tokens; };
  const auto speaks = [](event_form each) { return traits_of(each).has_rank && traits_of(each).has_tokens; };
  return std::ranges::any_of(forms, tells) && (!for_ranks || std::ranges::any_of(forms, speaks));
}

/// What a store calls its blocks: as the standard does, as an engine does that stores them as well, or as it likes, with their tokens.
void draw_names(dice& random, chaos_profile& made) {
  const std::uint32_t kind = random.below(3);
  made.has_standard_names = kind == 0;
  if (kind == 1) made.names_from = random.next();
  if (kind == 2) made.forms = {event_form::mooncake_array};  // the others have no place for tokens
  // Only of a number may one suppose that it is the standard's name.
  const std::uint32_t styles = made.has_standard_names ? 3 : 4;
  made.keys = static_cast<key_style>(random.below(styles));
}

/// An adapter's blocks, or those under a salt, whichever the publisher's own forms can tell of. Where several forms share the standard's
/// names, not all of them could say whose block is meant.
chaos_partition second_of(const chaos_profile& of) {
  const bool is_by_standard = of.forms == form_list{event_form::standard};
  if (of.is_pool || (of.has_standard_names && !is_by_standard)) return {};
  if (of.type == "SGLang") return {.lora = "", .salt = "salt"};
  return {.lora = "adapter", .salt = ""};
}

/// Whether a store's events have a place for the adapter, all of them.
bool can_name_adapter(const chaos_profile& of) {
  return of.is_pool &&
         std::ranges::all_of(of.forms, [](event_form each) { return each == event_form::standard || each == event_form::mooncake_branch; });
}

chaos_profile draw_profile(dice& random, const std::string& tenant, bool for_ranks) {
  chaos_profile made;
  made.tenant = tenant;
  made.media = {core::medium_id::gpu, core::medium_id::cpu};
  const std::uint32_t family = random.below(for_ranks ? 5 : 6);
  constexpr std::array<std::string_view, 4> types{"vLLM", "SGLang", "TensorRT-LLM", "standard"};
  do {
    if (family < 4) {
      made.type = types[family];
      made.forms = draw_forms(random, 4, [&](const form_traits& each) { return each.type == made.type; });
    } else if (family == 4) {
      made.type = "vLLM";
      made.has_standard_names = random.below(2) == 0;
      made.forms = draw_wild_forms(random, made.has_standard_names);
    } else {
      made.type = "Mooncake";
      made.is_pool = true;
      made.media = {core::medium_id::cpu, core::medium_id::disk};
      // A store names objects or it does not: what is told of a block by its key is not taken back without.
      const std::string_view type = random.below(2) == 0 ? "Mooncake" : "standard";
      made.forms = draw_forms(random, 4, [type](const form_traits& each) { return each.type == type; });
      made.has_standard_names = type == "standard";
      if (type == made.type) draw_names(random, made);
    }
  } while (!made.is_pool && !are_enough(made.forms, for_ranks));
  made.has_standard_names = made.has_standard_names || made.type == "standard";
  made.counts_copies = made.type == "vLLM";
  dice aside = beside(random);
  made.has_windows = aside.below(3) == 0;
  if (aside.below(3) == 0) made.second = second_of(made);
  made.names_adapter = can_name_adapter(made) && aside.below(4) != 0;
  // Chunks of whole blocks, and such as end within one.
  if (made.type == "vLLM" && aside.below(3) == 0) made.chunk_tokens = std::array<std::uint32_t, 3>{6, 8, 12}[aside.below(3)];
  return made;
}

chaos_setup draw_setup(dice& random) {
  chaos_setup made;
  made.connects = random.below(4) == 0;
  made.has_replay = random.below(8) != 0;
  made.is_silent = random.below(20) == 0;
  made.has_topic_in_replies = random.below(2) == 0;
  using end_marker = chaos_setup::end_marker;
  made.end = std::array{end_marker::usual, end_marker::usual, end_marker::in_payload, end_marker::none}[random.below(4)];
  if (random.below(4) == 0) made.kept = random.between(1, 12);
  made.batches = random.between(8, 40);
  if (random.below(3) == 0) made.before_joining = random.between(1, made.batches);
  made.chances = draw_chances(random);
  return made;
}

/// The engine whose names a store uses: it must be sure to be heard, and it must know all of them.
chaos_profile draw_teacher(dice& random, const std::string& tenant, std::uint64_t names_from) {
  chaos_profile made;
  made.tenant = tenant;
  made.media = {core::medium_id::gpu, core::medium_id::cpu};
  constexpr std::array<std::string_view, 3> types{"vLLM", "SGLang", "TensorRT-LLM"};
  made.type = types[random.below(3)];
  made.forms = draw_forms(random, 4, [&](const form_traits& each) { return each.type == made.type; });
  made.counts_copies = made.type == "vLLM";
  made.names_from = names_from;
  made.is_teacher = true;
  return made;
}

chaos_setup draw_setup_of_teacher(dice& random) {
  chaos_setup made = draw_setup(random);
  made.has_replay = true;
  made.is_silent = false;
  made.end = chaos_setup::end_marker::usual;
  made.kept = chaos_setup{}.kept;
  made.chances = {};
  return made;
}

}  // namespace

chaos_world::chaos_world(std::uint64_t seed, const std::string& tenant, net::zmq_engine& transport, const asio::any_io_executor& executor,
                         net::task_scope& tasks)
    : chaos_world(dice(seed), tenant, transport, executor, tasks) {}

chaos_world::chaos_world(dice random, const std::string& tenant, net::zmq_engine& transport, const asio::any_io_executor& executor,
                         net::task_scope& tasks)
    : text(random) {
  const auto enlist = [&](const std::string& instance, std::uint32_t rank, const chaos_profile& profile, const chaos_setup& setup) {
    members.push_back({instance, rank, std::make_unique<chaos_publisher>(transport, executor, tasks, text, profile, setup, random.next())});
  };
  const auto enlist_teacher = [&](const std::string& instance, std::uint64_t names_from) {
    instances.push_back(instance);
    const chaos_profile profile = draw_teacher(random, tenant, names_from);
    enlist(instance, 0, profile, draw_setup_of_teacher(random));
  };
  // By the standard an adapter's blocks have the names of everybody's. In a store that does not tell whose a name is, such a name counts
  // nowhere: beside those, nobody shares names so.
  bool has_silent_store = false;
  bool has_shared_names = false;
  const auto draw = [&](bool for_ranks) {
    for (;;) {
      chaos_profile made = draw_profile(random, tenant, for_ranks);
      const bool is_silent = made.is_pool && made.has_standard_names && !made.names_adapter;
      if (is_silent && has_shared_names) continue;
      if (has_silent_store && made.has_standard_names) made.second = {};
      has_silent_store = has_silent_store || is_silent;
      has_shared_names = has_shared_names || (made.has_standard_names && !made.second.is_everybodys());
      return made;
    }
  };
  const std::uint32_t number = random.between(1, 2);
  for (std::uint32_t i = 0; i < number; ++i) {
    const std::string instance = tenant + "-" + std::to_string(i);
    instances.push_back(instance);
    const bool is_multiplexed = random.below(4) == 0;
    chaos_profile profile = draw(is_multiplexed);
    const std::uint32_t ranks = random.between(1, 3);
    if (is_multiplexed) {
      for (std::uint32_t rank = 1; rank < ranks; ++rank) profile.ranks.push_back(rank);
    }
    const std::optional<std::uint64_t> taught = profile.is_pool ? profile.names_from : std::nullopt;
    const bool is_taught_first = taught && random.below(2) == 0;
    if (is_taught_first) enlist_teacher(instance + "-engine", *taught);
    // One publisher for all ranks, or one for each, which may speak differently; a store has one.
    const std::uint32_t publishers = is_multiplexed || profile.is_pool ? 1 : ranks;
    for (std::uint32_t rank = 0; rank < publishers; ++rank) {
      if (rank > 0) {
        do {
          profile = draw(false);
        } while (profile.is_pool);
      }
      if (!is_multiplexed) profile.ranks = {rank};
      enlist(instance, rank, profile, draw_setup(random));
    }
    if (taught && !is_taught_first) enlist_teacher(instance + "-engine", *taught);
  }
}

}  // namespace kvc::sim

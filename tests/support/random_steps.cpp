#include "tests/support/random_steps.hpp"

#include <algorithm>
#include <array>
#include <span>
#include <sstream>

#include "core/block_hasher.hpp"

namespace kvc::test {

using namespace kvc::core;

namespace {

constexpr std::size_t remembered_names = 24;

}  // namespace

std::string random_step::text() const {
  std::ostringstream out;
  switch (what) {
    case kind::store: {
      constexpr std::array links{"root", "parent", "standard", "by_name"};
      out << "store " << links[static_cast<std::size_t>(store.how)] << " partition " << store.partition << " medium "
          << static_cast<unsigned>(store.medium);
      if (store.how == link::parent) out << " behind " << store.parent.get();
      for (std::size_t i = 0; i < store.names.size(); ++i) {
        out << ' ' << store.names[i].get();
        if (i < store.locals.size()) out << '=' << store.locals[i].get();
      }
      break;
    }
    case kind::remove:
      out << "remove " << name.get() << " medium " << static_cast<unsigned>(medium);
      if (from.partition) out << " partition " << *from.partition;
      if (from.is_explicit) out << " and nowhere else";
      break;
    case kind::clear:
      out << "clear media " << which;
      if (only) out << " partition " << *only;
      break;
  }
  return out.str();
}

medium_id random_steps::medium() {
  constexpr std::array media{medium_id::gpu, medium_id::gpu, medium_id::gpu, medium_id::cpu, medium_id::cpu, medium_id::disk, medium_id{5}};
  return media[below(media.size())];
}

media_mask random_steps::media() {
  if (chance(30)) return all_media;
  return chance(50) ? mask_of(medium()) : static_cast<media_mask>(mask_of(medium()) | mask_of(medium()));
}

engine_hash random_steps::name_of(std::size_t partition, const path& chain, std::size_t length) {
  if (chance(12)) return engine_hash{1 + below(shape_.wild_names)};  // any block: such names move
  const std::uint64_t space = chance(85) ? partition : 0;            // mostly every partition has names of its own
  const std::uint64_t twin = chance(12) ? 1 : 0;
  std::vector<seq_hash> rolled;
  roll_from_root(std::span(chain).first(length), 7'000 + 2 * space + twin, rolled);
  return engine_hash{rolled.back().get() % 1'000'000'007};  // short enough to read in a failure
}

std::vector<local_hash> random_steps::query() {
  path made;
  for (std::size_t i = 0; i < shape_.longest; ++i) made.emplace_back(1 + below(shape_.letters));
  return made;
}

std::vector<std::vector<local_hash>> random_steps::all_queries() const {
  std::vector<path> made{{}};
  for (std::size_t i = 0; i < shape_.longest; ++i) {
    std::vector<path> longer;
    for (const path& each : made) {
      for (std::uint64_t letter = 1; letter <= shape_.letters; ++letter) {
        longer.push_back(each);
        longer.back().emplace_back(letter);
      }
    }
    made = std::move(longer);
  }
  return made;
}

void random_steps::fill_store(store_step& step) {
  step.partition = chance(70) ? 0 : below(shape_.partitions);
  step.medium = medium();
  const path chain = query();
  const std::size_t length = 1 + below(shape_.longest);
  const std::size_t start = chance(40) ? 0 : below(length);
  const std::uint64_t dice = below(100);
  if (dice < 8) {
    step.how = link::standard;
    std::vector<seq_hash> rolled;
    roll_from_root(std::span(chain).first(length), test_seed, rolled);
    for (std::size_t i = start; i < length; ++i) step.names.emplace_back(rolled[i].get());
    if (chance(30)) std::ranges::reverse(step.names);
  } else {
    for (std::size_t i = start; i < length; ++i) step.names.push_back(name_of(step.partition, chain, i + 1));
    if (dice < 20) {
      step.how = link::by_name;
      if (chance(30)) std::ranges::reverse(step.names);
    } else {
      step.locals.assign(chain.begin() + static_cast<std::ptrdiff_t>(start), chain.begin() + static_cast<std::ptrdiff_t>(length));
      step.how = start == 0 ? link::root : link::parent;
      if (start != 0) step.parent = chance(6) && !recent_.empty() ? recent_[below(recent_.size())] : name_of(step.partition, chain, start);
    }
  }
  for (const engine_hash each : step.names) {
    if (recent_.size() < remembered_names) {
      recent_.push_back(each);
    } else {
      recent_[below(remembered_names)] = each;
    }
  }
}

random_step random_steps::next() {
  random_step step;
  const std::uint64_t dice = below(100);
  if (dice < 52) {
    step.what = random_step::kind::store;
    fill_store(step.store);
  } else if (dice < 97) {
    step.what = random_step::kind::remove;
    step.medium = medium();
    step.name = chance(60) && !recent_.empty() ? recent_[below(recent_.size())]
                                               : name_of(below(shape_.partitions), query(), 1 + below(shape_.longest));
    if (chance(50)) step.from.partition = chance(70) ? 0 : below(shape_.partitions);
    step.from.is_explicit = chance(30);
  } else {
    step.what = random_step::kind::clear;
    step.which = media();
    if (chance(35)) step.only = below(shape_.partitions);
    step.budget = 1 + below(5);
  }
  return step;
}

worker_traits random_steps::traits() {
  constexpr std::array<std::size_t, 5> bounds{0, 2, 5, 1'000, 1'000};
  worker_traits made;
  made.instance = std::string(1, static_cast<char>('a' + below(3)));
  made.rank = static_cast<std::uint32_t>(below(3));
  made.copy_counting = chance(60);
  made.is_pool = chance(30);
  made.is_shared = made.is_pool && chance(50);
  made.max_orphans = bounds[below(bounds.size())];
  return made;
}

}  // namespace kvc::test

// What the behaviour suite of an index is written in; the cases are in tests/core/index_*_test.cpp.
#pragma once

#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <tuple>
#include <utility>
#include <vector>

#include "core/ids.hpp"
#include "core/medium.hpp"
#include "tests/support/index_step.hpp"
#include "tests/support/index_subjects.hpp"

namespace kvc::test::suite {

/// Every index that must show the behaviour: a new one gets an adapter with the members of real_subject and a place here. The strict model
/// is among them, so that the suite and the model cannot disagree.
using index_subjects = std::tuple<real_subject, model_subject>;

using core::engine_hash;
using core::local_hash;
using core::medium_id;
using core::worker_id;

inline constexpr worker_id first{1};
inline constexpr worker_id second{2};
inline constexpr worker_id third{3};
inline constexpr core::media_mask device_and_host = core::mask_of(medium_id::gpu) | core::mask_of(medium_id::cpu);

/// Blocks by small numbers: one local hash, or name, per number.
inline std::vector<local_hash> blocks(std::initializer_list<std::uint64_t> numbers) {
  std::vector<local_hash> made;
  for (const std::uint64_t each : numbers) made.emplace_back(each);
  return made;
}
inline std::vector<engine_hash> names(std::initializer_list<std::uint64_t> numbers) {
  std::vector<engine_hash> made;
  for (const std::uint64_t each : numbers) made.emplace_back(each);
  return made;
}

/// A subject with short words for what the cases do. Names and blocks are given by numbers.
template <class Subject>
struct scene {
  Subject index;

  scene(std::initializer_list<worker_id> workers, const worker_traits& traits = {}) {
    for (const worker_id each : workers) index.add(each, traits);
  }

  void root(worker_id who, std::vector<engine_hash> named, std::vector<local_hash> content, medium_id medium = medium_id::gpu,
            std::size_t partition = 0) {
    index.store(who, {.partition = partition,
                      .medium = medium,
                      .how = link::root,
                      .parent = {},
                      .names = std::move(named),
                      .locals = std::move(content)});
  }
  void behind(worker_id who, std::uint64_t parent, std::vector<engine_hash> named, std::vector<local_hash> content,
              medium_id medium = medium_id::gpu, std::size_t partition = 0) {
    index.store(who, {.partition = partition,
                      .medium = medium,
                      .how = link::parent,
                      .parent = engine_hash{parent},
                      .names = std::move(named),
                      .locals = std::move(content)});
  }
  void by_name(worker_id who, std::vector<engine_hash> named, medium_id medium, std::size_t partition = 0) {
    index.store(who,
                {.partition = partition, .medium = medium, .how = link::by_name, .parent = {}, .names = std::move(named), .locals = {}});
  }
  void standard(worker_id who, std::vector<engine_hash> named, medium_id medium = medium_id::gpu, std::size_t partition = 0) {
    index.store(who,
                {.partition = partition, .medium = medium, .how = link::standard, .parent = {}, .names = std::move(named), .locals = {}});
  }
  void remove(worker_id who, std::initializer_list<std::uint64_t> numbers, medium_id medium = medium_id::gpu) {
    for (const std::uint64_t each : numbers) index.remove(who, engine_hash{each}, medium);
  }
  [[nodiscard]] std::uint32_t depth(worker_id who, const std::vector<local_hash>& query, core::media_mask among = core::all_media,
                                    std::size_t partition = 0) const {
    return index.depth(partition, who, among, query);
  }
};

}  // namespace kvc::test::suite

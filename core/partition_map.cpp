#include "core/partition_map.hpp"

#include <algorithm>
#include <stdexcept>
#include <utility>

#include "core/catalog.hpp"

namespace kvc::core {
namespace {

/// Entries cannot be assigned, as inserting into the middle of a list would ask of them.
template <class Part>
void add_entries(Part& to, typename Part::const_iterator from, typename Part::const_iterator last) {
  for (; from != last; ++from) to.push_back(*from);
}

/// The entry of the key, or else the first behind where it would be.
template <class Part>
auto entry_from(const Part& in, const partition_key& key) {
  return std::ranges::partition_point(in, [&key](const auto& each) { return each.first < key; });
}

}  // namespace

std::size_t partition_map::place_of(const partition_key& key) const {
  // What comes before the first place belongs into it as well, so that nothing is compared while there is one only.
  const auto begins = [&key](const place& each) { return *each.first <= key; };
  const auto behind = std::ranges::partition_point(parts_.begin() + 1, parts_.end(), begins);
  return static_cast<std::size_t>(behind - parts_.begin()) - 1;
}

partition_map::place partition_map::place_for(part entries) {
  auto shared = std::make_shared<const part>(std::move(entries));
  return {.first = &shared->front().first, .entries = std::move(shared)};
}

partition_map::iterator partition_map::find(const partition_key& key) const {
  if (parts_.empty()) return end();
  const place& in = parts_[place_of(key)];
  const auto found = entry_from(*in.entries, key);
  if (found == in.entries->end() || found->first != key) return end();
  return {&in, static_cast<std::size_t>(found - in.entries->begin())};
}

const std::shared_ptr<const partition_view>& partition_map::at(const partition_key& key) const {
  const auto found = find(key);
  if (found == end()) throw std::out_of_range("no such partition");
  return found->second;
}

void partition_map::set(std::shared_ptr<const partition_view> view) {
  const partition_key& key = view->partition->key();
  part with;
  if (parts_.empty()) {
    with.push_back({key, std::move(view)});
    parts_.push_back(place_for(std::move(with)));
    ++size_;
    return;
  }
  const std::size_t number = place_of(key);
  const part& before = *parts_[number].entries;
  const auto at = entry_from(before, key);
  const bool is_new = at == before.end() || at->first != key;
  with.reserve(before.size() + 1);
  add_entries(with, before.begin(), at);
  with.push_back({key, std::move(view)});
  add_entries(with, is_new ? at : at + 1, before.end());
  if (is_new) ++size_;
  if (with.size() > most_in_part) {
    const auto middle = with.begin() + most_in_part / 2;
    parts_.insert(parts_.begin() + static_cast<std::ptrdiff_t>(number) + 1, place_for(part(middle, with.end())));
    with = part(with.begin(), middle);
  }
  parts_[number] = place_for(std::move(with));
}

void partition_map::erase(const partition_key& key) {
  if (parts_.empty()) return;
  const std::size_t number = place_of(key);
  const part& before = *parts_[number].entries;
  const auto at = entry_from(before, key);
  if (at == before.end() || at->first != key) return;
  --size_;
  if (before.size() == 1) {
    parts_.erase(parts_.begin() + static_cast<std::ptrdiff_t>(number));
    return;
  }
  part without;
  without.reserve(before.size() - 1);
  add_entries(without, before.begin(), at);
  add_entries(without, at + 1, before.end());
  parts_[number] = place_for(std::move(without));
  if (number + 1 < parts_.size()) unite(number);
  if (number > 0) unite(number - 1);
}

void partition_map::unite(std::size_t left) {
  const part& one = *parts_[left].entries;
  const part& other = *parts_[left + 1].entries;
  // Well below what a part may have, so that the next partitions do not divide it again.
  if (one.size() + other.size() > most_in_part / 2) return;
  part both;
  both.reserve(one.size() + other.size());
  add_entries(both, one.begin(), one.end());
  add_entries(both, other.begin(), other.end());
  parts_[left] = place_for(std::move(both));
  parts_.erase(parts_.begin() + static_cast<std::ptrdiff_t>(left) + 1);
}

}  // namespace kvc::core

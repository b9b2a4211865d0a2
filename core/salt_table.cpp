#include "core/salt_table.hpp"

#include "core/object_key.hpp"

namespace kvc::core {

std::uint32_t salt_table::find(std::string_view name) const {
  if (last_joined_ != no_record && salts_[last_joined_].name == name) return last_joined_;
  const auto found = by_name_.find(name);
  return found == by_name_.end() ? no_record : found->second;
}

std::uint32_t salt_table::join(std::string_view name) {
  if (const std::uint32_t known = find(name); known != no_record) return last_joined_ = known;
  if (free_.empty()) {
    if (free_.capacity() <= salts_.size()) free_.reserve(2 * salts_.size() + 1);  // so that the end of a salt throws nothing
    salts_.emplace_back();
    free_.push_back(static_cast<std::uint32_t>(salts_.size() - 1));
  }
  const std::uint32_t id = free_.back();
  salt_state& fresh = salts_[id];
  fresh = {.name = std::string(name), .serial = next_serial_, .written = escaped_size(name)};
  try {
    by_name_.emplace(fresh.name, id);
    by_age_.emplace(fresh.serial, id);
  } catch (...) {
    by_name_.erase(std::string_view(fresh.name));
    fresh = {};
    throw;
  }
  free_.pop_back();
  ++next_serial_;
  text_bytes_ += name.size();
  return last_joined_ = id;
}

void salt_table::leave_if_empty(std::uint32_t id) noexcept {
  salt_state& one = salts_[id];
  if (one.keys != 0) return;
  if (last_joined_ == id) last_joined_ = no_record;
  by_name_.erase(std::string_view(one.name));
  by_age_.erase(one.serial);
  text_bytes_ -= one.name.size();
  one = {};
  free_.push_back(id);
}

std::size_t salt_table::bytes() const noexcept {
  constexpr std::size_t node = 6 * sizeof(void*);  // what a std::map keeps around an entry, about
  return salts_.size() * sizeof(salt_state) + size() * 2 * (node + sizeof(std::uint64_t) * 2) + text_bytes_;
}

}  // namespace kvc::core

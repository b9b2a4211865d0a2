#include "core/mp_registry.hpp"

#include <iterator>

namespace kvc::core {

std::string made_up_instance_id(std::uint64_t high, std::uint64_t low) {
  high = (high & ~std::uint64_t{0xF000}) | 0x4000;                     // version 4
  low = (low & ~(std::uint64_t{3} << 62)) | (std::uint64_t{2} << 62);  // the variant of RFC 9562
  constexpr std::string_view digits = "0123456789abcdef";
  std::string id = "mp-";
  for (const std::uint64_t half : {high, low}) {
    for (unsigned shift = 64; shift != 0; shift -= 4) id.push_back(digits[half >> (shift - 4) & 15]);
  }
  return id;
}

namespace {

std::size_t text_bytes_of(const mp_server& one) {
  std::size_t bytes = one.instance_id.size() + one.ip.size() + one.p2p_advertised_url.size();
  for (const auto& [name, value] : one.metadata) bytes += name.size() + value.size() + sizeof name + sizeof value;
  return bytes;
}

}  // namespace

result<bool> mp_registry::add(mp_server server, time_point now, std::chrono::system_clock::time_point wall) {
  const std::size_t bytes = text_bytes_of(server);
  const mp_member* before = find(server.instance_id);
  const std::size_t freed = before == nullptr ? 0 : text_bytes_of(before->server);
  const bool is_too_much = text_bytes_ - freed + bytes > limits_.text_bytes;
  if (is_too_much || (before == nullptr && members_.size() >= limits_.servers)) {
    return {boost::system::in_place_error, make_error_code(errc::servers_exhausted)};
  }
  mp_member fresh{.server = std::move(server), .registered_at = wall, .heard_at = now};
  const auto known = by_id_.find(fresh.server.instance_id);
  if (known != by_id_.end()) {
    const place where = known->second;
    auto entry = by_id_.extract(known);  // its key is a view of the text that is replaced now
    where->second = std::move(fresh);
    entry.key() = where->second.server.instance_id;
    by_id_.insert(std::move(entry));  // as many as before, so that nothing is allocated
  } else {
    const place last = members_.emplace_hint(members_.end(), numbers_ + 1, std::move(fresh));
    try {
      by_id_.emplace(last->second.server.instance_id, last);
    } catch (...) {
      members_.erase(last);
      throw;
    }
    ++numbers_;
  }
  text_bytes_ = text_bytes_ - freed + bytes;
  return before != nullptr;
}

bool mp_registry::heartbeat(std::string_view instance_id, time_point now) {
  const auto known = by_id_.find(instance_id);
  if (known == by_id_.end()) return false;
  known->second->second.heard_at = now;
  return true;
}

void mp_registry::erase(place where) {
  text_bytes_ -= text_bytes_of(where->second.server);
  by_id_.erase(where->second.server.instance_id);
  members_.erase(where);
}

bool mp_registry::remove(std::string_view instance_id) {
  const auto known = by_id_.find(instance_id);
  if (known == by_id_.end()) return false;
  erase(known->second);
  return true;
}

std::vector<std::string> mp_registry::sweep(time_point now) {
  std::vector<std::string> gone;
  for (place each = members_.begin(); each != members_.end();) {
    const place here = each++;
    if (now - here->second.heard_at <= limits_.timeout) continue;
    gone.push_back(here->second.server.instance_id);
    erase(here);
  }
  return gone;
}

const mp_member* mp_registry::find(std::string_view instance_id) const {
  const auto known = by_id_.find(instance_id);
  return known == by_id_.end() ? nullptr : &known->second->second;
}

const mp_member* mp_registry::pick(std::uint64_t random) const {
  if (members_.empty()) return nullptr;
  return &std::next(members_.begin(), static_cast<std::ptrdiff_t>(random % members_.size()))->second;
}

}  // namespace kvc::core

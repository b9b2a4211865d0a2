#include "net/object_walk.hpp"

#include <algorithm>
#include <span>

#include <boost/asio/post.hpp>

#include "core/exist_decision.hpp"
#include "core/pool_key.hpp"

namespace kvc::net {
namespace {

constexpr std::size_t blocks_at_once = 256;   ///< some 50 us of a lane, and of a shelf
constexpr std::size_t parts_at_once = 1'024;  ///< objects, after which the turn ends with the block
constexpr std::size_t most_keys = 16'384;     ///< of one query
constexpr std::size_t most_parts = 4'096;     ///< objects of one name

}  // namespace

object_walk::object_walk(lane& here, object_shelves& objects, promotion_service& promotions, store_reconciler& truth,
                         std::shared_ptr<const query_leftover> what, std::uint32_t backend)
    : here_(here),
      objects_(objects),
      promotions_(promotions),
      truth_(truth),
      what_(std::move(what)),
      backend_(backend),
      inlets_(objects.inlets(backend)),
      at_(what_->in_memory) {}

void object_walk::begin() {
  first_ = at_;
  last_ = std::min(first_ + blocks_at_once, what_->hashes.size());
  names_.clear();
  next_name_ = 0;
  next_inlet_ = 0;
  ask();
}

/// The next stream, on its lane; once all have been asked, back.
void object_walk::ask() {
  if (next_inlet_ == inlets_.size()) {
    asio::post(here_.context, [self = shared_from_this()] { self->go_on(); });
    return;
  }
  const auto& [where, inlet] = inlets_[next_inlet_++];
  asio::post(where->context, [self = shared_from_this(), whose = inlet] {
    const auto alive = whose.lock();
    const std::span hashes(self->what_->hashes);
    if (alive) alive->names_of(self->what_->partition, hashes.subspan(self->first_, self->last_ - self->first_), self->names_);
    self->ask();
  });
}

void object_walk::go_on() {
  if (next_name_ == 0) std::ranges::stable_sort(names_, {}, &core::named_block::index);
  parts_ = 0;
  const bool is_over = objects_.read(backend_, [this](const core::object_table& table) {
    const std::uint32_t owner = table.find_owner(objects_.name(backend_), what_->partition.tenant);
    return owner == core::no_record || look_at_some(table, owner);
  });
  if (is_over || at_ == what_->hashes.size()) return finish();
  if (at_ == last_) return begin();
  asio::post(here_.context, [self = shared_from_this()] { self->go_on(); });
}

/// True when the walk ends here.
bool object_walk::look_at_some(const core::object_table& table, std::uint32_t owner) {
  for (; at_ < last_ && parts_ < parts_at_once; ++at_) {
    if (promoted_ == what_->max_blocks || keys_.size() >= most_keys) return true;
    is_there_ = false;
    is_wanted_ = false;
    take(table, owner, what_->hashes[at_].get());
    for (; next_name_ < names_.size() && first_ + names_[next_name_].index == at_; ++next_name_) {
      take(table, owner, names_[next_name_].name.get());
    }
    if (!is_there_ && what_->purpose == leftover_purpose::promotion) return true;
    if (is_wanted_) ++promoted_;
  }
  return false;
}

/// The objects of one name.
void object_walk::take(const core::object_table& table, std::uint32_t owner, std::uint64_t name) {
  const std::uint32_t first = table.first_of_block(name);
  std::uint32_t part = first;
  for (std::size_t i = 0; part != core::no_record && i < most_parts; ++i, ++parts_) {
    if (table.owner_of(part) == owner && may_be_meant(table.key(part))) {
      const core::exist_decision decision = core::decide_exist(table.replicas(part), true);
      is_there_ = is_there_ || decision.exists;
      const bool is_for_promotion = what_->purpose == leftover_purpose::promotion;
      if (is_for_promotion ? decision.need == core::prefetch_need::start : is_old(table, part)) {
        keys_.emplace_back(table.key(part));
        is_wanted_ = true;
      }
    }
    part = table.next_of_block(part);
    if (part == first) return;
  }
}

/// Engines of two models may call their blocks alike: then the key has to tell.
bool object_walk::may_be_meant(std::string_view key) const {
  const std::string_view model = core::parse_pool_key(key).model;
  return model.empty() || core::is_same_model(model, what_->partition.model);
}

bool object_walk::is_old(const core::object_table& table, std::uint32_t object) const {
  const std::uint32_t known = table.known_at(object);
  return known == 0 || known + truth_.age() <= objects_.now();
}

void object_walk::finish() {
  if (keys_.empty()) return;
  if (what_->purpose == leftover_purpose::reading) return truth_.touch(backend_, what_->partition.tenant, std::move(keys_));
  const std::vector<std::string_view> keys(keys_.begin(), keys_.end());
  std::vector<prefetch_word> words(keys.size());
  promotions_.ask({.backend = backend_, .tenant = what_->partition.tenant, .preferred = what_->preferred}, keys, words);
}

}  // namespace kvc::net

// MP servers over one shared storage, what they tell of it, and what a coordinator must believe then: as plainly as it can be said.
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "core/hex.hpp"
#include "core/object_key.hpp"

namespace kvc::test {

inline constexpr std::array<std::string_view, 4> fleet_salts{"", "a", "b@c", "d"};  // the third one can be no key's, but a quota's

/// What a server tells about one of its objects. Each has a number, and no two servers have an object in common: so what they tell at the
/// same time comes to the same whoever is heard first.
struct fleet_news {
  enum class kind : std::uint8_t { store, lookup, remove };
  kind what = kind::store;
  unsigned object = 0;
  std::uint64_t bytes = 0;
};

struct fleet_batch {
  std::uint64_t incarnation = 0;
  std::uint64_t number = 0;
  std::vector<fleet_news> news;
};

/// The key of an object, as all five fields.
inline core::owned_object_key fleet_key(const std::string& owner, unsigned object) {
  std::string hash = owner + ":" + std::to_string(object);
  if (object % 7 == 0) hash.resize(40, ' ');  // longer than lies in a record
  const std::array<std::string_view, 3> salts{fleet_salts[0], fleet_salts[1], fleet_salts[3]};
  return {hash, object % 3 == 0 ? "m" : "n", object % 5 == 0 ? -1 : 16'777'472, object % 2, std::string(salts[object % salts.size()])};
}

/// Whose object a hash names, and its number.
inline std::pair<std::string, unsigned> fleet_object(std::string_view hash) {
  const std::size_t colon = hash.find(':');
  return {std::string(hash.substr(0, colon)), static_cast<unsigned>(std::stoul(std::string(hash.substr(colon + 1))))};
}

/// A key as it is sent: in one of the ways there are, all of which mean the same.
inline std::string fleet_key_text(const core::owned_object_key& key, std::uint64_t way) {
  std::string hex;
  core::append_hex(key.hash, hex);
  if (way % 5 == 1) {
    std::ranges::transform(hex, hex.begin(), [](char each) { return each >= 'a' ? static_cast<char>(each - 'a' + 'A') : each; });
  }
  if (way % 7 == 1) hex.insert(2, " ");
  std::string text = R"({"chunk_hash_hex":")" + hex + R"(","model_name":")" + key.model + R"(","kv_rank":)" + std::to_string(key.kv_rank);
  if (way % 3 == 1) text += R"(,"of no use":[{}])";
  if (key.object_group != 0 || way % 2 == 1) text += R"(,"object_group_id":)" + std::to_string(key.object_group);
  if (!key.salt.empty() || way % 2 == 1) text += R"(,"cache_salt":")" + key.salt + "\"";
  return text + "}";
}

/// What one server's words come to, each believed as it comes in, and what a listing says of its objects.
class fleet_belief {
 public:
  struct object {
    unsigned number = 0;
    std::uint64_t bytes = 0;
    bool is_placed = false;  ///< its place in the order of use is known, whatever else was going on when it was heard of
  };

  void hear(const fleet_news& one) {
    ++(one.what == fleet_news::kind::store ? stores_ : others_);
    if (one.what == fleet_news::kind::remove) removed_.insert(one.object);
    std::vector<object>& order = salts_[fleet_key("", one.object).salt];
    const auto known = std::ranges::find(order, one.object, &object::number);
    object next{one.object, one.bytes, true};
    if (one.what != fleet_news::kind::store) {
      if (known == order.end()) return;
      next = *known;
      next.is_placed = next.is_placed || !is_listing;
    }
    if (known != order.end()) order.erase(known);
    if (one.what != fleet_news::kind::remove) order.push_back(next);
  }
  /// A page that was written down just now has it; when it is read is not known.
  void list(unsigned number, std::uint64_t bytes) {
    std::vector<object>& order = salts_[fleet_key("", number).salt];
    const bool is_known = std::ranges::find(order, number, &object::number) != order.end();
    if (!is_known && !removed_.contains(number)) order.push_back({number, bytes, false});
  }

  /// By salt, least recently used first.
  [[nodiscard]] const std::map<std::string, std::vector<object>>& salts() const { return salts_; }
  [[nodiscard]] std::uint64_t stores() const { return stores_; }
  [[nodiscard]] std::uint64_t others() const { return others_; }

  bool is_listing = false;  ///< objects may come to be known at any moment

 private:
  std::map<std::string, std::vector<object>> salts_;
  std::set<unsigned> removed_;  ///< ever: a page on its way does not bring it back
  std::uint64_t stores_ = 0;
  std::uint64_t others_ = 0;
};

/// Figures about all senders since the coordinator has begun.
struct sender_figures {
  std::uint64_t batches = 0, gaps = 0, missing = 0, repeats = 0, restarts = 0;  // of those without an incarnation
  std::uint64_t applied = 0, duplicates = 0, stale = 0, skipped = 0, late = 0;  // of those with one
};

/// Whose batches have come, by all their numbers.
class sender_belief {
 public:
  /// Whether a batch counts.
  bool admits(const fleet_batch& batch, bool has_incarnation, sender_figures& figures) {
    return has_incarnation ? is_fresh(batch, figures) : watch(batch.number, figures);
  }

 private:
  static constexpr std::uint64_t window = 64;

  bool watch(std::uint64_t number, sender_figures& figures) {
    ++figures.batches;
    const std::uint64_t before = std::exchange(newest_, number);
    if (before == 0) return true;
    figures.repeats += number == before ? 1 : 0;
    figures.restarts += number < before ? 1 : 0;
    figures.gaps += number > before + 1 ? 1 : 0;
    figures.missing += number > before + 1 ? number - before - 1 : 0;
    return true;
  }
  bool is_fresh(const fleet_batch& batch, sender_figures& figures) {
    if (incarnation_ && batch.incarnation < *incarnation_) {
      ++figures.stale;
      return false;
    }
    if (incarnation_ != batch.incarnation) {
      incarnation_ = batch.incarnation;
      first_ = batch.number;
      come_.clear();
    }
    const std::uint64_t newest = come_.empty() ? batch.number : *come_.rbegin();
    if (come_.contains(batch.number) || batch.number + window <= newest) {
      ++figures.duplicates;
      return false;
    }
    ++figures.applied;
    if (batch.number > newest) figures.skipped += batch.number - newest - 1;
    if (batch.number < newest && batch.number > first_) ++figures.late;
    come_.insert(batch.number);
    return true;
  }

  std::uint64_t newest_ = 0;  ///< without incarnations; 0: none
  std::optional<std::uint64_t> incarnation_;
  std::uint64_t first_ = 0;
  std::set<std::uint64_t> come_;
};

/// A server: what really lies in the storage of its objects, what it has not told yet, and what is believed of it.
struct fleet_server {
  std::string id;
  bool has_incarnation = false;  ///< a newer one, that tells it
  std::uint64_t incarnation = 1;
  std::uint64_t last_number = 0;
  std::map<unsigned, std::uint64_t> stored;
  std::vector<fleet_news> untold;
  std::vector<fleet_batch> told;     ///< may come once more
  std::vector<fleet_batch> delayed;  ///< may come late
  std::size_t requests = 0;          ///< under way
  bool has_long_request = false;     ///< of several batches, behind which the next one waits
  fleet_belief belief;
  sender_belief sender;

  /// Of its objects, in short.
  [[nodiscard]] std::string name() const { return id.substr(0, 2); }

  void use(fleet_news::kind what, unsigned object, std::uint64_t bytes) {
    if (what == fleet_news::kind::store) stored[object] = bytes;
    if (what == fleet_news::kind::remove) stored.erase(object);
    untold.push_back({what, object, what == fleet_news::kind::store ? bytes : 0});
  }
  /// What is untold as the next batches: one, or one for each stretch of one kind where a batch is of one.
  [[nodiscard]] std::vector<fleet_batch> next_batches() {
    std::vector<fleet_batch> batches;
    for (const fleet_news& each : std::exchange(untold, {})) {
      const bool goes_on = !batches.empty() && (!has_incarnation || batches.back().news.back().what == each.what);
      if (!goes_on) batches.push_back({incarnation, ++last_number, {}});
      batches.back().news.push_back(each);
    }
    return batches;
  }
  /// Dies and comes back; what it has not told is lost with it.
  void restart() {
    ++incarnation;
    last_number = 0;
    untold.clear();
  }
  /// A coordinator that has heard nothing yet.
  void begin_anew() {
    belief = {};
    sender = {};
    told.clear();
    delayed.clear();
    requests = 0;
    has_long_request = false;
  }

  /// A request with these batches.
  [[nodiscard]] std::string body_of(const std::vector<fleet_batch>& batches, std::uint64_t way) const {
    std::string text = has_incarnation ? R"({"batches":[)" : "";
    for (const fleet_batch& each : batches) text += (&each == batches.data() ? "" : ",") + text_of(each, way);
    return text + (has_incarnation ? "]}" : "");
  }

 private:
  [[nodiscard]] std::string text_of(const fleet_batch& batch, std::uint64_t way) const {
    if (!has_incarnation) {
      constexpr std::array<std::string_view, 3> words{"store", "lookup", "delete"};
      std::string text = R"({"instance_id":")" + id + R"(","seq":)" + std::to_string(batch.number) + R"(,"events":[)";
      for (const fleet_news& each : batch.news) {
        if (&each != batch.news.data()) text += ',';
        text += R"({"type":")" + std::string(words[static_cast<std::size_t>(each.what)]) + R"(","bytes":)" + std::to_string(each.bytes) +
                R"(,"key":)" + fleet_key_text(fleet_key(name(), each.object), way++) + "}";
      }
      return text + (way % 2 == 0 ? "]}" : R"(],"tier":"l2"})");
    }
    return text_with_incarnation(batch, way);
  }
  /// All entries of such a batch are of one kind.
  [[nodiscard]] std::string text_with_incarnation(const fleet_batch& batch, std::uint64_t way) const {
    constexpr std::array<std::string_view, 3> words{"store", "access", "delete"};
    const std::size_t kind = batch.news.empty() ? 0 : static_cast<std::size_t>(batch.news.front().what);
    std::string text = R"({"instance_id":")" + id + R"(","incarnation":)" + std::to_string(batch.incarnation) + R"(,"seq":)" +
                       std::to_string(batch.number) + R"(,"event_type":")" + std::string(words[kind]) + R"(","entries":[)";
    for (const fleet_news& each : batch.news) {
      if (&each != batch.news.data()) text += ',';
      text += R"({"key":)" + fleet_key_text(fleet_key(name(), each.object), way++);
      if (kind == 0) text += R"(,"size_bytes":)" + std::to_string(each.bytes);
      text += "}";
    }
    return text + "]}";
  }
};

}  // namespace kvc::test

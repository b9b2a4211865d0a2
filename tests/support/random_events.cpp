#include "tests/support/random_events.hpp"

#include <algorithm>
#include <sstream>
#include <utility>
#include <variant>

#include "core/block_hasher.hpp"
#include "core/mixed_bits.hpp"

namespace kvc::test {

using namespace kvc::core;

namespace {

constexpr std::size_t remembered = 40;

std::uint64_t digest_of(const std::string& text) {
  std::uint64_t sum = 7;
  for (const char each : text) sum = mixed_bits(sum + static_cast<unsigned char>(each) + 1);
  return sum;
}

}  // namespace

std::vector<std::uint32_t> tokens_of(const std::vector<std::uint32_t>& chain, std::size_t from, std::uint32_t block_size) {
  std::vector<std::uint32_t> tokens;
  for (std::size_t i = from; i < chain.size(); ++i) tokens.insert(tokens.end(), block_size, chain[i] + 1);
  return tokens;
}

seq_hash random_events::hash_of(const path& chain, std::size_t length) const {
  std::vector<local_hash> locals;
  hash_blocks(tokens_of(chain, 0, from_.partition.block_size), from_.partition.block_size, from_.hash_seed, locals);
  std::vector<seq_hash> rolled;
  roll_from_root(locals, from_.hash_seed, rolled);
  return rolled[length - 1];
}

engine_hash random_events::name_of(const path& chain, std::size_t length, const std::string& adapter, bool of_page) {
  if (from_.type == publisher_type::standard) return engine_hash{hash_of(chain, length).get()};
  if (!habits_.is_tidy && chance(20)) return engine_hash{2 + 2 * below(4)};
  std::uint64_t name = 17;
  if (habits_.has_own_names) name += digest_of(from_.worker.instance);
  if (habits_.is_tidy) name += digest_of(adapter + "|" + from_.partition.salt) + from_.partition.block_size;
  for (std::size_t i = 0; i < length; ++i) name = mixed_bits(name + golden * (chain[i] + 1));
  return engine_hash{of_page ? name | 1U : name & ~std::uint64_t{1}};
}

/// A page and its last block end at one place under two names: blocks stand behind either.
engine_hash random_events::name_behind(const path& chain, std::size_t length, const std::string& adapter) {
  const bool may_be_page = habits_.has_pages && length % 2 == 0;
  const bool is_page = may_be_page && chain.size() > length && chain[length] == 0;
  return name_of(chain, length, adapter, is_page);
}

event_scope random_events::scope() {
  event_scope made;
  if (chance(35)) made.lora = std::vector<std::string>{"", "a", "b"}[below(3)];
  if (chance(50)) made.medium = static_cast<medium_id>(std::vector<int>{0, 0, 1, 2}[below(4)]);
  if (habits_.has_groups && chance(40)) made.group = static_cast<std::uint32_t>(below(3));
  if (habits_.ranks == 3 && chance(50)) made.rank = dp_rank{static_cast<std::uint32_t>(below(3))};
  made.names_span_groups = from_.type == publisher_type::standard;
  return made;
}

stored_event random_events::store() {
  stored_event made;
  made.scope = scope();
  if (habits_.has_groups && made.scope.group != 0) {
    made.scope.prefix_complete = made.scope.group == 1 ? chance(95) : chance(30);
    made.scope.takes_kind_of_group = made.scope.prefix_complete && chance(40);
  }
  const std::uint32_t size = from_.partition.block_size;
  if (chance(50)) made.scope.block_size = size;
  path chain(1 + below(longest_chain));
  for (auto& each : chain) each = static_cast<std::uint32_t>(below(letters));
  const std::size_t from = chance(50) ? 0 : below(chain.size());
  const std::string adapter = adapter_of(made.scope);
  for (std::size_t i = from; i < chain.size(); ++i) {
    const engine_hash name = name_of(chain, i + 1, adapter, false);
    if (std::ranges::find(made.hashes, name) == made.hashes.end()) made.hashes.push_back(name);
  }
  if (from_.type == publisher_type::standard) {
    made.standard_hashes = true;
    return made;
  }
  const bool is_whole = made.hashes.size() == chain.size() - from;
  if (from != 0) made.parent = name_behind(chain, from, adapter);
  if (made.parent && std::ranges::find(made.hashes, *made.parent) != made.hashes.end()) made.parent = engine_hash{6'000};
  if (from != 0 && chance(3)) {
    made.parent.reset();
    made.base = position{static_cast<std::uint32_t>(from)};
  }
  if (!is_whole || chance(15)) {  // a placeholder
    made.parent.reset();
    made.base.reset();
    made.scope.block_size = 0;
    return made;
  }
  made.has_tokens = true;
  made.tokens = tokens_of(chain, from, size);
  if (made.hashes.size() > 1 && chance(4)) made.hashes.pop_back();  // masked
  return made;
}

stored_event random_events::store_pages() {
  stored_event made;
  made.scope = scope();
  made.scope.group = 0;
  const std::uint32_t size = from_.partition.block_size;
  made.scope.block_size = 2 * size;
  path chain(2 * (1 + below(longest_chain / 2)));
  for (auto& each : chain) each = static_cast<std::uint32_t>(below(letters));
  const std::size_t from = chance(40) ? 0 : 2 * below(chain.size() / 2);
  const std::string adapter = adapter_of(made.scope);
  for (std::size_t i = from; i < chain.size(); i += 2) made.hashes.push_back(name_of(chain, i + 2, adapter, true));
  // Not behind a block: what pages wait for is a page itself when it comes, and what was told of it as a block before is not counted.
  if (from != 0) made.parent = name_of(chain, from, adapter, true);
  made.has_tokens = true;
  made.tokens = tokens_of(chain, from, size);
  return made;
}

removed_event random_events::remove() {
  removed_event made;
  const said& first = recent_[below(recent_.size())];
  made.scope = first.scope;
  made.scope.prefix_complete = true;
  made.scope.takes_kind_of_group = false;
  made.scope.block_size = 0;
  const bool may_leave_out = from_.type != publisher_type::standard || !habits_.is_tidy;
  if (may_leave_out && chance(50)) made.scope.lora.reset();
  if (from_.type == publisher_type::standard && habits_.is_tidy && !made.scope.lora) made.scope.lora = from_.partition.lora;
  if (chance(10)) made.scope.medium = static_cast<medium_id>(below(3));
  made.hashes.push_back(first.name);
  for (std::size_t more = below(4); more != 0; --more) {
    const said& other = recent_[below(recent_.size())];
    const bool fits = other.scope.group == first.scope.group && std::ranges::find(made.hashes, other.name) == made.hashes.end();
    if (fits) made.hashes.push_back(other.name);
  }
  return made;
}

cleared_event random_events::clear() {
  cleared_event made;
  if (chance(30)) made.scope.medium = static_cast<medium_id>(below(3));
  if (chance(30)) made.scope.lora = std::vector<std::string>{"", "a", "b"}[below(3)];
  if (habits_.ranks == 3 && chance(30)) made.scope.rank = dp_rank{static_cast<std::uint32_t>(below(3))};
  made.scope.names_span_groups = from_.type == publisher_type::standard;
  return made;
}

event_batch random_events::next() {
  event_batch made;
  const std::uint32_t registered = from_.worker.rank.get();
  if (habits_.ranks == 1) made.rank = dp_rank{chance(95) ? 0 : registered};
  if (habits_.ranks == 2 && chance(80)) made.rank = dp_rank{static_cast<std::uint32_t>(below(3))};
  if (habits_.ranks == 3 && chance(30)) made.rank = dp_rank{chance(70) ? 0 : registered};
  for (std::size_t left = 1 + below(habits_.events); left != 0; --left) {
    if (!recent_.empty() && chance(42)) {
      made.events.emplace_back(remove());
    } else if (chance(5)) {
      made.events.emplace_back(clear());
    } else {
      stored_event stored = habits_.has_pages && chance(35) ? store_pages() : store();
      for (const engine_hash name : stored.hashes) recent_.push_back({name, stored.scope});
      while (recent_.size() > remembered) recent_.pop_front();
      made.events.emplace_back(std::move(stored));
    }
  }
  return made;
}

std::string random_events::text(const event& what) {
  std::ostringstream out;
  const auto names = [&out](const char* word, const std::vector<engine_hash>& all) {
    out << word;
    for (const engine_hash each : all) out << ' ' << each.get();
  };
  std::visit(
      [&](const auto& each) {
        const event_scope& scope = each.scope;
        if constexpr (requires {
                        each.parent;
                        each.base;
                      }) {
          names(each.standard_hashes ? "stores by the standard" : "stores", each.hashes);
          if (each.parent) out << " behind " << each.parent->get();
          if (each.base) out << " at " << each.base->get();
          out << ", tokens";
          for (const std::uint32_t token : each.tokens) out << ' ' << token;
        } else if constexpr (requires { each.hashes; }) {
          names("removes", each.hashes);
        } else {
          out << "clears";
        }
        if (scope.lora) out << ", adapter '" << *scope.lora << '\'';
        if (scope.medium) out << ", medium " << static_cast<unsigned>(*scope.medium);
        if (scope.rank) out << ", rank " << scope.rank->get();
        if (scope.block_size != 0) out << ", size " << scope.block_size;
        if (scope.group != 0) out << ", group " << scope.group;
        if (!scope.prefix_complete) out << ", a window";
        if (scope.takes_kind_of_group) out << ", of its group's kind";
      },
      what);
  return out.str();
}

}  // namespace kvc::test

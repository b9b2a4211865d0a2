#include "net/plain_fields.hpp"

#include <algorithm>
#include <array>
#include <span>
#include <string_view>

#include "core/block_hasher.hpp"
#include "net/event_fields.hpp"
#include "net/field_rules.hpp"
#include "net/same_bytes.hpp"
#include "net/token_list.hpp"

namespace kvc::net {
namespace {

constexpr unsigned char nil = 0xc0;
constexpr unsigned char wide_integer = 0xcf;
/// Tokens that are read before their blocks are hashed: 60 blocks of 16, 30 of 32, and steps of the vector readers without a rest.
constexpr std::size_t piece_tokens = 960;

}  // namespace

/// What a value means to an event. Each may come once.
enum class plain_fields::field : std::uint8_t {
  names,
  parent,
  tokens,
  block_size,
  medium,
  lora,
  lora_id,
  extra_keys,
  group,
  spec_kind,
  rank,
  locality,
  unused,  ///< any scalar
  unsaid,  ///< nil: with another value the event is not plain
};

struct plain_fields::known_member {
  std::string_view name;
  field what;
};

struct plain_fields::layout {
  // As in event_members.cpp, those that engines send; any other is for the general way.
  static constexpr std::array<known_member, 23> members{{
      {"block_hashes", field::names},
      {"parent_block_hash", field::parent},
      {"token_ids", field::tokens},
      {"block_size", field::block_size},
      {"lora_id", field::lora_id},
      {"medium", field::medium},
      {"lora_name", field::lora},
      {"extra_keys", field::extra_keys},
      {"group_idx", field::group},
      {"kv_cache_spec_kind", field::spec_kind},
      {"kv_cache_spec_sliding_window", field::unused},
      {"locality", field::locality},
      {"ownership", field::unsaid},
      {"session_id", field::unused},
      {"cache_salt", field::unsaid},
      {"event_id", field::unused},
      {"timestamp", field::unused},
      {"dp_rank", field::rank},
      {"block_mm_infos", field::unsaid},
      {"remaining_copy_counts", field::unused},
      {"event_version", field::unused},
      {"token_offset", field::unused},
      {"group_id", field::group},
  }};

  // As in event_codec_vllm.cpp, by the index in an array behind the tag. The last is in no hash, and the general way does not look at it.
  static constexpr std::array<field, 11> stored{field::names,   field::parent,    field::tokens, field::block_size,
                                                field::lora_id, field::medium,    field::lora,   field::extra_keys,
                                                field::group,   field::spec_kind, field::unused};
  static constexpr std::array<field, 3> removed{field::names, field::medium, field::group};
};

bool plain_fields::read(bool is_map, std::uint64_t fields) {
  seen_ = 0;
  name_at_ = nullptr;
  if (!(is_map ? by_name(fields) : by_position(fields)) || !has(field::names)) return false;
  if (into_.stored != nullptr && with_->recipe && !is_by_recipe()) {
    with_->recipe.reset();  // what is behind may go on in a block that this one has begun
    const bool was_hashed = !into_.stored->locals.empty();
    into_.stored->locals.clear();
    if (was_hashed) (void)keep_tokens();  // which have been read once
  }
  into_.scope->takes_kind_of_group = into_.stored != nullptr && has(field::group) && !has(field::spec_kind);
  return !has(field::lora_id) || has(field::lora);  // an adapter that is known by its number only is rare
}

bool plain_fields::by_position(std::uint64_t fields) {
  const std::span<const field> places = into_.stored != nullptr ? std::span<const field>(layout::stored) : layout::removed;
  if (fields > places.size()) return false;
  return std::ranges::all_of(places.first(fields), [this](field what) { return one(what); });
}

/// Stretches of fields that vary little are looked for as a whole first; see field_memory.
bool plain_fields::by_name(std::uint64_t fields) {
  const known_member* expected = layout::members.begin();
  open_stretch begun{{fields, seen_}, from_->at()};
  while (fields > 0) {
    if (from_->at() == begun.at) {
      if (const auto* const same = with_->fields.find(begun.where, begun.at, from_->left())) {
        take(*same);
        fields -= same->fields;
        expected = layout::members.begin() + same->next_member;
        begun.at = nullptr;
        continue;
      }
    }
    const unsigned char* const name_at = from_->at();
    const known_member* const known = member(expected);
    if (known == nullptr) return false;
    const bool is_another = varies(known->what) && from_->left() != 0 && *from_->at() != nil;
    if (is_another) keep(begun, name_at, fields, expected);
    if (!one(known->what)) return false;
    --fields;
    expected = known + 1;
    if (is_another) begun = {{fields, seen_}, from_->at()};
  }
  keep(begun, from_->at(), fields, expected);
  return true;
}

/// Takes a name. Publishers write their members in the same order every time: the one that is looked for is mostly the one behind the last.
const plain_fields::known_member* plain_fields::member(const known_member* expected) {
  std::string_view name;
  if (!from_->take_text(name)) return nullptr;
  if (expected != layout::members.end() && is_same(expected->name, name)) return expected;
  const known_member* const known =
      std::ranges::find_if(layout::members, [name](const known_member& each) { return is_same(each.name, name); });
  return known == layout::members.end() ? nullptr : known;
}

/// Whether it is another one in every event, unless it is nil.
bool plain_fields::varies(field what) noexcept {
  return what == field::names || what == field::parent || what == field::tokens || what == field::extra_keys;
}

void plain_fields::keep(const open_stretch& begun, const unsigned char* end, std::uint64_t fields_left, const known_member* expected) {
  constexpr std::uint64_t fewest = 2;  // by itself a field is read as fast as it is looked for
  if (begun.at == nullptr || begun.where.fields_left - fields_left < fewest) return;
  const auto length = static_cast<std::size_t>(end - begun.at);
  if (length > field_memory::stretch::most_bytes || has(field::lora)) return;  // whose text is not kept
  field_memory::stretch& same = with_->fields.put(begun.at, length);
  const core::event_scope& scope = *into_.scope;
  same.where = begun.where;
  same.fields = static_cast<std::uint32_t>(begun.where.fields_left - fields_left);
  same.seen_after = seen_;
  same.next_member = static_cast<std::uint32_t>(expected - layout::members.begin());
  same.block_size = scope.block_size;
  same.group = scope.group;
  same.medium = scope.medium;
  same.rank = scope.rank;
  same.prefix_complete = scope.prefix_complete;
}

void plain_fields::take(const field_memory::stretch& same) {
  const unsigned said = same.seen_after & ~same.where.seen;
  const auto is_said = [said](field what) { return (said & 1U << static_cast<unsigned>(what)) != 0; };
  core::event_scope& scope = *into_.scope;
  if (is_said(field::block_size)) scope.block_size = same.block_size;
  if (is_said(field::group)) scope.group = same.group;
  if (is_said(field::medium)) scope.medium = same.medium;
  if (is_said(field::rank)) scope.rank = same.rank;
  if (is_said(field::spec_kind)) scope.prefix_complete = same.prefix_complete;
  seen_ = same.seen_after;
  from_->go_to(from_->at() + same.length);
}

bool plain_fields::one(field what) {
  if (what == field::unused) return from_->skip_scalar();
  if (from_->take_nil()) return !has(what);  // as if it were not there, unless it takes back what was said
  if (has(what)) return false;
  seen_ |= 1U << static_cast<unsigned>(what);
  std::string_view text;
  switch (what) {
    case field::names: return names();
    case field::parent: return parent();
    case field::tokens: return tokens();
    case field::block_size: return from_->take_u32(into_.scope->block_size);
    case field::medium: return medium();
    case field::lora: return adapter();
    case field::lora_id: return adapter_id();
    case field::extra_keys: return no_keys();
    case field::group: return from_->take_u32(into_.scope->group);
    case field::spec_kind: return group_kind();
    case field::rank: return rank();
    case field::locality: return from_->take_text(text) && text == "LOCAL";
    case field::unused:
    case field::unsaid: break;
  }
  return false;
}

bool plain_fields::names() {
  std::uint64_t count = 0;
  if (!from_->take_array(count) || count > max_event_hashes || count > from_->left()) return false;
  const bool is_wide_next = from_->left() >= wide_name_bytes && *from_->at() == wide_integer;
  if (count == 1 && into_.stored == nullptr && is_wide_next) name_at_ = from_->at();
  if (with_->spare != nullptr) with_->spare->lend(*into_.names, count);
  into_.names->resize(count);
  const std::span<core::engine_hash> all(*into_.names);
  for (std::size_t i = take_wide(all); i < all.size();) {
    if (!name(all[i++])) return false;
    i += take_wide(all.subspan(i));
  }
  return true;
}

/// Reads names of full width, as nearly all are, as long as they come. Answers how many.
std::size_t plain_fields::take_wide(std::span<core::engine_hash> into) {
  const std::size_t most = std::min(into.size(), from_->left() / wide_name_bytes);
  const unsigned char* at = from_->at();
  std::size_t taken = 0;
  for (; taken < most && *at == wide_integer; ++taken, at += wide_name_bytes) into[taken] = wide_name(at);
  from_->go_to(at);
  return taken;
}

bool plain_fields::name(core::engine_hash& into) {
  std::uint64_t bits = 0;
  bool is_negative = false;
  if (!from_->take_integer(bits, is_negative)) return false;
  into = core::engine_hash{bits};
  return true;
}

bool plain_fields::parent() {
  return into_.stored != nullptr && name(into_.stored->parent.emplace());
}

bool plain_fields::tokens() {
  std::uint64_t count = 0;
  if (into_.stored == nullptr || !from_->take_array(count) || count > max_event_tokens || count > from_->left()) return false;
  tokens_at_ = from_->at();
  token_count_ = count;
  const bool is_hashed = with_->recipe && with_->recipe->block_size <= piece_tokens && count != 0 && count % with_->recipe->block_size == 0;
  const unsigned char* const behind = is_hashed ? hash_tokens() : keep_tokens();
  if (behind == nullptr) return false;
  from_->go_to(behind);
  return true;
}

/// Answers where they end; null where they are no tokens.
const unsigned char* plain_fields::keep_tokens() {
  std::vector<std::uint32_t>& tokens = into_.stored->tokens;
  if (with_->spare != nullptr) with_->spare->lend(tokens, token_count_);
  tokens.resize(token_count_);
  return read_u32_list(tokens_at_, from_->end(), tokens.data(), token_count_);
}

/// The same, hashing some blocks as soon as they are read: what is read and not hashed yet fits the first cache, where all tokens of a long
/// prompt leave it, and mostly the second, before anybody comes back to them.
const unsigned char* plain_fields::hash_tokens() {
  const core::hash_recipe& recipe = *with_->recipe;
  std::vector<core::local_hash>& locals = into_.stored->locals;
  const std::size_t blocks = token_count_ / recipe.block_size;
  if (with_->spare != nullptr) with_->spare->lend(locals, blocks);
  locals.resize(blocks);
  std::array<std::uint32_t, piece_tokens> piece;
  const std::size_t at_once = piece_tokens / recipe.block_size;
  const unsigned char* at = tokens_at_;
  for (std::span<core::local_hash> left(locals); !left.empty();) {
    const auto some = left.first(std::min(left.size(), at_once));
    const std::size_t tokens = some.size() * recipe.block_size;
    at = read_u32_list(at, from_->end(), piece.data(), tokens);
    if (at == nullptr) return nullptr;
    core::hash_blocks(std::span(piece).first(tokens), recipe, some);
    left = left.subspan(some.size());
  }
  return at;
}

/// Whether nothing in the event asks for another recipe, or for its tokens if they were hashed.
bool plain_fields::is_by_recipe() const {
  const core::event_scope& scope = *into_.scope;
  const std::size_t hashed = into_.stored->locals.size();
  const bool is_of_size = scope.block_size == 0 || scope.block_size == with_->recipe->block_size;
  return is_of_size && !scope.lora && (hashed == 0 || hashed == into_.names->size());
}

bool plain_fields::medium() {
  std::string_view word;
  if (!from_->take_text(word) || word.empty()) return false;
  if (!is_same(word, with_->last_medium)) {
    core::medium_id found{};
    if (!with_->media->find(word, found) || !core::medium_table::is_known_word(found, word)) return false;
    with_->last_medium = word;
    with_->last_medium_id = found;
  }
  into_.scope->medium = with_->last_medium_id;
  return true;
}

bool plain_fields::adapter() {
  std::string_view text;
  if (!from_->take_text(text) || text.size() > max_identity_bytes) return false;
  into_.scope->lora = text;
  return true;
}

/// 0 and less are as good as nil, see event_fields.cpp.
bool plain_fields::adapter_id() {
  std::uint64_t bits = 0;
  bool is_negative = false;
  if (!from_->take_integer(bits, is_negative)) return false;
  if (bits == 0 || is_negative) seen_ &= ~(1U << static_cast<unsigned>(field::lora_id));
  return true;
}

bool plain_fields::group_kind() {
  std::string_view text;
  if (!from_->take_text(text)) return false;
  into_.scope->prefix_complete = is_prefix_complete_kind(text);
  return true;
}

bool plain_fields::rank() {
  std::uint32_t number = 0;
  if (!from_->take_u32(number)) return false;
  into_.scope->rank = core::dp_rank{number};
  return true;
}

/// A list of blocks none of which has a key of its own.
bool plain_fields::no_keys() {
  std::uint64_t count = 0;
  if (!from_->take_array(count) || count > from_->left()) return false;
  for (; count > 0; --count) {
    if (!from_->take_nil()) return false;
  }
  return true;
}

}  // namespace kvc::net

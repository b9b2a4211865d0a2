// Random queries that are meant, and their members as somebody may write them down.
#pragma once

#include <algorithm>
#include <cstdint>
#include <optional>
#include <random>
#include <sstream>
#include <string>
#include <utility>
#include <vector>

#include "core/utf8.hpp"
#include "net/api_types.hpp"
#include "net/http_reply.hpp"
#include "tests/net/query_forms.hpp"

namespace kvc::test::forms {

using namespace kvc::net;
using kinds = value::kind;

/// What a query means, in words.
inline std::string told(const query_request& of) {
  std::ostringstream out;
  const auto words = [&](const std::optional<std::vector<std::string>>& list) {
    if (!list) return void(out << " any");
    for (const std::string& each : *list) out << " <" << each << ">";
  };
  out << of.partition.tenant << "|" << of.partition.model << "|" << of.partition.lora << "|" << of.partition.salt << "|"
      << of.partition.block_size << (of.by_hash ? " hashes" : " tokens");
  if (of.by_hash) {
    for (const core::seq_hash each : of.hashes) out << " " << each.get();
  } else {
    for (const std::uint32_t each : of.tokens) out << " " << each;
  }
  out << (of.by_names ? " names" : "") << " of " << of.instance << " in";
  words(of.instances);
  out << " on";
  words(of.media);
  out << " least " << of.min_match << " most " << (of.top_k ? std::to_string(*of.top_k) : "any") << (of.detail ? " detail" : "")
      << (of.prefetch ? " prefetch" : "") << " to " << of.preferred << " blocks " << of.prefetch_max_blocks;
  for (const std::string& each : of.extra_keys) {
    out << " key";
    for (const char letter : each) out << "," << static_cast<int>(letter);
  }
  return out.str();
}

struct fault {
  refusal_kind kind{};
  std::string field;
  std::optional<std::size_t> index;
};
inline std::string told(const refusal& why) {
  return "refused: " + std::string(reason_of(why.kind)) + " of " + why.field + (why.index ? " at " + std::to_string(*why.index) : "");
}

struct member {
  std::string name;
  value what;
};

/// A query that is meant, and its members as somebody may write them down.
class query_writer {
 public:
  explicit query_writer(std::mt19937_64& random) : random_(random) {}

  /// What must be understood; `is_by_hash` says by which route it is asked alone.
  query_request meant;
  bool is_by_hash = false;
  std::vector<std::uint32_t> tokens;
  std::vector<core::seq_hash> hashes;
  std::vector<member> members;
  std::optional<fault> wrong;
  bool has_keys = false;  ///< whose meaning is a matter of other tests: all forms have the same

  void write() {
    meant.partition.model = word(1);
    say({"model", "modelname", "model_name"}, text(meant.partition.model));
    meant.partition.block_size = static_cast<std::uint32_t>(chance(3) ? random_() | 1U : 1 + random_() % 64);
    say({"block_size"}, whole(meant.partition.block_size));
    meant.partition.tenant = optional_text({"tenant_id"});
    if (meant.partition.tenant.empty()) meant.partition.tenant = "default";
    meant.partition.salt = optional_text({"cache_salt", "additionalsalt", "additional_salt"});
    adapter();
    meant.instance = optional_text({"instance_id"});
    meant.preferred = optional_text({"preferred"});
    meant.by_hash = is_by_hash = chance(2);
    is_by_hash ? say_hashes() : say_tokens();
    meant.instances = optional_words("instance_ids");
    meant.media = optional_words("media");
    if (chance(3)) say({"min_match"}, whole(meant.min_match = number()));
    if (chance(3)) say({"top_k"}, whole(*(meant.top_k = std::max<std::uint64_t>(number(), 1))));
    if (chance(3)) say({"detail"}, flag(meant.detail = chance(2)));
    if (chance(4) && !(meant.instance.empty() && meant.preferred.empty())) say({"prefetch"}, flag(meant.prefetch = chance(2)));
    if (chance(4)) say({"prefetch_max_blocks"}, whole(meant.prefetch_max_blocks = 1 + random_() % 65'536));
    if (chance(4)) {
      const bool is_engine = is_by_hash && chance(2);
      meant.by_names = is_engine;
      say({"hash_kind"}, text(is_engine ? "engine" : chance(3) ? "" : "sequence"));
    }
    has_keys = !is_by_hash && chance(4);
    if (has_keys) say({"extra_keys"}, list(keys_of_blocks()));
    std::ranges::shuffle(members, random_);
    if (chance(3)) spoil();
    for (std::uint64_t i = random_() % 4; i > 0; --i) add_noise();
    meant.tokens = tokens;
    meant.hashes = hashes;
  }

 private:
  bool chance(std::uint64_t one_in) { return random_() % one_in == 0; }
  std::uint64_t number() { return random_() >> random_() % 64; }
  std::string word(std::size_t least) {
    static const std::vector<std::string> letters{"a",
                                                  "b",
                                                  "Z",
                                                  "0",
                                                  " ",
                                                  "/",
                                                  "\"",
                                                  "\\",
                                                  "\n",
                                                  "\x01",
                                                  std::string(1, '\0'),
                                                  "\x7f",
                                                  "\xC3\xA9",
                                                  "\xE2\x82\xAC",
                                                  "\xF0\x9F\x98\x80",
                                                  "engine",
                                                  "\xED\x9F\xBF",
                                                  "\xEF\xBF\xBF"};
    const bool is_plain = !chance(3);
    std::string made;
    for (std::uint64_t i = least + random_() % 12; i > 0; --i) made += letters[random_() % (is_plain ? 6 : letters.size())];
    if (chance(40)) made.resize(4'095 + random_() % 2, 'x');
    return core::is_utf8(made) ? made : "x";
  }
  template <class Each>
  const Each& one_of(const std::vector<Each>& all) {
    return all[random_() % all.size()];
  }

  /// Under one of its names, under several that agree, with nulls beside it, and after what does not count any more.
  void say(const std::vector<std::string>& names, const value& what) {
    const std::size_t chosen = random_() % names.size();
    for (std::size_t i = 0; i < names.size(); ++i) {
      if (i == chosen || chance(6)) members.push_back({names[i], what});
      if (chance(12)) members.push_back({names[i], value{}});
    }
  }
  std::string optional_text(const std::vector<std::string>& names) {
    if (!chance(3)) return "";
    const std::string made = chance(5) ? "" : word(1);
    say(names, text(made));
    return made;
  }
  std::optional<std::vector<std::string>> optional_words(const std::string& name) {
    if (!chance(4)) return std::nullopt;
    std::vector<std::string> made;
    std::vector<value> items;
    for (std::uint64_t i = random_() % 20; i > 0; --i) items.push_back(text(made.emplace_back(word(0))));
    say({name}, list(std::move(items)));
    return made;
  }
  void adapter() {
    std::string& lora = meant.partition.lora;
    if (chance(4)) {
      lora = optional_text({"lora_name"});
    } else if (chance(4)) {
      if (chance(2)) members.push_back({"lora_name", text("")});
      const std::uint64_t id = chance(3) ? 0 : number();
      const bool is_below = chance(5);
      const bool is_text = chance(3);
      lora = is_text ? word(1) : is_below || id == 0 ? "" : std::to_string(id);
      say({"lora_id"}, is_text ? text(lora) : is_below ? below(-1 - static_cast<std::int64_t>(id >> 1)) : whole(id));
    }
  }
  void say_tokens() {
    std::vector<value> items;
    for (std::uint64_t i = chance(6) ? 300 + random_() % 900 : random_() % 40; i > 0; --i) {
      items.push_back(whole(tokens.emplace_back(static_cast<std::uint32_t>(random_() >> (32 + random_() % 32)))));
    }
    say({"token_ids"}, list(std::move(items)));
    if (chance(8)) members.push_back({"token_ids_b64", value{}});
    if (chance(8)) say({"seq_hashes", "block_hash"}, list({whole(1)}));  // nobody asks for these
  }
  void say_hashes() {
    std::vector<value> items;
    for (std::uint64_t i = random_() % 40; i > 0; --i) {
      const std::uint64_t bits = hashes.emplace_back(chance(3) ? number() : random_()).get();
      const auto as_signed = static_cast<std::int64_t>(bits);
      std::ostringstream hex;
      hex << (chance(2) ? "0x" : "0X") << (chance(2) ? std::uppercase : std::nouppercase) << std::hex << bits;
      const std::uint64_t how = random_() % 10;
      items.push_back(how == 0                    ? text(std::to_string(bits))
                      : how == 1                  ? text(hex.str())
                      : how == 2 && as_signed < 0 ? text(std::to_string(as_signed))
                      : how == 3 && as_signed < 0 ? below(as_signed)
                                                  : whole(bits));
    }
    say({"seq_hashes", "block_hash", "block_hashes"}, list(std::move(items)));
  }

  std::vector<value> keys_of_blocks() {
    std::vector<value> blocks;
    for (std::uint64_t i = random_() % 20; i > 0; --i) {
      value& block = blocks.emplace_back();
      if (chance(3)) continue;  // null
      block = list({});
      for (std::uint64_t j = random_() % 4; j > 0; --j) {
        const std::uint64_t how = random_() % 4;
        block.items.push_back(how == 0   ? text(word(0))
                              : how == 1 ? whole(number())
                              : how == 2 ? below(-1 - static_cast<std::int64_t>(random_() >> (1 + random_() % 63)))
                                         : list({text(word(1)), whole(number())}));
      }
    }
    return blocks;
  }

  value junk(int depth = 0) {
    switch (random_() % (depth < 4 ? 8 : 6)) {
      case 0: return value{};
      case 1: return flag(chance(2));
      case 2: return whole(random_());
      case 3: return below(-static_cast<std::int64_t>(random_() >> 1) - 1);
      case 4: return real(chance(2) ? "1.5" : "15e-1", 1.5);
      case 5: return text(word(0));
      case 6: {
        std::vector<value> items;
        for (std::uint64_t i = random_() % 5; i > 0; --i) items.push_back(junk(depth + 1));
        return list(std::move(items));
      }
      default: {
        std::vector<std::pair<std::string, value>> all;
        for (std::uint64_t i = random_() % 4; i > 0; --i) all.emplace_back(chance(2) ? "model" : word(0), junk(depth + 1));
        return map(std::move(all));
      }
    }
  }
  /// Members nobody knows, and what a name said before it came again.
  void add_noise() {
    if (chance(2) || members.empty()) {
      static const std::vector<std::string> strange{
          "",         "Model", "token_id", "model_names", "a name that is much longer than any other name",
          "\xC3\xA9", "mode",  "queries",  "results"};
      const auto at = static_cast<std::ptrdiff_t>(random_() % (members.size() + 1));
      members.insert(members.begin() + at, {one_of(strange), junk()});
      return;
    }
    const std::string name = one_of(members).name;
    const auto first = std::ranges::find(members, name, &member::name);
    const auto counts =
        std::ranges::find_if(members, [&](const member& each) { return each.name == name && each.what.what != kinds::nil; });
    if (counts == members.end()) return;  // null only: what came before would count
    members.insert(members.begin() + static_cast<std::ptrdiff_t>(random_() % static_cast<std::size_t>(first - members.begin() + 1)),
                   {name, junk()});
  }

  /// Makes one thing wrong.
  void spoil() {
    struct way {
      std::vector<std::string> names;  ///< whose value is taken for another one
      value what;
      refusal_kind kind;
    };
    using enum refusal_kind;
    const value huge = whole(std::uint64_t{1} << 32U);
    const std::vector<way> ways{
        {{"model", "modelname", "model_name"}, text(""), invalid_value},
        {{"model", "modelname", "model_name"}, whole(5), invalid_type},
        {{"model", "modelname", "model_name"}, text(std::string(4'097, 'x')), out_of_range},
        {{"block_size"}, whole(0), out_of_range},
        {{"block_size"}, below(-1), out_of_range},
        {{"block_size"}, huge, out_of_range},
        {{"block_size"}, text("4"), invalid_type},
        {{"block_size"}, real("4.0", 4), invalid_type},
        {{"block_size"}, real("1e0", 1), invalid_type},
        {{"block_size"}, flag(true), invalid_type},
        {{"block_size"}, list({}), invalid_type},
        {{"tenant_id"}, whole(1), invalid_type},
        {{"tenant_id"}, list({}), invalid_type},
        {{"instance_id"}, flag(false), invalid_type},
        {{"instance_id"}, text(std::string(4'097, 'x')), out_of_range},
        {{"cache_salt", "additionalsalt", "additional_salt"}, map({}), invalid_type},
        {{"lora_name"}, whole(3), invalid_type},
        {{"lora_id"}, real("1.0", 1), invalid_type},
        {{"lora_id"}, flag(true), invalid_type},
        {{"instance_ids"}, text("a"), invalid_type},
        {{"media"}, map({}), invalid_type},
        {{"min_match"}, below(-1), out_of_range},
        {{"min_match"}, real("-0.0", -0.0), invalid_type},
        {{"top_k"}, whole(0), out_of_range},
        {{"top_k"}, text("1"), invalid_type},
        {{"detail"}, whole(1), invalid_type},
        {{"detail"}, text("true"), invalid_type},
        {{"prefetch"}, list({}), invalid_type},
        {{"prefetch_max_blocks"}, whole(0), out_of_range},
        {{"prefetch_max_blocks"}, whole(65'537), out_of_range},
        {{"preferred"}, whole(0), invalid_type},
        {{"hash_kind"}, text("Engine"), invalid_value},
        {{"hash_kind"}, whole(0), invalid_type},
    };
    if (chance(2)) return spoil_list();
    const way& how = one_of(ways);
    std::erase_if(members, [&](const member& each) { return std::ranges::count(how.names, each.name) != 0; });
    const std::string& name = one_of(how.names);
    members.insert(members.begin() + static_cast<std::ptrdiff_t>(random_() % (members.size() + 1)), {name, how.what});
    // Both names of the adapter are read before one of them is found to be of another type.
    if (name.starts_with("lora"))
      std::erase_if(members, [&](const member& each) { return each.name.starts_with("lora") && each.name != name; });
    wrong = fault{how.kind, name, std::nullopt};
  }
  void spoil_list() {
    struct element {
      value what;
      refusal_kind kind;
    };
    using enum refusal_kind;
    const std::vector<element> of_tokens{{below(-1), out_of_range},
                                         {whole(std::uint64_t{1} << 32U), out_of_range},
                                         {text("3"), invalid_type},
                                         {real("1.5", 1.5), invalid_type},
                                         {real("1.0", 1), invalid_type},
                                         {real("1e0", 1), invalid_type},
                                         {value{}, invalid_type},
                                         {list({}), invalid_type},
                                         {map({}), invalid_type},
                                         {flag(true), invalid_type},
                                         {list({list({whole(1)}), text("x")}), invalid_type},
                                         {whole(~std::uint64_t{0}), out_of_range}};
    const std::vector<element> of_hashes{{text(""), invalid_value},
                                         {text("0x"), invalid_value},
                                         {text("x"), invalid_value},
                                         {text("0x1g"), invalid_value},
                                         {text("18446744073709551616"), invalid_value},
                                         {text("-9223372036854775809"), invalid_value},
                                         {text(" 1"), invalid_value},
                                         {text("+1"), invalid_value},
                                         {text("1e0"), invalid_value},
                                         {real("1.5", 1.5), invalid_type},
                                         {value{}, invalid_type},
                                         {list({}), invalid_type},
                                         {flag(false), invalid_type},
                                         {map({{"a", list({})}}), invalid_type},
                                         {text("--1"), invalid_value},
                                         {text("-0x1"), invalid_value},
                                         {text(std::string(64, '0') + "1"), invalid_value}};
    const std::vector<element> of_words{{whole(1), invalid_type},
                                        {value{}, invalid_type},
                                        {list({text("a")}), invalid_type},
                                        {text(std::string(4'097, 'x')), out_of_range}};
    std::vector<std::string> names{"token_ids"};
    const std::vector<element>* bad = &of_tokens;
    if (chance(4)) {
      names = {chance(2) ? "instance_ids" : "media"};
      bad = &of_words;
    } else if (is_by_hash) {
      names = {"seq_hashes", "block_hash", "block_hashes"};
      bad = &of_hashes;
    }
    std::erase_if(members, [&](const member& each) { return std::ranges::count(names, each.name) != 0; });
    const std::string& name = one_of(names);
    const element& one = one_of(*bad);
    value all = list({});
    const value good = bad == &of_words ? text("a") : whole(7);
    for (std::uint64_t i = random_() % 20; i > 0; --i) all.items.push_back(good);
    wrong = fault{one.kind, name, all.items.size()};
    all.items.push_back(one.what);
    for (std::uint64_t i = random_() % 3; i > 0; --i) all.items.push_back(chance(2) ? good : one_of(*bad).what);
    if (chance(6) && bad != &of_words) {
      all = chance(2) ? text("1,2") : whole(1);
      wrong = fault{invalid_type, name, std::nullopt};
    }
    members.push_back({name, std::move(all)});
  }

  std::mt19937_64& random_;
};

}  // namespace kvc::test::forms

// What may be said of promotions, by the contract.
#include <algorithm>
#include <chrono>
#include <string>
#include <string_view>

#include "tests/support/net/promotion_stage.hpp"

namespace kvc::test {

using steady = std::chrono::steady_clock;
using net::prefetch_word;

void promotion_stage::note(std::string_view key, prefetch_word word, std::string_view why) {
  ledger_.note(std::string(key) + " is " + std::string(net::prefetch_words[static_cast<std::size_t>(word)]) + ": " + std::string(why));
}

/// Whether a word may be said, of a wish between the two moments; what it begins is begun.
std::shared_ptr<flight> promotion_stage::judge(const flight_ledger::name& whose, wanted need, prefetch_word word,
                                               const std::string& preferred, time_point from, time_point to, bool may_be_full) {
  const auto& [backend, tenant, key] = whose;
  ++said_[static_cast<std::size_t>(word)];
  if (need == wanted::missing || need == wanted::nothing) {
    if (word != prefetch_word::none) note(key, word, "nothing is to be done");
  } else if (need == wanted::join) {
    if (word != prefetch_word::joined) note(key, word, "it is on its way");
  } else if (!promotions_.has_target(backend)) {
    if (word != prefetch_word::failed) note(key, word, "there is no store");
  } else {
    return judge_wish(whose, word, preferred, from, to, may_be_full);
  }
  return nullptr;
}

std::shared_ptr<flight> promotion_stage::judge_wish(const flight_ledger::name& whose, prefetch_word word, const std::string& preferred,
                                                    time_point from, time_point to, bool may_be_full) {
  const auto& [backend, tenant, key] = whose;
  const auto before = ledger_.last_of(whose);
  // Nobody is told of what has waited in a queue for too long.
  const bool may_have_given_up = before && before->at == flight::stage::wished && to >= before->wished_from + settings_.prefetch_deadline;
  const bool is_open = before && before->is_open() && !may_have_given_up;
  const bool counts = before && !before->is_open() && before->is_of_today;
  const auto length = before && before->is_done() ? settings_.prefetch_dedup : settings_.prefetch_cooldown;
  const auto longest = before && before->is_sure ? length : settings_.prefetch_dedup;
  const bool is_too_soon = counts && before->is_sure && to < before->ended_from + length;
  const bool may_be_too_soon = counts && (before->at == flight::stage::returned || from < before->ended_to + longest);
  const auto rest = ledger_.rests_until.find(backend);
  switch (word) {
    case prefetch_word::joined:
      if (before == nullptr || before->at == flight::stage::ended) note(key, word, "it is not on its way");
      return before;
    case prefetch_word::started:
      if (is_open) note(key, word, "it is on its way already");
      if (is_too_soon) note(key, word, "that is too soon");
      if (rest != ledger_.rests_until.end() && to < rest->second) note(key, word, "the store has no room");
      return ledger_.begin(whose, preferred, from, to);
    case prefetch_word::suppressed:
      if (is_open) note(key, word, "it is on its way");
      if (!may_be_too_soon && !may_have_given_up && !may_be_full && !ledger_.pressed.contains(backend)) note(key, word, "for no reason");
      return nullptr;
    default: note(key, word, "that is no answer"); return nullptr;
  }
}

void promotion_stage::judge_all(client& by, time_point to, bool may_be_full, std::span<const wanted> needs) {
  for (std::size_t i = 0; i < by.texts.size(); ++i) {
    const bool exists = by.answer.results[i] == core::exist_result::exists;
    if (exists != (needs[i] != wanted::missing)) ledger_.note(by.texts[i] + (exists ? " is said to be there" : " is said to be missing"));
    by.of.push_back(judge({by.backend, std::string(by.request.tenant), by.texts[i]}, needs[i], by.answer.words[i],
                          std::string(by.request.preferred), by.asked, to, may_be_full));
    may_be_full = may_be_full || by.answer.words[i] == prefetch_word::started;
  }
  by.first = by.answer.words;
}

/// The answer to one that has waited.
void promotion_stage::check(const client& by) {
  const steady::time_point now = steady::now();
  const auto until = by.asked + std::min<steady::duration>(std::chrono::milliseconds(by.request.wait_ms), by.longest);
  const bool is_early = now < until && !by.where.tasks.is_leaving();
  for (std::size_t i = 0; i < by.texts.size(); ++i) {
    const prefetch_word word = by.answer.words[i];
    if (!by.of[i]) {
      const bool is_brought_by_others = by.first[i] == prefetch_word::joined && word == prefetch_word::failed;
      if (word != by.first[i] && !is_brought_by_others) note(by.texts[i], word, "nobody waited for that");
      continue;
    }
    const flight& mine = *by.of[i];
    const bool may_have_given_up = mine.at == flight::stage::wished && now >= mine.wished_from + settings_.prefetch_deadline;
    const bool is_open = mine.is_open() && !may_have_given_up;
    if (word != prefetch_word::failed && word != by.first[i]) note(by.texts[i], word, "another word at last");
    if (is_open && is_early) note(by.texts[i], word, "it is on its way, and there was time");
    if (is_open && word == prefetch_word::failed && !by.where.tasks.is_leaving()) note(by.texts[i], word, "it has not ended");
    if (mine.at != flight::stage::ended || !mine.is_sure) continue;
    if (mine.is_done() == (word == prefetch_word::failed)) note(by.texts[i], word, mine.is_done() ? "it has come" : "it has not come");
  }
}

}  // namespace kvc::test

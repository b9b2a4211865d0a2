#include "net/stream_rules_of.hpp"

namespace kvc::net {
namespace {

constexpr int idle_checks_per_tail_check = 10;

}  // namespace

core::stream_rules stream_rules_of(const core::registration& from, const stream_settings& settings) {
  core::stream_rules rules;
  rules.has_replay = !from.replay_endpoint.empty();
  rules.first = core::first_seqno(from.type, rules.has_replay);
  rules.replay.attempts = settings.replay_attempts;
  rules.replay_timeout = settings.replay_timeout;
  rules.idle_check = settings.idle_check;
  rules.tail_check = idle_checks_per_tail_check * settings.idle_check;
  rules.stale_after = settings.stale_after;
  rules.evict_after = settings.evict_after;
  rules.expects_idle = from.expects_idle;
  rules.after_loss = from.after_loss.value_or(settings.after_loss);
  return rules;
}

}  // namespace kvc::net

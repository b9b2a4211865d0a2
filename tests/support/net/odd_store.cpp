#include "tests/support/net/odd_store.hpp"

#include <algorithm>
#include <cstdlib>
#include <iterator>
#include <new>
#include <optional>

#include <boost/asio/error.hpp>
#include <boost/asio/redirect_error.hpp>
#include <boost/asio/steady_timer.hpp>
#include <boost/asio/this_coro.hpp>
#include <boost/asio/use_awaitable.hpp>

#include "net/master_answers.hpp"

namespace kvc::test {
namespace {

using steady = std::chrono::steady_clock;
using core::replica_kind;
using core::replica_state;

std::string decoded(std::string_view text) {
  std::string plain;
  for (std::size_t i = 0; i < text.size(); ++i) {
    if (text[i] != '%') {
      plain += text[i];
      continue;
    }
    plain += static_cast<char>(std::strtoul(std::string(text.substr(i + 1, 2)).c_str(), nullptr, 16));
    i += 2;
  }
  return plain;
}

std::string in_quotes(std::string_view text) {
  std::string made = "\"";
  for (const char each : text) {
    if (each == '"' || each == '\\') made += '\\';
    made += each;
  }
  return made + "\"";
}

std::string entry_of(const odd_object& what) {
  if (!what.is_anywhere()) return R"({"ok":false,"error":"OBJECT_NOT_FOUND"})";
  const auto list = [](bool is_there, std::string_view status) {
    return is_there ? R"([{"size_":10,"transport_endpoint_":"10.0.0.1:6000","status":")" + std::string(status) + "\"}]" : std::string("[]");
  };
  const std::string in_memory = what.memory ? list(true, "COMPLETE") : list(what.is_coming, "PROCESSING");
  return R"({"ok":true,"values":)" + in_memory + R"(,"disk_values":)" + list(what.disk, "COMPLETE") + R"(,"local_disk_values":)" +
         list(what.local_disk, "COMPLETE") + "}";
}

/// One medium, as the envelopes tell it.
core::event envelope(const odd_thing& about, core::medium_id medium, bool is_there, net::event_form form, const std::string& model) {
  using change = core::object_event::change;
  core::event_scope scope;
  scope.tenant = about.tenant;
  scope.object_key = about.key;
  scope.medium = medium;
  if (form == net::event_form::mooncake_branch) {
    scope.model = model;
    scope.block_size = odd_block_size;
  }
  if (about.block != 0 && is_there) {
    core::stored_event stored;
    stored.scope = scope;
    stored.hashes = {core::engine_hash{about.block}};
    return stored;
  }
  if (about.block != 0) {
    core::removed_event removed;
    removed.scope = scope;
    removed.hashes = {core::engine_hash{about.block}};
    return removed;
  }
  core::object_event moved;
  moved.scope = scope;
  moved.what = is_there ? change::stored : change::removed;
  return moved;
}

/// All replicas, as the first form lists them.
core::event list_of(const odd_thing& about, const odd_object& what, bool is_new) {
  using change = core::object_event::change;
  core::object_event listed;
  listed.scope.object_key = about.key;
  listed.what = is_new && about.block != 0 ? change::stored : change::updated;
  if (about.block != 0) listed.name = core::engine_hash{about.block};
  if (what.memory) listed.replicas.push_back({core::medium_id::cpu, "10.0.0.1:6000", core::replica_kind::memory});
  if (what.disk) listed.replicas.push_back({core::medium_id::disk, "/disk", core::replica_kind::disk});
  if (what.local_disk) listed.replicas.push_back({core::medium_id::disk, "10.0.0.1:6000", core::replica_kind::local_disk});
  return listed;
}

}  // namespace

std::vector<core::event> events_of(const odd_thing& about, const odd_object& before, const odd_object& after, net::event_form form,
                                   const std::string& model) {
  using core::medium_id;
  if (form == net::event_form::mooncake_array) return {list_of(about, after, !before.is_anywhere())};
  const bool was_on_disk = before.disk || before.local_disk;
  const bool is_on_disk = after.disk || after.local_disk;
  std::vector<core::event> made;
  if (after.memory) made.push_back(envelope(about, medium_id::cpu, true, form, model));
  if (is_on_disk) made.push_back(envelope(about, medium_id::disk, true, form, model));
  if (form == net::event_form::mooncake_branch) {
    if (before.memory && !after.memory) made.push_back(envelope(about, medium_id::cpu, false, form, model));
    if (was_on_disk && !is_on_disk) made.push_back(envelope(about, medium_id::disk, false, form, model));
  } else if ((before.memory || was_on_disk) && !after.memory && !is_on_disk) {
    made.push_back(envelope(about, medium_id::cpu, false, form, model));
  }
  return made;
}

core::replica_set odd_object::set() const noexcept {
  core::replica_set all;
  if (memory) all.add(replica_kind::memory, replica_state::complete);
  if (!memory && is_coming) all.add(replica_kind::memory, replica_state::in_flight);
  if (disk) all.add(replica_kind::disk, replica_state::complete);
  if (local_disk) all.add(replica_kind::local_disk, replica_state::complete);
  return all;
}

std::string odd_store::answer_to(std::string_view target) {
  constexpr std::string_view keys_are = "?keys=";
  constexpr std::string_view tenant_is = "&tenant_id=";
  std::string_view list = target.substr(target.find(keys_are) + keys_are.size());
  const std::size_t end = list.find(tenant_is);
  const std::string tenant = end == std::string_view::npos ? "default" : decoded(list.substr(end + tenant_is.size()));
  const std::string keys = decoded(list.substr(0, end)) + ",";  // decoded before it is split, as the master does it
  std::string body = R"({"success":true,"data":{)";
  for (std::size_t from = 0; from < keys.size();) {
    const std::string key = keys.substr(from, keys.find(',', from) - from);
    from += key.size() + 1;
    if (chance(trouble / 4)) continue;
    const auto found = objects.find({tenant, key});
    const bool is_told = !chance(trouble / 4);
    const std::string entry = entry_of(found == objects.end() ? odd_object() : found->second);
    body += in_quotes(key) + ":" + (is_told ? entry : R"({"ok":false,"error":"INTERNAL_ERROR"})") + ",";
  }
  if (body.back() == ',') body.pop_back();
  return body + "}}";
}

net::asio::awaitable<bool> odd_mover::pause(std::chrono::microseconds how_long) {
  net::asio::steady_timer timer(home_.context, how_long);
  net::error_code woken;
  co_await timer.async_wait(net::asio::redirect_error(net::asio::use_awaitable, woken));
  const auto stopping = co_await net::asio::this_coro::cancellation_state;
  co_return !woken && stopping.cancelled() == net::asio::cancellation_type::none;
}

net::asio::awaitable<net::result<std::vector<net::placement>>> odd_mover::locate(const std::vector<std::string>& keys,
                                                                                 const std::string& tenant, steady::duration /*patience*/) {
  if (store_.shortages != 0) {
    --store_.shortages;
    throw std::bad_alloc();
  }
  ++store_.looks;
  store_.keys_asked += keys.size();
  const bool is_troubled = store_.chance(store_.trouble);
  const steady::time_point asked = steady::now();
  if (!co_await pause(store_.up_to(2'000))) co_return net::error_code(net::errc::cancelled);
  if (store_.is_away || (is_troubled && store_.chance(30))) {
    if (!co_await pause(store_.up_to(20'000))) co_return net::error_code(net::errc::cancelled);
    co_return net::error_code(net::errc::timed_out);
  }
  if (!store_.poison.empty() && std::ranges::find(keys, store_.poison) != keys.end()) co_return net::error_code(net::asio::error::eof);
  std::vector<std::string> listed;
  std::ranges::copy_if(keys, std::back_inserter(listed), [](const std::string& each) { return !net::goes_alone(each); });
  std::vector<net::placement> found(keys.size());
  if (listed.empty()) co_return found;
  const std::string body = is_troubled && store_.chance(30) ? "<html>" : store_.answer_to(net::locate_target({}, listed, tenant));
  // The answer is on its way, and what happens meanwhile it does not know.
  if (!co_await pause(store_.up_to(is_troubled ? 100'000 : 3'000))) co_return net::error_code(net::errc::cancelled);
  const auto read = net::read_placements(body, listed);
  if (!read) co_return net::error_code(net::errc::not_understood);
  auto next = read->begin();
  for (std::size_t i = 0; i < keys.size(); ++i) {
    if (net::goes_alone(keys[i])) continue;
    found[i] = *next++;
    found[i].asked = asked;
  }
  co_return found;
}

net::asio::awaitable<std::vector<net::promotion_outcome>> odd_mover::promote(const net::promotion_order& order,
                                                                             const net::promotion_progress& progress) {
  std::vector<net::promotion_outcome> outcomes(order.keys.size());
  for (std::size_t i = 0; i < order.keys.size(); ++i) {
    net::promotion_outcome& mine = outcomes[i];
    const bool is_troubled = store_.chance(store_.trouble);
    if (!co_await pause(store_.up_to(1'000))) co_return outcomes;
    mine.reason = "trouble";
    if (store_.is_away || is_troubled || net::goes_alone(order.keys[i])) {
      if (store_.chance(30)) mine.what = net::promotion_result::rejected_pressure;
      continue;
    }
    const auto it = store_.objects.find({order.tenant, order.keys[i]});
    if (it != store_.objects.end() && it->second.local_disk) {
      it->second.memory = true;
      it->second.is_coming = false;
    }
    mine.seen.asked = steady::now();
    const std::string body = store_.answer_to(net::locate_target({}, {order.keys[i]}, order.tenant));
    if (!co_await pause(store_.up_to(store_.chance(10) ? 50'000 : 2'000))) co_return outcomes;
    const auto read = net::read_placements(body, {order.keys[i]});
    if (!read || !read->front().is_known) continue;
    const steady::time_point asked = mine.seen.asked;
    mine.seen = read->front();
    mine.seen.asked = asked;
    const core::replica_set there = mine.seen.set();
    mine.what = there.has(replica_kind::memory, replica_state::complete) ? net::promotion_result::accepted
                : there.has_complete()                                   ? net::promotion_result::unsupported
                                                                         : net::promotion_result::gone;
    if (store_.chance(50)) continue;
    const std::size_t place = i;
    progress(std::span(&place, 1), outcomes);
  }
  co_return outcomes;
}

}  // namespace kvc::test

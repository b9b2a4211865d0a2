#include "perf/sim_store_master.hpp"

#include <algorithm>
#include <charconv>
#include <chrono>
#include <utility>

#include <boost/asio/redirect_error.hpp>
#include <boost/asio/steady_timer.hpp>
#include <boost/asio/use_awaitable.hpp>

#include "net/answer_writer.hpp"
#include "perf/sim_store_wire.hpp"

namespace kvc::sim {
namespace {

namespace asio = boost::asio;

net::http_settings patient_settings() {
  net::http_settings settings;
  settings.handler_timeout = std::chrono::hours(1);  // what hangs hangs until whoever asked gives up
  return settings;
}

net::http_reply reply_of(unsigned status, std::string body, net::wire_form form = net::wire_form::json) {
  net::http_reply reply;
  reply.status = status;
  reply.form = form;
  reply.body = std::move(body);
  return reply;
}

bool is_for_leaders(std::string_view path) {
  return path == "/batch_query_keys" || path == "/query_key" || path == "/get_all_keys";
}

}  // namespace

store_master::store_master(store_world& world, std::size_t index) : world_(world), index_(index) {}

store_master::~store_master() = default;

std::string store_master::open(net::runtime& lanes) {
  const store_options& chosen = world_.chosen;
  http_ = std::make_unique<net::http_server>(lanes, *this, patient_settings());
  const auto nth = [&](std::uint16_t first) { return static_cast<std::uint16_t>(first == 0 ? 0 : first + index_); };
  if (const auto failure = http_->listen(chosen.host, nth(chosen.port))) return failure->message();
  if (const auto failed = world_.publishers[index_]->open(chosen.host, nth(chosen.events_port))) {
    return "cannot publish on " + chosen.host + ": " + failed.message();
  }
  const std::string host = chosen.host.find(':') == std::string::npos ? chosen.host : "[" + chosen.host + "]";
  world_.urls.push_back("http://" + host + ":" + std::to_string(http_->ports().front()));
  http_->start();
  return {};
}

net::http_plan store_master::plan(const net::http_request&) {
  net::http_plan planned;
  planned.waits = true;
  return planned;
}

net::http_reply store_master::answer_now(net::lane&, const net::http_request& request, const net::http_plan&) {
  return carry_out(request, false);
}

asio::awaitable<net::http_reply> store_master::answer(net::lane&, const net::http_request& request, const net::http_plan&) {
  store_fault fault{};
  bool is_odd = false;
  if (!request.path.starts_with("/sim/")) {
    is_odd =
        request.path == "/batch_query_keys"
            ? world_.happens({store_fault::hang, store_fault::error, store_fault::garbage, store_fault::slow, store_fault::partial}, fault)
            : world_.happens({store_fault::hang, store_fault::error, store_fault::garbage, store_fault::slow}, fault);
  }
  if (!is_odd) co_return carry_out(request, false);
  boost::system::error_code woken;
  if (fault == store_fault::hang) {
    co_await world_.release.async_wait(asio::redirect_error(asio::use_awaitable, woken));
    co_return reply_of(503, R"({"success":false,"error":"stopping"})");
  }
  if (fault == store_fault::error) co_return reply_of(500, R"({"success":false,"error":"the metadata are not there"})");
  if (fault == store_fault::garbage) co_return reply_of(200, "<html>welcome to the proxy</html>");
  if (fault == store_fault::slow) {
    const auto pause = std::chrono::duration_cast<std::chrono::steady_clock::duration>(std::chrono::duration<double>(world_.chosen.slow_s));
    asio::steady_timer timer(world_.home.context, pause);
    co_await timer.async_wait(asio::redirect_error(asio::use_awaitable, woken));
  }
  co_return carry_out(request, fault == store_fault::partial);
}

net::http_reply store_master::carry_out(const net::http_request& request, bool is_partial) {
  constexpr std::string_view by_hand = "/sim/";
  if (request.path.starts_with(by_hand)) return act(request.path.substr(by_hand.size()), request);
  if (request.method != "GET") return reply_of(404, R"({"success":false,"error":"Not Found"})");
  if (request.path == "/health") return reply_of(200, "OK", net::wire_form::text);
  if (request.path == "/metrics") return reply_of(200, store_metrics(world_.storage), net::wire_form::text);
  if (request.path == "/leader") return tell_leader();
  if (request.path == "/kv_events/status") return tell_status();
  if (is_for_leaders(request.path) && world_.leader() != index_) {
    ++world_.counts.refused_as_follower;
    return reply_of(503, R"({"success":false,"error":"not the leader"})");
  }
  world_.storage.advance(world_.now());
  world_.tell();
  if (request.path == "/batch_query_keys") return batch_query(request.parameter("keys"), is_partial);
  if (request.path == "/query_key") return query_key(raw_parameter(request.raw_query, "key"));
  if (request.path == "/get_all_keys") return all_keys();
  return reply_of(404, R"({"success":false,"error":"Not Found"})");
}

net::http_reply store_master::batch_query(std::string_view list, bool is_partial) {
  const auto keys = split_keys(list);
  store_counts& counts = world_.counts;
  ++counts.batch_queries;
  counts.keys_queried += keys.size();
  counts.longest_query = std::max<std::uint64_t>(counts.longest_query, keys.size());
  if (keys.empty()) return reply_of(400, R"({"success":false,"error":"No keys provided. Use ?keys=key1,key2,..."})");
  if (keys.size() > store_most_keys) {
    world_.complain("a query for " + std::to_string(keys.size()) + " keys at once");
    return reply_of(400, R"({"success":false,"error":"more than 128 keys"})");
  }
  world_.news.cancel();
  return reply_of(200, store_batch_answer(world_.storage, keys, is_partial));
}

net::http_reply store_master::query_key(std::string_view key) {
  store_storage& storage = world_.storage;
  ++world_.counts.look_ups;
  store_fault fault{};
  const bool is_odd =
      world_.happens({store_fault::ignore, store_fault::late, store_fault::revoke, store_fault::rival, store_fault::vanish}, fault);
  const store_trick trick = !is_odd                        ? store_trick::none
                            : fault == store_fault::ignore ? store_trick::ignored
                            : fault == store_fault::late   ? store_trick::late
                            : fault == store_fault::revoke ? store_trick::revoked
                                                           : store_trick::none;
  const store_promotion came = storage.look_up(key, world_.now(), trick);
  world_.counts.promotions_started += came == store_promotion::started ? 1 : 0;
  const store_storage::object* what = storage.find(key);
  const char* absence = store_absence(what);
  net::http_reply reply =
      absence != nullptr ? reply_of(404, absence, net::wire_form::text) : reply_of(200, store_key_answer(*what), net::wire_form::text);
  if (is_odd && fault == store_fault::rival) storage.put_again(key, world_.now());
  if (is_odd && fault == store_fault::vanish) storage.remove(key);
  world_.tell();
  world_.news.cancel();
  return reply;
}

net::http_reply store_master::tell_leader() const {
  if (!world_.leader()) return reply_of(503, R"({"error":"no leader yet"})");
  std::string text;
  net::answer_writer out(text, net::wire_form::json);
  out.object();
  out.member("leader", world_.urls[*world_.leader()]);
  out.end_object();
  return reply_of(200, std::move(text));
}

net::http_reply store_master::tell_status() const {
  const store_publisher& speaker = *world_.publishers[index_];
  std::string text;
  net::answer_writer out(text, net::wire_form::json);
  out.object();
  out.member("published_batches", speaker.batches());
  out.member("published_events", speaker.events());
  out.member("dropped_events", speaker.dropped());
  out.member("next_sequence", speaker.next_seqno());
  out.end_object();
  return reply_of(200, std::move(text));
}

net::http_reply store_master::all_keys() const {
  std::string text;
  for (const auto& [key, what] : world_.storage.all()) text.append(key).append("\n");
  return reply_of(200, std::move(text), net::wire_form::text);
}

net::http_reply store_master::act(std::string_view action, const net::http_request& request) {
  store_storage& storage = world_.storage;
  const std::string_view key = request.parameter("key");
  const auto now = world_.now();
  bool is_done = true;
  if (action == "put") {
    is_done = storage.put(key, world_.chosen.object_bytes, now);
  } else if (action == "put_again") {
    is_done = storage.put_again(key, now);
  } else if (action == "evict") {
    is_done = storage.evict(key, now);
  } else if (action == "remove") {
    is_done = storage.remove(key);
  } else if (action == "remove_all") {
    storage.remove_all();
  } else if (action == "pressure" || action == "relief") {
    storage.set_pressure(action == "pressure");
  } else if (action == "depose") {
    world_.depose();
  } else if (action == "elect") {
    const std::string_view which = request.parameter("master");
    std::size_t master = world_.publishers.size();
    std::from_chars(which.data(), which.data() + which.size(), master);
    is_done = master < world_.publishers.size();
    if (is_done) world_.elect(master);
  } else {
    return reply_of(404, R"({"success":false,"error":"no such action"})");
  }
  world_.tell();
  return is_done ? reply_of(200, R"({"success":true})") : reply_of(409, R"({"success":false})");
}

}  // namespace kvc::sim

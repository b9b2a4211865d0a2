// What a stand-in MP server answers to the coordinator, and every way in which it can fail to.
#include <charconv>
#include <utility>

#include <boost/asio/redirect_error.hpp>
#include <boost/asio/use_awaitable.hpp>

#include "perf/sim_mp_server.hpp"

namespace kvc::sim {
namespace {

/// Most keys that an MP server takes in one deletion. (Source: spec coordinator-api, section 6.)
constexpr std::size_t most_keys = 10'000;

net::http_reply reply_of(unsigned status, std::string body) {
  net::http_reply reply;
  reply.status = status;
  reply.body = std::move(body);
  return reply;
}

}  // namespace

net::http_plan mp_server::plan(const net::http_request&) {
  net::http_plan planned;
  planned.waits = true;
  return planned;
}

net::http_reply mp_server::answer_now(net::lane&, const net::http_request& request, const net::http_plan&) {
  return carry_out(request, false);
}

asio::awaitable<net::http_reply> mp_server::answer(net::lane&, const net::http_request& request, const net::http_plan&) {
  const bool is_deletion = request.method == "DELETE" && request.path == "/cache/objects";
  const bool is_listing = request.method == "GET" && request.path == "/cache/objects";
  const std::uint64_t changes = world_.coordinator_changes;
  mp_fault fault{};
  bool is_odd = false;
  if (is_deletion) {
    is_odd = world_.happens({mp_fault::hang, mp_fault::error, mp_fault::garbage, mp_fault::partial, mp_fault::slow, mp_fault::deregister},
                            fault);
  } else if (is_listing) {
    is_odd = world_.happens({mp_fault::hang, mp_fault::error, mp_fault::garbage, mp_fault::partial, mp_fault::slow}, fault);
  } else {
    is_odd = world_.happens({mp_fault::hang, mp_fault::error, mp_fault::garbage, mp_fault::slow}, fault);
  }
  if (!is_odd) co_return carry_out(request, false);

  const bool is_undone = fault == mp_fault::hang || fault == mp_fault::error || fault == mp_fault::garbage;
  if (is_undone && is_deletion) {
    const auto keys = mp_read_deletion(request.body);
    if (keys) {
      ++world_.counts.deletion_requests;
      world_.note_deletion(*keys);
    }
  }
  boost::system::error_code woken;
  if (fault == mp_fault::hang) {
    co_await world_.release.async_wait(asio::redirect_error(asio::use_awaitable, woken));
    co_return reply_of(503, R"({"detail":"stopping"})");
  }
  if (fault == mp_fault::error) co_return reply_of(500, R"({"detail":"the storage is not there"})");
  if (fault == mp_fault::garbage) co_return reply_of(200, "<html>welcome to the proxy</html>");
  if (fault == mp_fault::slow) {
    const auto pause = std::chrono::duration_cast<std::chrono::steady_clock::duration>(std::chrono::duration<double>(world_.chosen.slow_s));
    asio::steady_timer timer(world_.home.context, pause);
    co_await timer.async_wait(asio::redirect_error(asio::use_awaitable, woken));
    // Whoever asked for this page is gone, and the model must not take it for one that the next coordinator has.
    if (is_listing && changes != world_.coordinator_changes) co_return reply_of(503, R"({"detail":"stopping"})");
  }
  if (fault == mp_fault::deregister) world_.home.tasks.spawn("mp server leaves", leave_meanwhile(who_.instance_id));
  co_return carry_out(request, fault == mp_fault::partial);
}

asio::awaitable<void> mp_server::leave_meanwhile(std::string instance_id) {
  const std::uint64_t changes = world_.coordinator_changes;
  net::http_client own(world_.home.context.get_executor(), world_.chosen.coordinator_host, world_.chosen.coordinator_port);
  const auto answered = co_await own.call("DELETE", "/instances/" + instance_id, {}, mp_patience);
  ++world_.counts.deregistrations;
  const bool is_cut = !answered && changes != world_.coordinator_changes;
  if (!is_cut && (!answered || answered->status != 204)) world_.complain("DELETE /instances was not answered 204");
  // The next heartbeat finds out and registers again.
}

net::http_reply mp_server::carry_out(const net::http_request& request, bool is_partial) {
  constexpr std::string_view prefetches = "/cache/prefetches/";
  if (request.path == "/cache/objects" && request.method == "DELETE") return delete_objects(request.body, is_partial);
  if (request.path == "/cache/objects" && request.method == "GET") return list_objects(request, is_partial);
  if (request.path == "/cache/prefetches" && request.method == "POST") return submit_prefetch(request.body);
  if (request.path.starts_with(prefetches) && request.method == "GET") return poll_prefetch(request.path.substr(prefetches.size()));
  return reply_of(404, R"({"detail":"Not Found"})");
}

net::http_reply mp_server::delete_objects(std::string_view body, bool is_partial) {
  const auto keys = mp_read_deletion(body);
  mp_counts& counts = world_.counts;
  ++counts.deletion_requests;
  if (!keys || keys->empty() || keys->size() > most_keys) {
    world_.complain("a deletion of " +
                    (keys ? std::to_string(keys->size()) + " keys" : "what cannot be read: " + std::string(body.substr(0, 200))));
    return reply_of(keys ? 400 : 422, R"({"detail":"1 to 10000 keys"})");
  }
  counts.keys_asked += keys->size();
  counts.longest_request = std::max<std::uint64_t>(counts.longest_request, keys->size());
  world_.note_deletion(*keys);
  const std::size_t todo = is_partial ? keys->size() / 2 : keys->size();
  std::size_t deleted = 0;
  for (std::size_t i = 0; i < todo; ++i) {
    deleted += world_.storage.erase((*keys)[i]) ? 1 : 0;
    // Told even when it was not there, as deletions in a bucket are: else nobody would ever hear that it is gone.
    tell_of(mp_event::kind::remove, (*keys)[i], 0);
  }
  counts.deleted += deleted;
  std::string answer = "{\"deleted\":" + std::to_string(deleted) + ",\"skipped\":" + std::to_string(todo - deleted);
  answer += is_partial ? R"(,"ok":false,"error":"the adapter gave up half-way"})" : R"(,"ok":true})";
  return reply_of(200, std::move(answer));
}

net::http_reply mp_server::list_objects(const net::http_request& request, bool is_partial) {
  std::size_t page_size = 1'000;
  const std::string_view wanted = request.parameter("page_size");
  std::from_chars(wanted.data(), wanted.data() + wanted.size(), page_size);
  std::optional<std::string> token;
  for (const auto& [name, value] : request.query) {
    if (name == "page_token") token = value;
  }
  auto page = world_.storage.list(token, page_size);
  if (!page || page_size == 0) return reply_of(400, R"({"detail":"bad page_token or page_size"})");
  if (is_partial && token) page->next = token;
  mp_counts& counts = world_.counts;
  ++counts.pages;
  counts.listed += page->entries.size();
  if (!world_.last_page_served) {
    for (std::size_t i = is_partial ? 1 : 0; i < page->entries.size(); ++i) {
      world_.model.seed(page->entries[i].key, page->entries[i].bytes);
    }
    if (!page->next) world_.last_page_served = true;
  }
  world_.news.cancel();
  return reply_of(200, mp_listing(*page, is_partial));
}

net::http_reply mp_server::submit_prefetch(std::string_view body) {
  if (!mp_read_text(body, "model_name") || !mp_read_number(body, "world_size") || !mp_read_text(body, "cache_salt")) {
    world_.complain("a prefetch without its fields: " + std::string(body.substr(0, 200)));
    return reply_of(422, R"({"detail":"fields are missing"})");
  }
  constexpr std::size_t most_remembered = 1'000;
  if (prefetches_.size() >= most_remembered) prefetches_.erase(prefetches_.begin());
  const std::string id = "prefetch-" + std::to_string(++prefetch_count_);
  prefetches_[id] = 1 + world_.random.below(2);
  return reply_of(202, R"({"request_id":")" + id + R"(","chunks":4,"status":"submitted"})");
}

net::http_reply mp_server::poll_prefetch(std::string_view request_id) {
  const auto found = prefetches_.find(std::string(request_id));
  if (found == prefetches_.end()) return reply_of(404, R"({"detail":"unknown request_id"})");
  if (--found->second > 0) return reply_of(200, R"({"status":"pending","request_id":")" + found->first + "\"}");
  prefetches_.erase(found);  // the poll that sees the end is the last one that is answered
  return reply_of(200, R"({"status":"completed","found_keys":4,"total_keys":4})");
}

}  // namespace kvc::sim

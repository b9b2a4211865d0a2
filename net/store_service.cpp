#include "net/store_service.hpp"

#include <algorithm>
#include <optional>
#include <string_view>
#include <utility>

#include <boost/asio/bind_cancellation_slot.hpp>
#include <boost/asio/cancellation_signal.hpp>
#include <boost/asio/co_spawn.hpp>
#include <boost/asio/post.hpp>
#include <boost/asio/use_awaitable.hpp>

#include "net/answer_writer.hpp"
#include "net/exist_wait.hpp"
#include "net/http_auth.hpp"
#include "net/http_reply.hpp"
#include "net/http_router.hpp"
#include "net/lmcache_executor.hpp"
#include "net/log.hpp"
#include "net/master_executor.hpp"
#include "net/webhook_executor.hpp"

namespace kvc::net {
namespace {

using core::exist_result;

enum handler : std::uint8_t { probe, add_store, show_stores, drop_store };

constexpr std::string_view probe_path = "/exist";
constexpr std::string_view stores_path = "/stores";

/// What is answered for a key; the numbers are the store's own.
constexpr std::int64_t code_of(exist_result result) noexcept {
  switch (result) {
    case exist_result::exists: return 1;
    case exist_result::missing: return 0;
    case exist_result::invalid_key: return -600;
    case exist_result::unavailable: return -2000;
    case exist_result::internal: break;
  }
  return -1;
}

core::object_table::options table_options(const store_settings& settings) {
  core::object_table::options with;
  with.longest_key = settings.max_key_bytes;
  with.most_objects = settings.max_objects;
  return with;
}

/// The body of a registration, read.
struct store_body {
  request_document document;
  store_registration wanted;
  checked wrong;

  void read(const http_request& request) {
    wrong = document.read(request.body, request.body_form, request_document::shape::single);
    if (!wrong) wrong = read_store(document, document.items().front(), wanted);
  }
};

}  // namespace

struct store_service::scratch {
  explicit scratch(object_shelves& objects, promotion_service& promotions, store_reconciler& truth, std::size_t longest_key)
      : lookup(objects, promotions, truth, longest_key) {}

  request_document document;
  exist_request request;
  checked wrong;         ///< with the request
  bool is_read = false;  ///< both are of the request that is answered next
  exist_answer answer;
  exist_lookup lookup;
};

store_service::store_service(runtime& lanes, store_settings settings)
    : lanes_(lanes),
      settings_(std::move(settings)),
      objects_(table_options(settings_)),
      truth_(lanes.at(0), objects_, settings_),
      promotions_(lanes.at(0), objects_, settings_, truth_),
      queries_(objects_, promotions_, truth_, settings_, lanes.size()) {
  objects_.call_on_doubt([this](std::uint32_t backend, const std::string& tenant, std::vector<std::string> keys) {
    truth_.doubt(backend, tenant, std::move(keys));
  });
  // A store that has begun anew has lost what was promoted, and may have it promoted again.
  objects_.call_on_loss([this](std::uint32_t backend) { promotions_.forget(backend); });
  truth_.call_on_return([this](std::uint32_t backend) { promotions_.forget_ends(backend); });
  for (std::size_t i = 0; i < lanes_.size(); ++i) {
    scratches_.push_back(std::make_unique<scratch>(objects_, promotions_, truth_, settings_.max_key_bytes));
  }
}

store_service::~store_service() = default;

bool is_store_path(std::string_view path) noexcept {
  return path == probe_path || path == stores_path || (path.starts_with(stores_path) && path[stores_path.size()] == '/');
}

void store_service::start(std::vector<store_registration> configured) {
  asio::post(lanes_.at(0).context, [this, configured = std::move(configured)] {
    for (const store_registration& each : configured) {
      if (!add(each)) log::error(log::module::stream, "no room for a configured store", {{"backend", each.backend}});
    }
  });
}

http_plan store_service::plan(const http_request& head) {
  http_plan planned;
  const bool is_probe = head.path == probe_path;
  const bool is_one = head.path.size() > stores_path.size() && !is_probe;
  planned.counter = is_probe ? core::route::exist : core::route::stores;
  planned.waits = !is_probe;
  const bool is_get = head.method == "GET" || head.method == "HEAD";
  access needed = access::write;
  if (is_probe && head.method == "POST") {
    planned.handler = probe;
    needed = access::read;
  } else if (!is_probe && !is_one && head.method == "POST") {
    planned.handler = add_store;
  } else if (!is_probe && !is_one && is_get) {
    planned.handler = show_stores;
    needed = access::read;
  } else if (is_one && head.method == "DELETE") {
    planned.handler = drop_store;
  } else {
    planned.refusal = wrong_method_reply(is_probe ? "POST" : is_one ? "DELETE" : "GET, HEAD, POST", head.answer_form);
    return planned;
  }
  const checked denied = check_access(needed, head.authorization, settings_.auth_tokens, settings_.auth_read_tokens);
  if (denied) planned.refusal = reply_with(*denied, head.answer_form);
  return planned;
}

bool store_service::has_to_wait(lane& here, const http_request& request, const http_plan& plan) {
  if (plan.handler != probe) return false;
  if (request.body.size() > most_read_by_lane) return true;
  scratch& reused = *scratches_[here.index()];
  reused.wrong = read_probe(request, reused);
  const bool waits = !reused.wrong && reused.request.wait_ms != 0;
  reused.is_read = !waits;
  return waits;
}

checked store_service::read_probe(const http_request& request, scratch& with) const {
  checked wrong;
  if (request.body_form != wire_form::json || !scan_exist(request.body, settings_.exist_max_keys, with.request)) {
    wrong = with.document.read(request.body, request.body_form, request_document::shape::single_of_bytes);
    if (!wrong) wrong = read_exist(with.document, settings_.exist_max_keys, with.request);
  }
  // Whoever may only look may not have objects moved either.
  if (wrong || !with.request.prefetch) return wrong;
  return check_access(access::write, request.authorization, settings_.auth_tokens, settings_.auth_read_tokens);
}

http_reply store_service::probe_reply(lane& here, const scratch& from, wire_form form) const {
  std::array<std::uint64_t, core::exist_result_count> sums{};
  for (const exist_result each : from.answer.results) ++sums[static_cast<std::size_t>(each)];
  for (std::size_t i = 0; i < sums.size(); ++i) {
    if (sums[i] != 0) here.counters.probes[i].add(sums[i]);
  }
  std::string body;
  body.reserve(from.answer.results.size() * (from.request.prefetch ? 12 : 3) + 32);
  answer_writer out(body, form);
  out.object(from.request.prefetch ? 2 : 1);
  out.key("exists");
  if (from.request.is_single) {
    out.signed_number(code_of(from.answer.results.front()));
  } else {
    out.list(from.answer.results.size());
    for (const exist_result each : from.answer.results) out.signed_number(code_of(each));
    out.end_list();
  }
  if (from.request.prefetch) {
    out.key("prefetch");
    if (!from.request.is_single) out.list(from.answer.words.size());
    for (const prefetch_word each : from.answer.words) out.text(prefetch_words[static_cast<std::size_t>(each)]);
    if (!from.request.is_single) out.end_list();
  }
  out.end_object();
  return ok_reply(std::move(body), form);
}

http_reply store_service::answer_now(lane& here, const http_request& request, const http_plan& plan) {
  if (plan.handler != probe) return reply_with(refusal{refusal_kind::unsupported, "this route has to be waited for"}, request.answer_form);
  scratch& reused = *scratches_[here.index()];
  if (!std::exchange(reused.is_read, false)) reused.wrong = read_probe(request, reused);
  if (reused.wrong) return reply_with(*reused.wrong, request.answer_form);
  reused.lookup.run(reused.request, reused.answer);
  return probe_reply(here, reused, request.answer_form);
}

/// Memory of its own, because other probes of the lane are answered meanwhile.
asio::awaitable<http_reply> store_service::answer_alone(lane& here, const http_request& request) {
  auto own = std::make_unique<scratch>(objects_, promotions_, truth_, settings_.max_key_bytes);
  const bool is_long = request.body.size() > most_read_by_lane;
  own->wrong = co_await beside_.run_if(is_long, [&] { return read_probe(request, *own); });
  http_reply reply;
  if (own->wrong) {
    reply = reply_with(*own->wrong, request.answer_form);
  } else {
    co_await look_and_wait(here, promotions_, own->lookup, own->request, own->answer, settings_.exist_wait);
    reply = probe_reply(here, *own, request.answer_form);
  }
  if (is_long) beside_.drop(std::move(own));  // giving it back takes its time as well
  co_return reply;
}

asio::awaitable<http_reply> store_service::answer(lane& here, const http_request& request, const http_plan& plan) {
  if (plan.handler == probe) co_return co_await answer_alone(here, request);
  lane& home = lanes_.at(0);
  if (&here == &home) co_return co_await carry_out(request, plan.handler);
  // The request outlives the call, and the caller waits.
  co_return co_await asio::co_spawn(home.context, carry_out(request, plan.handler),
                                    asio::bind_cancellation_slot(asio::cancellation_slot(), asio::use_awaitable));
}

asio::awaitable<http_reply> store_service::carry_out(const http_request& request, std::uint8_t handler) {
  switch (handler) {
    case add_store: co_return co_await register_store(request);
    case drop_store: co_return unregister_store(request);
    default: co_return list_stores(request);
  }
}

std::optional<store_service::added> store_service::add(const store_registration& wanted) {
  added outcome;
  const auto existing = stores_.find(wanted.backend);
  if (existing != stores_.end() && existing->second.as == wanted) return outcome;
  const std::optional<std::uint32_t> backend = objects_.keep(wanted.backend);
  if (!backend) return std::nullopt;
  outcome.changed = true;
  outcome.replaced = existing != stores_.end();
  lane& home = lanes_.at(0);
  const auto on = home.context.get_executor();
  std::unique_ptr<store_executor> executor;
  switch (wanted.type) {
    case store_type::mooncake_master: executor = std::make_unique<master_executor>(on, wanted.url, settings_); break;
    case store_type::lmcache: executor = std::make_unique<lmcache_executor>(on, wanted.url, wanted.world_size, settings_); break;
    case store_type::webhook: executor = std::make_unique<webhook_executor>(on, wanted.url, settings_); break;
  }
  promotions_.add_target(*backend, std::move(executor));
  queries_.note_token_store(*backend, wanted.type == store_type::lmcache);
  const std::shared_ptr<promotion_target> target = promotions_.target(*backend);
  stores_[wanted.backend] = {wanted, target};
  if (objects_.can_be_asked(*backend)) {
    if (outcome.replaced) objects_.doubt(*backend);  // another one, with other objects perhaps
    home.tasks.spawn("reconciliation", truth_.keep_true(target));
  } else if (outcome.replaced) {
    truth_.end_of(*backend);  // whoever was asked before, and may not have answered, has nothing to do with this one
    home.tasks.spawn("objects without a store", let_go(wanted.backend));
  }
  log::info(log::module::fleet, "store registered",
            {{"backend", wanted.backend}, {"type", to_string(wanted.type)}, {"url", wanted.url_text}});
  return outcome;
}

asio::awaitable<void> store_service::let_go(std::string backend) {
  lane& home = lanes_.at(0);
  while (!objects_.is_spoken_for(backend)) {
    // Another store may be registered by then, which is asked about what is left.
    if (objects_.forget_some(backend, 1)) co_return;
    co_await home.turns.next();
  }
  if (const auto number = objects_.find(backend)) objects_.doubt(*number);
}

asio::awaitable<http_reply> store_service::register_store(const http_request& request) {
  auto read = std::make_unique<store_body>();
  const bool is_long = request.body.size() > most_read_by_lane;
  (void)co_await beside_.run_if(is_long, [&] { return read->read(request), true; });
  const checked wrong = read->wrong;
  const store_registration wanted = std::move(read->wanted);
  if (is_long) beside_.drop(std::move(read));
  if (wrong) co_return reply_with(*wrong, request.answer_form);
  const std::optional<added> outcome = add(wanted);
  if (!outcome) co_return reply_with(refusal{refusal_kind::overloaded, "there are too many backends"}, request.answer_form);
  std::string body;
  answer_writer out(body, request.answer_form);
  out.object(4);
  out.member("status", "registered successfully");
  out.member("backend_id", wanted.backend);
  out.member("changed", outcome->changed);
  out.member("replaced", outcome->replaced);
  out.end_object();
  co_return ok_reply(std::move(body), request.answer_form);
}

http_reply store_service::unregister_store(const http_request& request) {
  const std::string_view backend = request.path.substr(stores_path.size() + 1);
  const auto found = stores_.find(backend);
  if (found == stores_.end()) {
    return reply_with(refusal{refusal_kind::service_not_found, "no store is registered for this backend", "backend_id"},
                      request.answer_form);
  }
  const std::uint32_t number = found->second.target->backend;
  promotions_.remove_target(number);
  objects_.release(number);
  truth_.end_of(number);
  queries_.note_token_store(number, false);
  lanes_.at(0).tasks.spawn("objects without a store", let_go(found->first));
  std::string body;
  answer_writer out(body, request.answer_form);
  out.object(2);
  out.member("status", "unregistered successfully");
  out.member("backend_id", found->first);
  out.end_object();
  log::info(log::module::fleet, "store unregistered", {{"backend", found->first}});
  stores_.erase(found);
  return ok_reply(std::move(body), request.answer_form);
}

http_reply store_service::list_stores(const http_request& request) const {
  std::string body;
  answer_writer out(body, request.answer_form);
  out.object(2);
  out.member("count", stores_.size());
  out.key("stores");
  out.list(stores_.size());
  for (const auto& [backend, each] : stores_) {
    const std::uint32_t number = each.target->backend;
    std::size_t objects = 0;
    objects_.read(number, [&](const core::object_table& table) {
      for (const std::uint32_t owner : table.owners_of(backend)) objects += table.objects_of(owner);
    });
    out.object(8);
    out.member("backend_id", backend);
    out.member("type", to_string(each.as.type));
    out.member("url", each.as.url_text);
    const std::optional<bool> is_reachable = truth_.last_look(number);
    out.key("reachable");
    is_reachable ? out.boolean(*is_reachable) : out.nothing();
    out.member("objects", objects);
    out.member("queued", each.target->queue.size());
    out.member("running", each.target->runners);
    out.member("refused_for_memory", each.target->executor->refused_for_memory());
    out.end_object();
  }
  out.end_list();
  out.end_object();
  return ok_reply(std::move(body), request.answer_form);
}

}  // namespace kvc::net

#include "perf/sim_store_demo.hpp"

#include <charconv>
#include <cstdio>
#include <numeric>
#include <utility>
#include <vector>

#include <boost/asio/use_awaitable.hpp>

#include "core/block_hasher.hpp"
#include "perf/sim_store_probe.hpp"

namespace kvc::sim {
namespace {

using steady = std::chrono::steady_clock;

constexpr std::uint32_t blocks = 4;
constexpr std::uint32_t block_size = 4;
constexpr std::uint32_t tokens = blocks * block_size;
constexpr std::string_view store_instance = "store-0";
constexpr std::string_view engine_instance = "engine-1";
/// How long the index may take to see that the pool's blocks are those of a prompt.
constexpr std::chrono::seconds index_patience{5};
/// How long what was promoted is left alone by default, and some more.
constexpr std::chrono::seconds suppression_patience{40};

store_options demo_options(store_options chosen) {
  chosen.generation = store_generation::array;
  chosen.masters = 1;
  chosen.objects = 0;
  chosen.model = "store-demo";
  chosen.backend = "demo-store";
  chosen.block_size = block_size;
  chosen.memory_objects = 64;
  chosen.rules.capacity = chosen.memory_objects * chosen.object_bytes;
  chosen.rules.lease = std::chrono::milliseconds(0);
  chosen.faults = 0;
  return chosen;
}

std::string key_of(std::uint32_t block) {
  return "demo-" + std::to_string(block + 1);
}

std::string probe_body(bool with_prefetch) {
  std::string body = R"({"keys":[)";
  for (std::uint32_t i = 0; i <= blocks; ++i) body += (i == 0 ? "\"" : ",\"") + key_of(i) + "\"";
  return body + (with_prefetch ? R"(],"prefetch":true})" : "]}");
}

std::string query_body(bool with_prefetch) {
  std::string body = R"({"model":"store-demo","block_size":4,"token_ids":[)";
  for (std::uint32_t i = 1; i <= tokens; ++i) body += (i == 1 ? "" : ",") + std::to_string(i);
  body += "]";
  if (with_prefetch) body += R"(,"instance_id":"engine-1","prefetch":true)";
  return body + "}";
}

/// A number of the engine's row in an answer to a query; 0 when there is none.
std::uint32_t in_row(const std::string& answer, std::string_view name) {
  const auto row = answer.find("\"" + std::string(engine_instance) + "\":{");
  const auto at = row == std::string::npos ? row : answer.find("\"" + std::string(name) + "\":", row);
  std::uint32_t value = 0;
  if (at != std::string::npos) std::from_chars(answer.data() + at + name.size() + 3, answer.data() + answer.size(), value);
  return value;
}

}  // namespace

store_demo::store_demo(const store_options& chosen)
    : base_("http://" + chosen.conductor_host + ":" + std::to_string(chosen.conductor_port)),
      store_(demo_options(chosen)),
      conductor_(store_.world().home.context.get_executor(), chosen.conductor_host, chosen.conductor_port) {}

store_demo::~store_demo() {
  store_.stop();
}

/// Asks on the store's lane, and tells the thread that waits, however it ends.
boost::asio::awaitable<void> store_demo::deliver(std::string method, std::string target, std::string body,
                                                 std::promise<net::result<net::http_client::answer>>& to) {
  struct delivery {
    std::promise<net::result<net::http_client::answer>>& to;
    net::result<net::http_client::answer> what = net::error_code(net::errc::cancelled);
    ~delivery() { to.set_value(std::move(what)); }
  };
  delivery at_end{.to = to};
  at_end.what = co_await conductor_.call(method, std::move(target), std::move(body), store_patience);
}

std::string store_demo::ask(std::string_view method, const std::string& target, const std::string& body) {
  if (!wrong_.empty()) return {};
  std::promise<net::result<net::http_client::answer>> answered;
  store_.at_home([&](store_world& world) { world.home.tasks.spawn("demo asks", deliver(std::string(method), target, body, answered)); });
  const auto answer = answered.get_future().get();
  const bool is_fine = answer && answer->status / 100 == 2;
  if (is_fine) return answer->body;
  wrong_ = std::string(method) + " " + target + ": " + (answer ? answer->body : answer.error().message());
  return {};
}

void store_demo::show(const std::string& target, const std::string& body, const std::string& answer) const {
  std::printf("$ curl -s %s%s -d '%s'\n%s\n\n", base_.c_str(), target.c_str(), body.c_str(), answer.c_str());
  std::fflush(stdout);  // whoever follows a file sees how far it has come
}

std::optional<std::string> store_demo::await(const std::string& target, const std::string& body,
                                             const std::function<bool(const std::string&)>& holds, steady::duration patience) {
  const auto deadline = steady::now() + patience;
  for (;;) {
    std::string answer = ask("POST", target, body);
    if (wrong_.empty() && holds(answer)) return answer;
    if (!wrong_.empty() || steady::now() > deadline) return std::nullopt;
    // What is not heard yet is missed once something follows it.
    store_.at_home([](store_world& world) { world.publishers[0]->beat(); });
  }
}

bool store_demo::is_heard(std::string_view instance) {
  const auto deadline = steady::now() + store_patience;
  while (wrong_.empty() && steady::now() < deadline) {
    store_.at_home([this](store_world& world) {
      world.publishers[0]->beat();
      engine_->publish({});
    });
    if (read_applied(ask("GET", "/services?instance_id=" + std::string(instance)), instance) > 0) return true;
  }
  return false;
}

std::string store_demo::set_up() {
  std::string wrong = store_.open();
  if (!wrong.empty()) return wrong;
  const store_options& chosen = store_.options();
  const auto failed = store_.at_home([this](store_world& world) {
    engine_ = std::make_unique<publisher>(transport_, world.home.context.get_executor(), net::event_form::vllm_map, hash_form::integer);
    const auto why = engine_->open(world.chosen.host);
    if (!why) world.home.tasks.spawn("demo engine's replays", engine_->serve_replays());
    return why;
  });
  if (failed) return "the engine cannot publish: " + failed.message();

  // The engine has computed nothing of the prompt; the store has all of it, and nothing of that in memory.
  std::vector<std::uint32_t> prompt(tokens);
  std::iota(prompt.begin(), prompt.end(), 1U);
  std::vector<core::local_hash> locals;
  std::vector<core::seq_hash> names;
  core::hash_blocks(prompt, block_size, core::default_hash_seed, locals);
  core::roll_from_root(locals, core::default_hash_seed, names);
  store_.at_home([&](store_world& world) {
    for (std::uint32_t i = 0; i < blocks; ++i) {
      auto block = std::make_shared<store_block>();
      block->name = core::engine_hash{names[i].get()};
      if (i > 0) block->parent = core::engine_hash{names[i - 1].get()};
      block->tokens.assign(prompt.begin() + i * block_size, prompt.begin() + (i + 1) * block_size);
      static_cast<void>(world.storage.put(key_of(i), world.chosen.object_bytes, world.now(), false, std::move(block)));
      world.storage.evict(key_of(i), world.now());
    }
    for (const char* each : {"hand-1", "hand-2"}) {
      static_cast<void>(world.storage.put(each, world.chosen.object_bytes, world.now()));
      world.storage.evict(each, world.now());
    }
  });
  static_cast<void>(ask("POST", "/register", store_publisher_body(chosen, store_instance, store_.endpoint(), store_.replay_endpoint())));
  static_cast<void>(ask("POST", "/register",
                        R"({"endpoint":")" + engine_->endpoint() + R"(","replay_endpoint":")" + engine_->replay_endpoint() +
                            R"(","type":"vLLM","modelname":"store-demo","instance_id":"engine-1","block_size":4,"dp_rank":0})"));
  static_cast<void>(ask("POST", "/stores", store_executor_body(chosen, store_.url())));
  if (!is_heard(store_instance) || !is_heard(engine_instance)) return wrong_.empty() ? "the conductor does not hear the store" : wrong_;
  return {};
}

/// By the keys of the objects, as a client of the store would.
std::string store_demo::show_probes() {
  const auto has = [](std::string_view part) {
    return [part](const std::string& answer) { return answer.find(part) != std::string::npos; };
  };
  const auto known = await("/exist", probe_body(false), has("[1,1,1,1,0]"));
  if (!known) return "the conductor does not know the store's objects";
  std::printf("Four objects are on the store's SSD, and a fifth is nowhere:\n\n");
  show("/exist", probe_body(false), *known);
  // The same objects may have been promoted a moment ago, in a show before this one.
  const auto asked = await(
      "/exist", probe_body(true), [](const std::string& answer) { return answer.find("suppressed") == std::string::npos; },
      suppression_patience);
  if (!asked) return wrong_.empty() ? "the conductor does not promote the objects" : wrong_;
  const auto began = steady::now();
  show("/exist", probe_body(true), *asked);
  const auto there = await("/exist", probe_body(true), has(R"(["none","none","none","none","none"])"));
  if (!there) return "the objects did not come to memory";
  std::printf("%lld ms later they are in memory, because somebody asked:\n\n",
              static_cast<long long>(std::chrono::duration_cast<std::chrono::milliseconds>(steady::now() - began).count()));
  show("/exist", probe_body(true), *there);
  return {};
}

/// By the prompt, as a router would, which sees tokens in memory (CPU) where there were some on disk.
std::string store_demo::show_queries() {
  const auto on_disk = await(
      "/query", query_body(false), [](const std::string& answer) { return in_row(answer, "DISK") == tokens; }, index_patience);
  if (!on_disk) return wrong_;  // an index that does not count shared pools: their objects are still found by their keys
  std::printf("The prompt is on the store's SSD, and %s can read it from there:\n\n", std::string(engine_instance).c_str());
  show("/query", query_body(false), *on_disk);
  const std::string asked = ask("POST", "/query", query_body(true));
  const auto began = steady::now();
  show("/query", query_body(true), asked);
  has_shown_ = true;
  // It is asked for again, as a router would: it may have been promoted a moment ago, in a show before this one.
  const auto there = await(
      "/query", query_body(true), [](const std::string& answer) { return in_row(answer, "CPU") == tokens; }, suppression_patience);
  if (!there) return wrong_.empty() ? "the prompt did not come to memory" : wrong_;
  std::printf("%lld ms later it is a hit in memory, because a router asked:\n\n",
              static_cast<long long>(std::chrono::duration_cast<std::chrono::milliseconds>(steady::now() - began).count()));
  show("/query", query_body(false), ask("POST", "/query", query_body(false)));
  return {};
}

std::string store_demo::run() {
  std::string wrong = set_up();
  if (wrong.empty()) wrong = show_queries();
  // What was promoted just now is left alone for a while, so that there is one show or the other.
  if (wrong.empty() && !has_shown_) wrong = show_probes();
  std::fflush(stdout);
  return wrong.empty() ? wrong_ : wrong;
}

std::string store_demo::example() const {
  return "curl -s " + base_ + R"(/exist -d '{"keys":["hand-1","hand-2","hand-3"],"prefetch":true}')";
}

void store_demo::leave() {
  static_cast<void>(ask("DELETE", "/stores/" + store_.options().backend));
  for (const std::string_view each : {store_instance, engine_instance}) {
    static_cast<void>(ask("POST", "/unregister", R"({"instance_id":")" + std::string(each) + "\"}"));
  }
}

}  // namespace kvc::sim

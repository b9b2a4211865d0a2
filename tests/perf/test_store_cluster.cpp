#include <chrono>
#include <cstdint>
#include <future>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

#include <boost/asio/co_spawn.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/use_future.hpp>
#include <boost/test/unit_test.hpp>

#include "net/event_codec.hpp"
#include "net/zmq_frames.hpp"
#include "net/zmq_socket.hpp"
#include "perf/sim_store_cluster.hpp"
#include "tests/support/net/raw_client.hpp"

BOOST_AUTO_TEST_SUITE(sim_store_cluster)

using namespace kvc;
using namespace std::chrono_literals;
namespace asio = boost::asio;

namespace {

sim::store_options small_store(sim::store_generation generation = sim::store_generation::master) {
  sim::store_options chosen;
  chosen.generation = generation;
  chosen.objects = 0;
  chosen.object_bytes = 10;
  chosen.memory_objects = 100;
  chosen.rules.capacity = 1'000;
  chosen.rules.lease = 0ms;
  return chosen;
}

/// A store that is up.
struct running_store {
  explicit running_store(const sim::store_options& chosen) : store(chosen) {
    const std::string wrong = store.open();
    BOOST_REQUIRE_MESSAGE(wrong.empty(), wrong);
  }

  test::raw_answer get(std::string_view target, std::size_t master = 0) { return ask("GET", target, master); }
  test::raw_answer post(std::string_view target, std::size_t master = 0) { return ask("POST", target, master); }
  test::raw_answer ask(std::string_view method, std::string_view target, std::size_t master) {
    const std::string& url = store.url(master);
    return test::ask(static_cast<std::uint16_t>(std::stoul(url.substr(url.rfind(':') + 1))), method, target, {}, {});
  }
  /// Asks again until the answer has this in it; false after 20 s.
  bool comes(std::string_view target, std::string_view part) {
    const auto deadline = std::chrono::steady_clock::now() + 20s;
    while (get(target).body.find(part) == std::string::npos) {
      if (std::chrono::steady_clock::now() > deadline) return false;
    }
    return true;
  }
  void put_on_ssd(const std::string& key) {
    store.at_home([&](sim::store_world& world) {
      BOOST_REQUIRE(world.storage.put(key, 10, world.now()));
      BOOST_REQUIRE(world.storage.evict(key, world.now()));
    });
  }

  sim::store_cluster store;
};

struct heard_batch {
  std::string topic;
  std::uint64_t number = 0;
  core::event_batch batch;
};

/// Subscribes, and asks for replays.
class listener {
 public:
  explicit listener(sim::store_cluster& store)
      : live_(transport_, context_.get_executor(), net::zmq_socket::kind::subscriber, {}),
        replay_(transport_, context_.get_executor(), net::zmq_socket::kind::dealer, {}) {
    BOOST_REQUIRE(!live_.connect(store.endpoint()));
    BOOST_REQUIRE(!live_.subscribe(""));
    if (!store.replay_endpoint().empty()) BOOST_REQUIRE(!replay_.connect(store.replay_endpoint()));
    // A subscription takes effect some time after it is asked for: beats until one arrives, then none of them is left on its way.
    std::uint64_t beats = 0;
    std::optional<heard_batch> heard;
    while (!heard) {
      beats = store.at_home([](sim::store_world& world) {
        world.publishers[0]->beat();
        return world.publishers[0]->next_seqno() - 1;
      });
      heard = receive(live_, 50ms, false);
    }
    while (heard->number != beats) heard = receive(live_, 20s, false);
  }

  std::optional<heard_batch> next() { return receive(live_, 20s, false); }
  /// Every batch from `first` on; nothing when there was no end.
  std::optional<std::vector<heard_batch>> replay(std::uint64_t first) {
    const net::replay_request request{core::seqno{first}};
    const auto frames = request.frames();
    BOOST_REQUIRE(!replay_.try_send(frames));
    std::vector<heard_batch> all;
    for (;;) {
      auto one = receive(replay_, 20s, true);
      if (!one) return std::nullopt;
      if (one->number == net::end_of_replay) return all;
      all.push_back(std::move(*one));
    }
  }

 private:
  std::optional<heard_batch> receive(net::zmq_socket& from, std::chrono::milliseconds patience, bool is_replay) {
    net::zmq_message message;
    context_.restart();
    auto done = asio::co_spawn(context_, from.receive(message, std::chrono::steady_clock::now() + patience), asio::use_future);
    context_.run();
    if (done.get()) return std::nullopt;
    net::batch_frames frames;
    if (is_replay) {
      const auto read = net::read_replay(message);
      BOOST_REQUIRE(read);
      if (read->is_end) return heard_batch{.topic = {}, .number = net::end_of_replay, .batch = {}};
      frames = read->batch;
    } else {
      const auto read = net::read_live(message);
      BOOST_REQUIRE(read);
      frames = *read;
    }
    net::event_decoder decoder(core::publisher_type::mooncake, media_);
    heard_batch heard{.topic = std::string(frames.topic), .number = frames.number.get(), .batch = {}};
    BOOST_REQUIRE(!decoder.decode(frames.payload, heard.batch));
    return heard;
  }

  asio::io_context context_{1};
  net::zmq_engine transport_;
  net::zmq_socket live_;
  net::zmq_socket replay_;
  core::medium_table media_;
};

}  // namespace

BOOST_AUTO_TEST_CASE(two_look_ups_bring_what_is_on_ssd_back_to_memory) {
  running_store running(small_store());
  running.put_on_ssd("4711");
  BOOST_TEST(running.get("/batch_query_keys?keys=4711,9").body.find(R"("4711":{"ok":true,"values":[],)") != std::string::npos);

  BOOST_TEST(running.get("/query_key?key=4711").status == 200);
  BOOST_TEST(running.get("/query_key?key=4711").body.empty());

  BOOST_TEST(running.comes("/batch_query_keys?keys=4711", R"("values":[{"size_":10,)"));
  BOOST_TEST(running.comes("/query_key?key=4711", R"("transport_endpoint_":"10.7.0.1:17812")"));
  BOOST_TEST(running.get("/query_key?key=9").status == 404);
  BOOST_TEST(running.get("/metrics").body.find("\nmaster_promotion_success_total 1\n") != std::string::npos);
}

BOOST_AUTO_TEST_CASE(lists_are_decoded_and_then_split_and_single_keys_neither) {
  running_store running(small_store());
  running.store.at_home([](sim::store_world& world) {
    for (const char* each : {"a,b", "a/b", "a%2Fb"}) BOOST_REQUIRE(world.storage.put(each, 10, world.now()));
  });

  BOOST_TEST(running.get("/batch_query_keys?keys=a%2Cb").body.find(R"("a,b")") == std::string::npos);
  BOOST_TEST(running.get("/batch_query_keys?keys=a%2Fb").body.find(R"("a/b":{"ok":true)") != std::string::npos);
  BOOST_TEST(running.get("/query_key?key=a,b").status == 200);
  BOOST_TEST(running.get("/query_key?key=a%2Cb").status == 404);
  running.store.at_home([](sim::store_world& world) { world.storage.remove("a/b"); });
  BOOST_TEST(running.get("/query_key?key=a%2Fb").status == 200);
  BOOST_TEST(running.get("/query_key?key=a/b").status == 404);
}

BOOST_AUTO_TEST_CASE(a_list_of_more_than_128_keys_is_refused_and_noted) {
  running_store running(small_store());
  std::string list = "1";
  for (int i = 2; i <= 128; ++i) list += "," + std::to_string(i);
  BOOST_TEST(running.get("/batch_query_keys?keys=" + list).status == 200);
  BOOST_TEST(running.get("/batch_query_keys?keys=" + list + ",129").status == 400);
  BOOST_TEST(running.get("/batch_query_keys?keys=").status == 400);
  BOOST_TEST(running.store.at_home([](sim::store_world& world) { return world.complaint_count(); }) == 1U);
}

BOOST_AUTO_TEST_CASE(followers_say_who_leads_and_nobody_does_during_an_election) {
  auto chosen = small_store();
  chosen.masters = 2;
  running_store running(chosen);
  const auto leads = [&](std::size_t master) { return R"({"leader":")" + running.store.url(master) + "\"}"; };

  BOOST_TEST(running.get("/batch_query_keys?keys=1", 0).status == 200);
  BOOST_TEST(running.get("/batch_query_keys?keys=1", 1).status == 503);
  BOOST_TEST(running.get("/query_key?key=1", 1).status == 503);
  BOOST_TEST(running.get("/leader", 1).body == leads(0));
  BOOST_TEST(running.post("/sim/depose").status == 200);
  BOOST_TEST(running.get("/leader", 1).status == 503);
  BOOST_TEST(running.get("/query_key?key=1", 0).status == 503);
  BOOST_TEST(running.post("/sim/elect?master=1").status == 200);
  BOOST_TEST(running.get("/leader", 0).body == leads(1));
  BOOST_TEST(running.get("/query_key?key=1", 1).status == 404);
}

BOOST_AUTO_TEST_CASE(the_master_tells_puts_and_the_loss_of_the_last_replica_only) {
  running_store running(small_store());
  listener ear(running.store);

  running.put_on_ssd("4711");
  running.store.at_home([](sim::store_world& world) { world.storage.remove("4711"); });

  const auto put = ear.next();
  const auto gone = ear.next();
  BOOST_REQUIRE(put);
  BOOST_REQUIRE(gone);
  BOOST_TEST(put->topic.empty());
  BOOST_TEST(gone->number == put->number + 1);
  const auto* stored = std::get_if<core::stored_event>(&put->batch.events.at(0));
  BOOST_REQUIRE(stored != nullptr);
  BOOST_TEST(stored->hashes.at(0).get() == 4'711U);
  BOOST_TEST((stored->scope.medium == core::medium_id::cpu));
  BOOST_TEST(put->batch.events.size() == 1U);
  const auto* removed = std::get_if<core::removed_event>(&gone->batch.events.at(0));
  BOOST_REQUIRE(removed != nullptr);
  BOOST_TEST(removed->all_media);
}

BOOST_AUTO_TEST_CASE(a_dropped_event_of_the_master_leaves_a_gap_in_the_numbers) {
  running_store running(small_store());
  listener ear(running.store);

  const std::uint64_t expected = running.store.at_home([](sim::store_world& world) {
    const std::uint64_t next = world.publishers[0]->next_seqno();
    world.publishers[0]->lose_next();
    for (const char* each : {"1", "2"}) BOOST_REQUIRE(world.storage.put(each, 10, world.now()));
    return next;
  });

  const auto heard = ear.next();
  BOOST_REQUIRE(heard);
  BOOST_TEST(heard->number == expected + 1);
  BOOST_TEST(heard->batch.events.size() == 1U);
}

BOOST_AUTO_TEST_CASE(the_array_tells_every_replica_and_repeats_what_was_lost) {
  for (const auto marker : {sim::store_end_marker::in_payload, sim::store_end_marker::in_number}) {
    auto chosen = small_store(sim::store_generation::array);
    chosen.marker = marker;
    running_store running(chosen);
    listener ear(running.store);

    const std::uint64_t first = running.store.at_home([](sim::store_world& world) {
      const std::uint64_t next = world.publishers[0]->next_seqno();
      world.publishers[0]->lose_next();
      return next;
    });
    running.put_on_ssd("4711");
    running.store.at_home([](sim::store_world& world) { world.storage.remove_all(); });

    const auto heard = ear.next();
    BOOST_REQUIRE(heard);
    BOOST_TEST(heard->topic == "mooncake");
    BOOST_TEST(heard->number == first + 1);
    BOOST_TEST(std::holds_alternative<core::cleared_event>(heard->batch.events.at(0)));
    const auto all = ear.replay(first);
    BOOST_REQUIRE(all);
    BOOST_REQUIRE(all->size() == 2U);
    const auto& lost = all->front().batch.events;
    BOOST_REQUIRE(lost.size() == 3U);  // put, offloaded, evicted
    const auto& evicted = std::get<core::object_event>(lost[2]);
    BOOST_REQUIRE(evicted.replicas.size() == 1U);
    BOOST_TEST((evicted.replicas[0].kind == core::replica_kind::local_disk));
    BOOST_TEST(evicted.replicas[0].location == "10.7.0.1:50052");
  }
}

BOOST_AUTO_TEST_CASE(the_same_seed_makes_the_same_store) {
  auto chosen = small_store();
  chosen.objects = 300;
  chosen.keys = sim::store_key_form::mixed;
  const auto keys = [&] {
    running_store running(chosen);
    return running.get("/get_all_keys").body;
  };
  const std::string once = keys();
  BOOST_TEST(once == keys());
  chosen.seed = 2;
  BOOST_TEST(once != keys());
}

BOOST_AUTO_TEST_SUITE_END()

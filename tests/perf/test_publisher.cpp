#include <array>
#include <chrono>
#include <cstdint>
#include <string>
#include <variant>
#include <vector>

#include <boost/asio/cancellation_type.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <boost/test/unit_test.hpp>

#include "core/medium.hpp"
#include "net/event_codec.hpp"
#include "net/task_scope.hpp"
#include "net/zmq_frames.hpp"
#include "net/zmq_socket.hpp"
#include "perf/sim_dialect.hpp"
#include "perf/sim_publisher.hpp"

BOOST_AUTO_TEST_SUITE(sim_publisher)

using namespace kvc;
namespace asio = boost::asio;

namespace {

core::event_batch batch_of(std::uint64_t first_hash) {
  core::stored_event stored;
  stored.scope.medium = core::medium_id::gpu;
  stored.scope.block_size = 2;
  stored.hashes = {core::engine_hash{first_hash}, core::engine_hash{~first_hash}};
  stored.parent = core::engine_hash{42};
  stored.tokens = {1, 200, 70'000, 5};
  stored.has_tokens = true;
  core::removed_event removed;
  removed.scope.medium = core::medium_id::gpu;
  removed.hashes = {core::engine_hash{first_hash + 9}};
  core::event_batch batch;
  batch.rank = core::dp_rank{3};
  batch.events.emplace_back(std::move(removed));
  batch.events.emplace_back(std::move(stored));
  return batch;
}

/// Asks the publisher for a replay and notes what comes back, until the end marker or a fault.
struct replay_asker {
  asio::io_context context{1};
  net::zmq_engine transport;
  sim::publisher subject;
  net::zmq_socket dealer;
  std::vector<std::uint64_t> numbers;
  std::vector<core::event_batch> batches;
  std::string wrong;
  net::task_scope serving;
  net::task_scope asking;

  replay_asker(net::event_form events, sim::hash_form hashes)
      : subject(transport, context.get_executor(), events, hashes),
        dealer(transport, context.get_executor(), net::zmq_socket::kind::dealer, no_limit()),
        serving(context.get_executor()),
        asking(context.get_executor()) {
    BOOST_REQUIRE(!subject.open("127.0.0.1"));
    BOOST_REQUIRE(!dealer.connect(subject.replay_endpoint()));
  }

  static net::zmq_options no_limit() {
    net::zmq_options chosen;
    chosen.receive_high_water = 0;
    return chosen;
  }

  asio::awaitable<void> ask(std::uint64_t first) {
    const auto deadline = std::chrono::steady_clock::now() + std::chrono::seconds(20);
    const net::replay_request request{core::seqno{first}};
    const auto frames = request.frames();
    auto failed = co_await dealer.send(frames, deadline);
    core::medium_table media;
    net::event_decoder decoder(core::publisher_type::vllm, media);
    net::zmq_message message;
    while (!failed) {
      failed = co_await dealer.receive(message, deadline);
      if (failed) break;
      const auto read = net::read_replay(message);
      if (!read) {
        wrong = read.error().message();
        break;
      }
      if (read->is_end) break;
      numbers.push_back(read->batch.number.get());
      core::event_batch& batch = batches.emplace_back();
      if (const auto bad = decoder.decode(read->batch.payload, batch)) wrong = bad.message();
      if (message.size() != 4) wrong = "not the four frames of current publishers";
    }
    if (failed) wrong = failed.message();
    serving.cancel(asio::cancellation_type::terminal);
  }

  void run(std::uint64_t first) {
    serving.spawn("replays", subject.serve_replays());
    asking.spawn("asker", ask(first));
    context.run();
  }
};

}  // namespace

BOOST_AUTO_TEST_CASE(every_full_form_is_understood_by_the_service) {
  // The simulator is only worth something when it speaks what real engines speak; the service's decoder is tested against their samples.
  for (const sim::form_traits& form : sim::all_forms()) {
    if (form.type != "vLLM" || !form.has_media || !form.has_rank) continue;  // the others say less; net's tests know what
    for (const auto hashes : {sim::hash_form::integer, sim::hash_form::bytes}) {
      BOOST_TEST_INFO_SCOPE(form.name);
      replay_asker test(form.form, hashes);
      test.subject.publish(batch_of(7));

      test.run(0);

      BOOST_REQUIRE_EQUAL(test.wrong, "");
      BOOST_REQUIRE_EQUAL(test.batches.size(), 1U);
      const auto& batch = test.batches[0];
      BOOST_TEST(batch.rejected_events == 0U);
      BOOST_TEST(batch.timestamp_s > 1.7e9);
      BOOST_TEST((batch.rank == core::dp_rank{3}));
      BOOST_REQUIRE_EQUAL(batch.events.size(), 2U);
      const auto& removed = std::get<core::removed_event>(batch.events[0]);
      BOOST_TEST((removed.hashes == std::vector<core::engine_hash>{core::engine_hash{16}}));
      const auto& stored = std::get<core::stored_event>(batch.events[1]);
      const auto expected = batch_of(7);
      const auto& sent = std::get<core::stored_event>(expected.events[1]);
      BOOST_TEST((stored.hashes == sent.hashes));
      BOOST_TEST((stored.parent == sent.parent));
      BOOST_TEST((stored.tokens == sent.tokens));
      BOOST_TEST(stored.has_tokens);
      BOOST_TEST(stored.scope.block_size == 2U);
      BOOST_TEST((stored.scope.medium == core::medium_id::gpu));
      BOOST_TEST(stored.scope.prefix_complete);
    }
  }
}

BOOST_AUTO_TEST_CASE(replays_from_the_asked_number_to_the_newest) {
  // A subscriber that missed batches 3 and 4 asks from 3 and must get all that follows, in order.
  replay_asker test(net::event_form::vllm_map, sim::hash_form::integer);
  for (std::uint64_t i = 0; i < 200; ++i) test.subject.publish(batch_of(i));

  test.run(3);

  BOOST_REQUIRE_EQUAL(test.wrong, "");
  BOOST_REQUIRE_EQUAL(test.numbers.size(), 197U);
  for (std::size_t i = 0; i < test.numbers.size(); ++i) BOOST_REQUIRE_EQUAL(test.numbers[i], i + 3);
}

BOOST_AUTO_TEST_CASE(a_replay_from_the_future_is_only_the_end) {
  // What vLLM does when it is asked for more than there is.
  replay_asker test(net::event_form::vllm_map, sim::hash_form::integer);
  test.subject.publish(batch_of(1));

  test.run(1);

  BOOST_TEST(test.wrong == "");
  BOOST_TEST(test.numbers.empty());
}

BOOST_AUTO_TEST_CASE(keeps_the_last_ten_thousand_batches) {
  // Older ones are gone for good, as with a real engine: the first reply tells.
  replay_asker test(net::event_form::vllm_array, sim::hash_form::integer);
  const std::uint64_t total = sim::replay_buffer_batches + 5;
  for (std::uint64_t i = 0; i < total; ++i) test.subject.publish({});

  test.run(0);

  BOOST_REQUIRE_EQUAL(test.wrong, "");
  BOOST_REQUIRE_EQUAL(test.numbers.size(), sim::replay_buffer_batches);
  BOOST_TEST(test.numbers.front() == 5U);
  BOOST_TEST(test.numbers.back() == total - 1);
}

BOOST_AUTO_TEST_SUITE_END()

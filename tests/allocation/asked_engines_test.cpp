// Every allocation of asking engines for the names of a pool's blocks fails in turn, again and again: the pool goes on asking.
#include <cstddef>
#include <exception>
#include <memory>
#include <new>
#include <span>
#include <string>
#include <vector>

#include <boost/test/unit_test.hpp>

#include "core/event_applier.hpp"
#include "net/name_source.hpp"
#include "net/pool_asker.hpp"
#include "tests/allocation/watched_heap.hpp"
#include "tests/support/net/told_stream.hpp"

BOOST_AUTO_TEST_SUITE(asked_engines)

namespace {

using namespace kvc;
using kvc::test::watched_heap;

/// An engine that holds nothing and remembers what it was asked for.
struct asked_engine final : net::name_source {
  void answer(const core::name_question& asked) override {
    names += asked.names.size();
    if (fails) throw std::bad_alloc();
  }
  void follow(const core::partition& /*home*/, std::span<const core::engine_hash> /*names*/, std::vector<core::seq_hash>& /*blocks*/,
              std::size_t& /*budget*/) override {}

  std::size_t names = 0;
  bool fails = false;
};

struct scene {
  test::two_lanes on{1};
  core::event_applier pool;
  net::pool_asker asker{on.lanes.at(0)};
  std::shared_ptr<asked_engine> engine = std::make_shared<asked_engine>();
  std::size_t objects = 0;

  scene() : pool(test::master_of("store", "master", "m", 16), member(), on.catalog, {}) { on.lanes.at(1).name_sources.push_back(engine); }
  static core::member member() {
    core::member who;
    who.id = core::worker_id{7};
    who.key = core::shared_key(test::master_of("store", "master", "m", 16).worker);
    who.shared_pool = true;
    who.media_seen = std::make_shared<std::atomic<core::media_mask>>(core::media_mask{0});
    return who;
  }
  /// The store has another object, whose block an engine may know.
  void hear_of_an_object() {
    std::string digits = std::to_string(++objects);
    digits.insert(0, 64 - digits.size(), '0');
    core::object_event made;
    made.scope.object_key = "m@tp_rank:0@pcp0@dcp0@pp_rank:0@" + digits;
    made.scope.medium = core::medium_id::cpu;
    core::event_batch batch;
    batch.events.emplace_back(made);
    core::event_applier::progress at;
    core::apply_tally tally;
    while (!pool.apply_some(batch, at, 100, tally)) {
    }
  }
  /// False: it was thrown.
  bool ask(long allocations = -1) {
    watched_heap::before_failure = allocations;
    bool is_asked = true;
    try {
      asker.ask(pool);
    } catch (const std::bad_alloc&) {
      is_asked = false;
    }
    watched_heap::before_failure = -1;
    return is_asked;
  }
  /// The lanes do what they have to.
  void settle() {
    for (std::size_t i = 0; i < 2; ++i) {
      asio_context(i).restart();
      for (bool is_done = false; !is_done;) {
        try {
          is_done = asio_context(i).poll() == 0;
        } catch (const std::exception&) {
        }
      }
    }
  }
  boost::asio::io_context& asio_context(std::size_t lane) { return on.lanes.at(lane).context; }
};

}  // namespace

BOOST_AUTO_TEST_CASE(questions_that_could_not_be_sent_do_not_count_as_under_way) {
  // Of those there is a bound, and a pool that has reached it would ask nobody any more.
  scene here;
  std::size_t failures = 0;
  for (long round = 0; round < 1'000; ++round) {
    here.hear_of_an_object();
    if (!here.ask(round % 10)) ++failures;
    here.settle();
  }
  BOOST_TEST(failures > 2 * net::pool_asker::most_under_way);

  const std::size_t before = here.engine->names;
  here.hear_of_an_object();
  BOOST_TEST(here.ask());
  here.settle();
  BOOST_TEST(here.engine->names > before);
}

BOOST_AUTO_TEST_CASE(questions_whose_answer_is_thrown_do_not_count_as_under_way) {
  scene here;
  here.engine->fails = true;
  for (std::size_t round = 0; round < 2 * net::pool_asker::most_under_way; ++round) {
    here.hear_of_an_object();
    BOOST_TEST(here.ask());
    here.settle();
  }
  BOOST_TEST(here.engine->names == 2 * net::pool_asker::most_under_way);
}

BOOST_AUTO_TEST_SUITE_END()

// Queries that do not want all rows: whether the index answers by levels or in the general way must not be seen, byte for byte.
//
// KVC_PROPERTY_SEED sets the first seed.
#include <algorithm>
#include <cstdint>
#include <cstdlib>
#include <deque>
#include <memory>
#include <random>
#include <string>
#include <vector>

#include <boost/test/unit_test.hpp>

#include "core/block_hasher.hpp"
#include "core/lane_blocks.hpp"
#include "net/api_query.hpp"

BOOST_AUTO_TEST_SUITE(api_query_levels)

namespace {

using namespace kvc;

constexpr std::uint32_t block_size = 4;

/// A fleet of instances with several ranks, each rank holding the beginnings of some prompts.
class random_fleet {
 public:
  explicit random_fleet(std::uint64_t seed) : random_(seed) {
    const std::size_t trunk = below(30);  // that all prompts share
    std::vector<std::uint32_t> shared(trunk * block_size);
    for (auto& token : shared) token = static_cast<std::uint32_t>(random_());
    for (std::size_t i = 0; i <= below(3); ++i) {
      prompts_.push_back(shared);
      for (std::size_t more = (1 + below(40)) * block_size; more != 0; --more)
        prompts_.back().push_back(static_cast<std::uint32_t>(random_()));
    }
    const auto names = std::make_shared<core::lane_names>();
    std::vector<core::member> members;
    const std::size_t instances = 1 + below(below(3) == 0 ? 150 : 8);
    for (std::size_t i = 0; i < instances; ++i) {
      for (std::uint32_t rank = 0; rank <= below(3); ++rank) {
        core::member each;
        each.key = core::shared_key({.tenant = "default", .instance = "i" + std::to_string(i), .rank = core::dp_rank{rank}, .kind = {}});
        each.media_seen = std::make_shared<std::atomic<core::media_mask>>(core::mask_of(core::medium_id::gpu));
        members.push_back(each);
      }
    }
    std::ranges::shuffle(members, random_);
    const bool has_many_ties = below(2) == 0;
    for (std::uint32_t i = 0; i < members.size(); ++i) {
      members[i].id = core::worker_id{i * 3};
      home_ = catalog_.join(key_, core::default_hash_seed, members[i]).value();
      workers_.push_back(std::make_unique<core::lane_blocks>(core::lane_blocks::options{.worker = members[i].id, .lane = names}));
      for (std::size_t which = 0; which < prompts_.size(); ++which) store(*workers_.back(), which, has_many_ties);
    }
    if (below(4) == 0) catalog_.leave(members.front().id);  // holds blocks, but is no member any more
  }

  /// From now on the index has to answer in the general way: one block more, which no query asks for, stands outside the runs.
  void forbid_levels() { home_->index().hold(core::seq_hash{42}, core::worker_id{0}, core::medium_id::gpu); }

  net::query_request random_query() {
    net::query_request query;
    query.partition = key_;
    const auto& prompt = prompts_[below(prompts_.size())];
    query.tokens = std::span(prompt).first(below(prompt.size() + 1));
    if (below(3) == 0) {
      std::vector<core::local_hash> locals;
      core::hash_blocks(query.tokens, block_size, core::default_hash_seed, locals);
      core::roll_from_root(locals, core::default_hash_seed, hashes_.emplace_back());
      query.by_hash = true;
      query.hashes = hashes_.back();
    }
    if (below(4) != 0) query.top_k = below(3) == 0 ? below(200) : below(5);
    if (below(3) == 0) query.min_match = below(4) == 0 ? 1'000'000'000'000 : below(160);
    if (below(4) == 0) {
      query.instances.emplace();
      for (std::size_t i = below(12); i != 0; --i) query.instances->push_back("i" + std::to_string(below(14)));
    }
    if (below(6) == 0) query.media = std::vector<std::string>{below(2) == 0 ? "GPU" : "CPU"};
    if (below(16) == 0) query.instance = "i1";
    query.detail = below(3) == 0;
    return query;
  }

  std::string answer(const net::query_request& query) {
    std::string body;
    net::answer_writer out(body, net::wire_form::json);
    const auto view = catalog_.view().get();
    const std::uint64_t before = counters_.matched_blocks.get();
    net::answer_query(query, {*view, media_, counters_, {}}, scratch_, out);
    return body + " deepest " + std::to_string(counters_.matched_blocks.get() - before);
  }

 private:
  std::size_t below(std::size_t end) { return static_cast<std::size_t>(random_() % end); }

  void store(core::lane_blocks& worker, std::size_t which, bool has_many_ties) {
    std::vector<core::local_hash> locals;
    core::hash_blocks(prompts_[which], block_size, core::default_hash_seed, locals);
    const std::size_t depth = has_many_ties ? std::min(locals.size(), below(3) * 9) : below(locals.size() + 1);
    if (depth == 0) return;
    std::vector<core::engine_hash> names;
    core::roll_from_root(locals, core::default_hash_seed, rolled_);
    for (const core::seq_hash each : rolled_) names.emplace_back(each.get());  // equal blocks have equal names, as with real engines
    core::store_command command;
    command.home = home_;
    command.medium = core::medium_id::gpu;
    command.link = core::store_link::root;
    command.names = std::span(names).first(depth);
    command.locals = std::span(locals).first(depth);
    core::apply_tally tally;
    worker.store(command, tally);
    if (below(8) == 0) worker.remove({&names[below(depth)], 1}, core::medium_id::gpu, tally);  // a hole
  }

  std::mt19937_64 random_;
  const core::partition_key key_{.tenant = "default", .model = "m", .lora = "", .salt = "", .block_size = block_size};
  core::catalog catalog_;
  core::medium_table media_;
  core::lane_counters counters_;
  net::query_scratch scratch_;
  std::shared_ptr<core::partition> home_;
  std::vector<std::unique_ptr<core::lane_blocks>> workers_;
  std::vector<std::vector<std::uint32_t>> prompts_;
  std::vector<core::seq_hash> rolled_;
  std::deque<std::vector<core::seq_hash>> hashes_;  ///< of queries; they keep their place
};

}  // namespace

BOOST_AUTO_TEST_CASE(answers_are_those_of_the_general_way) {
  // Stopping early is a matter of speed: rows, their order and every number in them stay.
  const char* const asked = std::getenv("KVC_PROPERTY_SEED");
  const std::uint64_t first = asked == nullptr ? 1 : std::strtoull(asked, nullptr, 10);
  for (std::uint64_t seed = first; seed < first + 60; ++seed) {
    BOOST_TEST_CONTEXT("seed " << seed) {
      random_fleet fleet(seed);
      std::vector<net::query_request> queries;
      for (int i = 0; i < 60; ++i) queries.push_back(fleet.random_query());
      std::vector<std::string> by_levels;
      for (const auto& query : queries) by_levels.push_back(fleet.answer(query));

      fleet.forbid_levels();

      for (std::size_t i = 0; i < queries.size(); ++i) BOOST_TEST(by_levels[i] == fleet.answer(queries[i]), "query " << i);
    }
  }
}

BOOST_AUTO_TEST_SUITE_END()

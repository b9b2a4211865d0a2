// Random lives of engines and of a pool on two lanes, and of prompts that are told by the engines' names while they come and go.
//
// KVC_NAMED_SEED sets the first life, KVC_NAMED_SEEDS how many there are.
#include <algorithm>
#include <array>
#include <atomic>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <memory>
#include <optional>
#include <random>
#include <set>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include <boost/test/unit_test.hpp>

#include "core/block_hasher.hpp"
#include "core/event_applier.hpp"
#include "net/name_source.hpp"
#include "net/named_prompt.hpp"
#include "net/pool_asker.hpp"
#include "net/task_scope.hpp"
#include "tests/support/net/told_stream.hpp"
#include "tests/support/setting.hpp"

BOOST_AUTO_TEST_SUITE(told_names_lives)

namespace {

using namespace kvc;
using namespace std::chrono_literals;

constexpr std::uint32_t block_size = 2;
constexpr std::size_t blocks_per_prompt = 10;
constexpr std::uint64_t seed_of_hashes = 1337;

core::partition_key home_key() {
  return {.tenant = "default", .model = "m", .lora = "", .salt = "", .block_size = block_size};
}

core::member member_of(const core::registration& as, core::worker_id id) {
  core::member who;
  who.id = id;
  who.key = core::shared_key(as.worker);
  who.shared_pool = as.shared;
  who.media_seen = std::make_shared<std::atomic<core::media_mask>>(core::media_mask{0});
  return who;
}

/// A prompt, what its blocks are, and what the engines of a fleet with one seed call them.
struct prompt {
  std::vector<std::uint32_t> tokens;
  std::vector<core::seq_hash> blocks;
  std::vector<core::engine_hash> names;

  explicit prompt(std::vector<std::uint32_t> of) : tokens(std::move(of)) {
    std::vector<core::local_hash> locals;
    core::hash_blocks(tokens, block_size, seed_of_hashes, locals);
    core::roll_from_root(locals, seed_of_hashes, blocks);
    for (const core::seq_hash each : blocks) names.emplace_back(each.get() * 3 + 1);
  }
};

using names = std::set<core::engine_hash>;

void apply(core::event_applier& by, core::event what) {
  core::event_batch batch;
  batch.events.push_back(std::move(what));
  core::event_applier::progress at;
  core::apply_tally tally;
  while (!by.apply_some(batch, at, 3, tally)) {
  }
}

/// An engine on a lane, and what it holds.
struct engine final : net::name_source {
  engine(test::two_lanes& in, std::size_t where, const core::registration& as)
      : lane(where),
        id(*in.numbers.next()),
        applier(as, member_of(as, id), in.catalog, {.lane = in.lanes.at(where).names}) {}
  ~engine() override {
    applier.leave();
    core::apply_tally tally;
    while (!applier.drop_some(100, tally)) {
    }
  }
  engine(const engine&) = delete;
  engine& operator=(const engine&) = delete;

  void answer(const core::name_question& asked) override { applier.answer(asked); }
  void follow(const core::partition& home, std::span<const core::engine_hash> told, std::vector<core::seq_hash>& blocks,
              std::size_t& budget) override {
    applier.follow(home, told, blocks, budget);
  }

  std::size_t lane;
  core::worker_id id;
  core::event_applier applier;
  names held;
};

class stage {
 public:
  explicit stage(std::uint64_t seed) : in_(seed), pool_as_(pool_registration()), asker_(in_.lanes.at(seed % 2)) {
    pool_ = std::make_unique<core::event_applier>(pool_as_, member_of(pool_as_, *in_.numbers.next()), in_.catalog,
                                                  core::event_applier::options{.lane = in_.lanes.at(seed % 2).names});
    for (int i = 0; i < 6; ++i) {
      std::vector<std::uint32_t> tokens;
      if (i != 0) {  // many go on where another one has been
        const auto& other = prompts_[in_.random() % prompts_.size()].tokens;
        tokens.assign(other.begin(), other.begin() + static_cast<std::ptrdiff_t>(in_.random() % other.size()));
      }
      while (tokens.size() < blocks_per_prompt * block_size) tokens.push_back(static_cast<std::uint32_t>(in_.random()));
      prompts_.emplace_back(std::move(tokens));
    }
  }

  void play() {
    for (int i = 0; i < 150; ++i) {
      act();
      if (chance(4)) ask(false);
      if (!chance(5)) continue;
      settle();
      check_pool();
      ask(true);
    }
    engines_.clear();  // what the pool still has is known without them
    settle();
    check_pool();
    ask(true);
    in_.end();
  }
  [[nodiscard]] std::size_t found() const { return found_; }
  [[nodiscard]] std::size_t explained() const { return explained_; }
  [[nodiscard]] std::size_t cut_off() const { return cut_off_; }

 private:
  static core::registration pool_registration() {
    core::registration as = test::master_of("store", "master", "m", block_size);
    as.hash_seed = seed_of_hashes;
    as.shards = 1;
    return as;
  }
  bool chance(std::uint64_t one_in) { return in_.random() % one_in == 0; }
  const prompt& any_prompt() { return prompts_[in_.random() % prompts_.size()]; }

  void act() {
    switch (in_.random() % 8) {
      case 0:
        if (engines_.size() < 4) come();
        break;
      case 1:
        if (!engines_.empty() && chance(3)) engines_.erase(engines_.begin() + static_cast<std::ptrdiff_t>(in_.random() % engines_.size()));
        break;
      case 2:
      case 3:
        if (!engines_.empty()) store(*engines_[in_.random() % engines_.size()], any_prompt());
        break;
      case 4:
        if (!engines_.empty()) remove(*engines_[in_.random() % engines_.size()]);
        break;
      case 5:
      case 6:
        tell_pool(any_prompt().names[in_.random() % blocks_per_prompt]);
        break;
      default:
        in_.turn();
    }
  }
  void come() {
    core::registration as;
    as.worker = {.tenant = "default", .instance = "e" + std::to_string(++came_), .rank = core::dp_rank{0}};
    as.partition = home_key();
    as.type = core::publisher_type::vllm;
    as.hash_seed = seed_of_hashes;
    as.copy_counting = false;
    const std::size_t where = in_.random() % 2;
    engines_.push_back(std::make_shared<engine>(in_, where, as));
    in_.lanes.at(where).name_sources.push_back(engines_.back());
  }
  /// Some blocks of a prompt behind those that are there.
  void store(engine& who, const prompt& what) {
    std::size_t from = 0;
    while (from < blocks_per_prompt && who.held.contains(what.names[from])) ++from;
    const std::size_t to = std::min(blocks_per_prompt, from + 1 + in_.random() % 4);
    if (from == to) return;
    const auto at = [](auto& list, std::size_t i) { return list.begin() + static_cast<std::ptrdiff_t>(i); };
    core::stored_event told;
    told.hashes.assign(at(what.names, from), at(what.names, to));
    if (from != 0) told.parent = what.names[from - 1];
    told.tokens.assign(at(what.tokens, from * block_size), at(what.tokens, to * block_size));
    told.has_tokens = true;
    told.scope.block_size = block_size;
    for (const core::engine_hash each : told.hashes) {
      who.held.insert(each);
      if (watched_.contains(each)) {
        surely_told_.insert(each);
        perhaps_told_.insert(each);
      }
    }
    apply(who.applier, std::move(told));
  }
  void remove(engine& who) {
    if (who.held.empty()) return;
    const auto which = std::next(who.held.begin(), static_cast<std::ptrdiff_t>(in_.random() % who.held.size()));
    core::removed_event told;
    told.hashes = {*which};
    told.scope.medium = core::medium_id::gpu;
    who.held.erase(which);
    apply(who.applier, std::move(told));
  }
  /// The store has a block, or has it no longer.
  void tell_pool(core::engine_hash name) {
    core::object_event told;
    std::array<char, 65> hex{};
    static_cast<void>(std::snprintf(hex.data(), hex.size(), "%064llx", static_cast<unsigned long long>(name.get())));
    told.scope.object_key = "m@tp_rank:0@pcp0@dcp0@pp_rank:0@" + std::string(hex.data());
    told.scope.medium = core::medium_id::cpu;
    if (watched_.contains(name)) {
      told.what = core::object_event::change::removed;
      told.all_media = true;
      for (names* each : {&watched_, &surely_told_, &perhaps_told_}) each->erase(name);
    } else {
      watched_.insert(name);
      if (is_held(name)) perhaps_told_.insert(name);
    }
    apply(*pool_, std::move(told));
    catch_up();
  }
  void catch_up() {
    core::apply_tally tally;
    pool_->pass_time(std::chrono::steady_clock::now());
    while (!pool_->catch_up_some(3, tally)) {
    }
    asker_.ask(*pool_);
  }
  [[nodiscard]] bool is_held(core::engine_hash name) const {
    return std::ranges::any_of(engines_, [&](const auto& each) { return each->held.contains(name); });
  }

  /// Everything that is on the way arrives.
  void settle() {
    for (bool is_quiet = false; !is_quiet;) {
      catch_up();
      is_quiet = in_.lanes.at(0).context.poll() + in_.lanes.at(1).context.poll() == 0;
    }
    for (const core::engine_hash each : watched_) {
      if (!is_held(each)) continue;
      surely_told_.insert(each);
      perhaps_told_.insert(each);
    }
  }
  void check_pool() {
    const auto now = pool_->pooled();
    BOOST_TEST(now.objects == watched_.size());
    BOOST_TEST(now.doubtful == 0U);
    const std::size_t explained = watched_.size() - now.waiting;
    BOOST_TEST(explained >= surely_told_.size());
    BOOST_TEST(explained <= perhaps_told_.size());
    explained_ += explained;
  }

  /// How far a prompt is known to somebody who holds it so far, or to anybody.
  [[nodiscard]] std::size_t least(const prompt& what, std::size_t told) const {
    std::size_t most = 0;
    for (const auto& each : engines_) {
      std::size_t length = 0;
      while (length < told && (each->held.contains(what.names[length]) || surely_told_.contains(what.names[length]))) ++length;
      most = std::max(most, length);
    }
    std::size_t length = 0;
    while (length < told && surely_told_.contains(what.names[length])) ++length;
    return std::max(most, length);
  }
  [[nodiscard]] std::size_t greatest(const prompt& what, std::size_t told) const {
    std::size_t length = 0;
    while (length < told && (is_held(what.names[length]) || perhaps_told_.contains(what.names[length]))) ++length;
    return length;
  }

  struct question {
    std::vector<core::seq_hash> told;
    std::vector<core::seq_hash> blocks;
    net::query_request query;
    std::optional<net::checked> answer;
  };
  static net::asio::awaitable<void> find(net::lane& here, std::shared_ptr<question> asked) {
    asked->answer = co_await net::find_named_blocks(here, asked->query, asked->blocks, 20s);
  }
  void ask(bool is_quiet) {
    const prompt& what = any_prompt();
    const std::size_t told = 1 + in_.random() % blocks_per_prompt;
    const auto asked = std::make_shared<question>();
    for (std::size_t i = 0; i < told; ++i) asked->told.emplace_back(what.names[i].get());
    asked->query.partition = home_key();
    asked->query.by_hash = asked->query.by_names = true;
    asked->query.hashes = asked->told;
    const std::size_t greatest_before = greatest(what, told);
    net::lane& here = in_.lanes.at(in_.random() % 2);
    net::task_scope asking(here.context.get_executor());
    asking.spawn("question", find(here, asked));
    const bool is_cut_off = !is_quiet && chance(4);
    if (is_cut_off) {
      for (int i = static_cast<int>(in_.random() % 4); i > 0; --i) in_.turn();
      asking.cancel(net::asio::cancellation_type::terminal);
      ++cut_off_;
    }
    for (int i = 0; i < 10'000 && asking.running() != 0; ++i) in_.turn();
    BOOST_TEST_REQUIRE(asking.running() == 0U);
    if (is_cut_off) return;
    BOOST_TEST_REQUIRE(asked->answer.has_value());
    BOOST_TEST(!asked->answer->has_value());
    const auto& found = asked->query.hashes;
    BOOST_TEST_REQUIRE(found.size() <= told);
    for (std::size_t i = 0; i < found.size(); ++i) BOOST_TEST((found[i] == what.blocks[i]));
    BOOST_TEST(found.size() <= std::max(greatest_before, greatest(what, told)));
    BOOST_TEST(asked->query.unknown_names == told - found.size());
    if (is_quiet) BOOST_TEST(found.size() >= least(what, told));
    found_ += found.size();
  }

  test::two_lanes in_;
  core::registration pool_as_;
  std::vector<prompt> prompts_;
  std::vector<std::shared_ptr<engine>> engines_;
  std::unique_ptr<core::event_applier> pool_;
  net::pool_asker asker_;
  names watched_;       ///< by the pool
  names surely_told_;   ///< of them, those that an engine has explained
  names perhaps_told_;  ///< and those that one may have
  std::size_t came_ = 0;
  std::size_t found_ = 0;
  std::size_t explained_ = 0;
  std::size_t cut_off_ = 0;
};

}  // namespace

BOOST_AUTO_TEST_CASE(names_mean_what_somebody_holds_under_them) {
  const std::uint64_t first = test::setting("KVC_NAMED_SEED", 1);
  const std::uint64_t seeds = test::setting("KVC_NAMED_SEEDS", 60);
  std::size_t found = 0;
  std::size_t explained = 0;
  std::size_t cut_off = 0;
  for (std::uint64_t seed = first; seed < first + seeds; ++seed) {
    BOOST_TEST_CONTEXT("seed " << seed) {
      stage here(seed);
      here.play();
      found += here.found();
      explained += here.explained();
      cut_off += here.cut_off();
    }
  }
  BOOST_TEST(found > 20 * seeds);  // or nothing was tried
  BOOST_TEST(explained > 20 * seeds);
  BOOST_TEST(cut_off > seeds);
}

BOOST_AUTO_TEST_SUITE_END()

#include "net/api_query.hpp"

#include <algorithm>
#include <bit>
#include <span>

#include "core/block_hasher.hpp"
#include "core/quiescence.hpp"
#include "net/stream_report.hpp"
#include "net/stream_trust.hpp"

namespace kvc::net {
namespace {

using core::medium_id;
using row = query_scratch::row;

constexpr core::media_mask always_shown = core::mask_of(medium_id::gpu) | core::mask_of(medium_id::cpu) | core::mask_of(medium_id::disk);
constexpr std::size_t kept_locals = 1U << 18;  ///< blocks; more was for an unusually long prompt and goes back

/// The media a query asks about; words nobody has ever reported stand for nothing.
core::media_mask mask_of_words(const std::vector<std::string>& words, const core::medium_table& media) {
  core::media_mask mask = 0;
  for (const std::string& word : words) {
    medium_id found{};
    if (media.find(word, found)) mask = static_cast<core::media_mask>(mask | core::mask_of(found));
  }
  return mask;
}

/// One query being answered.
class answering {
 public:
  answering(const query_request& query, const query_source& source, query_scratch& scratch, answer_writer& out)
      : query_(query), source_(source), scratch_(scratch), out_(out) {}

  void run() {
    const core::partition_view* const found = source_.partitions.find(query_.partition);
    if (found == nullptr && query_.instance.empty()) {
      out_.object(0);
      out_.end_object();
      return;
    }
    if (query_.media) asked_ = mask_of_words(*query_.media, source_.media);
    scratch_.rows.clear();
    scratch_.matched.clear();
    scratch_.depths.clear();
    if (found != nullptr) {
      members_ = found->members;
      instances_ = found->by_worker.instances();
      hash_prompt(*found);
      if (!choose_by_levels(*found)) {
        match(*found);
        seat_depths(found->by_worker);
        collect_rows();
        filter_rows();
      }
    }
    const bool is_unknown = scratch_.rows.empty() && !query_.instance.empty();
    out_.object(1);
    out_.key(query_.partition.tenant);
    out_.object(is_unknown ? 1 : scratch_.rows.size());
    if (is_unknown) {
      out_.key(query_.instance);
      write_row(row{});
    }
    for (const row& each : scratch_.rows) {
      out_.key(members_[each.first].key->instance);
      write_row(each);
    }
    out_.end_object();
    out_.end_object();
  }

 private:
  /// Makes hashes of tokens, and `scope_` what the query may count.
  void hash_prompt(const core::partition_view& found) {
    scope_ = &found.scope;
    if (query_.media) {
      scratch_.scope = found.scope;
      scratch_.scope.media = asked_;
      scope_ = &scratch_.scope;
    }
    std::size_t blocks = query_.hashes.size() + query_.unknown_names;
    const core::partition& partition = *found.partition;
    if (!query_.by_hash && query_.seed_of_locals == partition.seed()) {
      scratch_.prompt = query_.locals;
      blocks = scratch_.prompt.size();
    } else if (!query_.by_hash) {
      scratch_.locals.clear();
      if (scratch_.locals.capacity() > kept_locals) scratch_.locals.shrink_to_fit();
      core::hash_blocks(query_.tokens, partition.key().block_size, partition.seed(), scratch_.locals, query_.extra_keys);
      scratch_.prompt = scratch_.locals;
      blocks = scratch_.prompt.size();
    }
    source_.counters.queried_blocks.add(blocks);
  }

  /// Calls `ask` with the hashes of the prompt, of whichever kind they are.
  template <class Ask>
  auto with_hashes(Ask ask) const {
    return query_.by_hash ? ask(query_.hashes) : ask(scratch_.prompt);
  }

  void match(const core::partition_view& found) {
    const core::prefix_index& index = found.partition->index();
    with_hashes([&](auto hashes) { index.match(hashes, *scope_, scratch_.matched); });
    std::uint32_t deepest = scratch_.matched.pools_alone.any;
    for (const core::worker_depth& each : scratch_.matched.workers) deepest = std::max(deepest, each.any);
    source_.counters.matched_blocks.add(deepest);
  }

  /// Finds the member of every depth, once for all that asks for them.
  void seat_depths(const core::member_map& by_worker) {
    scratch_.depths.assign(members_.size(), &scratch_.matched.pools_alone);
    for (const core::worker_depth& each : scratch_.matched.workers) {
      if (const auto* const seat = by_worker.find(each.worker)) scratch_.depths[seat->member] = &each;
    }
  }

  /// Finds the rows of a query that does not want all of them without looking at the others. False, and nothing done, where that cannot be.
  bool choose_by_levels(const core::partition_view& found) {
    if (!query_.instance.empty() || (!query_.top_k && query_.min_match == 0)) return false;
    const std::size_t candidates = mark_wanted();
    const std::uint64_t block_size = query_.partition.block_size;
    core::fold_bounds bounds;
    bounds.least = query_.min_match / block_size + (query_.min_match % block_size == 0 ? 0U : 1U);
    if (query_.top_k) bounds.most = static_cast<std::size_t>(std::min<std::uint64_t>(*query_.top_k, core::fold_bounds::any_number));
    bounds.wanted = scratch_.wanted;
    if (bounds.least == 0 && bounds.most >= candidates) return false;

    const core::quiescent_scope reading;  // slots are told by their owners only while nobody can give them back
    const core::prefix_index& index = found.partition->index();
    if (!with_hashes([&](auto hashes) { return index.match(hashes, *scope_, scratch_.levels); })) return false;
    source_.counters.matched_blocks.add(scratch_.levels.deepest());
    scratch_.fold.run(index.slots(), found.by_worker, scratch_.levels, bounds, scratch_.chosen, scratch_.matched);
    for (const core::instance_reach& each : scratch_.chosen) {
      row& chosen = scratch_.rows.emplace_back(row_of(instances_[each.instance]));
      chosen.longest = each.depth;
    }
    return true;
  }

  /// Notes which instances the query is about; answers how many.
  std::size_t mark_wanted() {
    scratch_.wanted.clear();
    if (!query_.instances) return instances_.size();
    scratch_.wanted.assign(instances_.size(), 0);
    const auto name_of = [this](const core::member_map::instance& each) -> const std::string& {
      return members_[each.first].key->instance;
    };
    std::size_t marked = 0;
    for (const std::string& name : *query_.instances) {
      const auto at = std::ranges::lower_bound(instances_, name, {}, name_of);
      if (at == instances_.end() || name_of(*at) != name) continue;
      std::uint8_t& mark = scratch_.wanted[static_cast<std::size_t>(at - instances_.begin())];
      marked += mark == 0 ? 1U : 0U;
      mark = 1;
    }
    return marked;
  }

  [[nodiscard]] row row_of(const core::member_map::instance& instance) const {
    row made{.first = instance.first, .last = instance.last, .seen = 0, .longest = 0, .has_engine = instance.has_engine};
    for (const core::member& each : members_.subspan(made.first, made.last - made.first)) {
      if (each.media_seen) made.seen = static_cast<core::media_mask>(made.seen | each.media_seen->load(std::memory_order_relaxed));
    }
    return made;
  }

  /// Instances come in the order of their names.
  void collect_rows() {
    (void)mark_wanted();
    for (const core::member_map::instance& each : instances_) {
      if (!is_wanted(each)) continue;
      row& found = scratch_.rows.emplace_back(row_of(each));
      for (std::size_t i = found.first; i < found.last; ++i) {
        if (counts(i, found.has_engine)) found.longest = std::max<std::uint64_t>(found.longest, depth(i).any);
      }
    }
  }

  /// After `mark_wanted`.
  [[nodiscard]] bool is_wanted(const core::member_map::instance& which) const {
    if (!query_.instance.empty()) return members_[which.first].key->instance == query_.instance;
    return scratch_.wanted.empty() || scratch_.wanted[static_cast<std::size_t>(&which - instances_.data())] != 0;
  }

  /// An engine's ranks stand for their instance; pools do only where there is no engine.
  [[nodiscard]] bool counts(std::size_t index, bool has_engine) const {
    return !has_engine || members_[index].key->kind == core::publisher_class::engine;
  }
  [[nodiscard]] const core::worker_depth& depth(std::size_t index) const {
    return scratch_.depths.empty() ? scratch_.matched.of(members_[index].id) : *scratch_.depths[index];
  }
  [[nodiscard]] std::uint64_t in_tokens(std::uint64_t blocks) const { return blocks * query_.partition.block_size; }

  void filter_rows() {
    std::vector<row>& rows = scratch_.rows;
    if (!query_.instance.empty()) return;
    std::erase_if(rows, [this](const row& each) { return in_tokens(each.longest) < query_.min_match; });
    if (!query_.top_k || *query_.top_k >= rows.size()) return;
    std::ranges::sort(rows, [](const row& left, const row& right) {
      return left.longest != right.longest ? left.longest > right.longest : left.first < right.first;
    });
    rows.resize(static_cast<std::size_t>(*query_.top_k));
  }

  void write_row(const row& which) {
    core::worker_depth best;  // per column the best single rank
    std::size_t ranks = 0;
    for (std::size_t i = which.first; i < which.last; ++i) {
      if (!counts(i, which.has_engine)) continue;
      const core::worker_depth& each = depth(i);
      if (i == which.first || !is_same_rank(i - 1, i)) ++ranks;
      best.any = std::max(best.any, each.any);
      best.device_or_host = std::max(best.device_or_host, each.device_or_host);
      for (std::size_t m = 0; m < core::max_media; ++m) best.on[m] = std::max(best.on[m], each.on[m]);
    }
    const unsigned columns = query_.media ? asked_ : static_cast<unsigned>(always_shown | which.seen);
    out_.object(2U + static_cast<std::size_t>(std::popcount(columns)) + (query_.detail ? 5U + stream_trust::heard_members : 0U) +
                (shows_pools() ? 1U : 0U));
    out_.plain_member("longest_matched", in_tokens(best.any));
    if ((columns & core::mask_of(medium_id::gpu)) != 0) write_column(best, 0);  // before DP, as clients know it
    write_ranks(which, ranks);
    for (unsigned rest = columns & ~1U; rest != 0; rest &= rest - 1) write_column(best, static_cast<std::size_t>(std::countr_zero(rest)));
    if (query_.detail) write_detail(which, best);
    out_.end_object();
  }

  [[nodiscard]] bool is_same_rank(std::size_t left, std::size_t right) const {
    const core::worker_key& a = *members_[left].key;
    const core::worker_key& b = *members_[right].key;
    return a.rank == b.rank && a.kind == b.kind;
  }

  /// A rank may have several members: the backends of a pool, or a rank that is registered and that another stream speaks for as well.
  void write_ranks(const row& which, std::size_t ranks) {
    out_.key("DP");
    out_.object(ranks);
    for (std::size_t i = which.first; i < which.last; ++i) {
      if (!counts(i, which.has_engine)) continue;
      std::uint64_t longest = depth(i).any;
      for (; i + 1 < which.last && is_same_rank(i, i + 1); ++i) longest = std::max<std::uint64_t>(longest, depth(i + 1).any);
      out_.plain_member(std::to_string(members_[i].key->rank.get()), in_tokens(longest));
    }
    out_.end_object();
  }

  void write_column(const core::worker_depth& best, std::size_t medium) {
    const std::string_view name = source_.media.name(static_cast<medium_id>(medium));
    const bool is_well_known = (always_shown >> medium & 1U) != 0;
    is_well_known ? out_.plain_member(name, in_tokens(best.on[medium])) : out_.member(name, in_tokens(best.on[medium]));
  }

  /// Whether to tell what an instance with nothing of its own would have.
  [[nodiscard]] bool shows_pools() const { return query_.detail && scope_ != nullptr && !scope_->pools.empty(); }

  /// Whether a member before this one, of those from `first` on, is of the same stream.
  [[nodiscard]] bool is_stream_told(std::size_t first, std::size_t index) const {
    const core::stream_status* const status = members_[index].status.get();
    return std::ranges::any_of(members_.subspan(first, index - first),
                               [&](const core::member& each) { return each.status.get() == status; });
  }

  /// What the shared pools lack, whoever has registered them.
  [[nodiscard]] stream_trust trust_of_pools() const {
    stream_trust all;
    if (!shows_pools()) return all;
    for (std::size_t i = 0; i < members_.size(); ++i) {
      const bool is_pool = members_[i].shared_pool && members_[i].status != nullptr;
      if (is_pool && !is_stream_told(0, i)) all.add_doubts(*members_[i].status);
    }
    return all;
  }

  /// Of the row's own streams and, since what they told counts in it as well, of shared pools.
  [[nodiscard]] stream_trust trust_of(const row& which) {
    if (!trust_of_pools_) trust_of_pools_ = trust_of_pools();
    stream_trust all = *trust_of_pools_;
    for (std::size_t i = which.first; i < which.last; ++i) {
      if (members_[i].status == nullptr || is_stream_told(which.first, i)) continue;
      all.add_hearing(*members_[i].status);
      if (!members_[i].shared_pool) all.add_doubts(*members_[i].status);
    }
    return all;
  }

  void write_detail(const row& which, const core::worker_depth& best) {
    out_.key("tiers");
    out_.object(3);
    out_.member("gpu", in_tokens(best.on[0]));
    out_.member("cpu", in_tokens(best.device_or_host));
    out_.member("disk", in_tokens(best.any));
    out_.end_object();

    const stream_trust trust = trust_of(which);
    out_.member("state", trust.state());
    write_lag(out_, trust.newest_ns(), source_.now);
    out_.member("missing", trust.missing());
    out_.member("seq_hashes", std::uint64_t{best.any});
    trust.write_heard(out_);
    if (shows_pools()) out_.member("pools", in_tokens(scratch_.matched.pools_alone.any));
  }

  const query_request& query_;
  const query_source& source_;
  query_scratch& scratch_;
  answer_writer& out_;
  std::span<const core::member> members_;
  std::span<const core::member_map::instance> instances_;
  const core::match_scope* scope_ = nullptr;
  std::optional<stream_trust> trust_of_pools_;  ///< once it was needed
  core::media_mask asked_ = core::all_media;
};

}  // namespace

void answer_query(const query_request& query, const query_source& source, query_scratch& scratch, answer_writer& out) {
  answering(query, source, scratch, out).run();
}

}  // namespace kvc::net

#include "tests/support/index_subjects.hpp"

#include <bit>
#include <utility>

#include "tests/support/index_comparison.hpp"

namespace kvc::test {

using namespace kvc::core;

void real_subject::add(worker_id worker, const worker_traits& traits) {
  auto added = std::make_unique<real_worker>(worker, traits, *catalog_, lanes_[worker.get() % lanes_.size()]);
  added->join(0);
  workers_[worker] = std::move(added);
}

void real_subject::drop(worker_id worker) {
  workers_.at(worker)->leave();
  workers_.erase(worker);
}

bool real_subject::make_parts(index_budget& budget, std::size_t first, std::size_t slice, std::uint64_t& gone) {
  for (std::size_t lane = 0; lane < lanes_.size(); ++lane) {
    std::uint64_t bytes = lanes_[lane]->bytes_in_use();
    std::uint64_t waiting = 0;
    for (const auto& [number, each] : workers_) {
      if (number.get() % lanes_.size() != lane) continue;
      bytes += each->blocks().bytes();
      waiting += each->blocks().waiting_bytes();
    }
    budget.note_lane(first + lane, bytes, waiting);
  }
  (void)budget.look();
  bool is_any = false;
  for (std::size_t lane = 0; lane < lanes_.size(); ++lane) {
    const auto pass = budget.pass_for(first + lane);
    if (!pass) continue;
    is_any = true;
    for (const auto& [number, each] : workers_) {
      if (number.get() % lanes_.size() == lane) gone += each->evict(*pass, slice);
    }
    (void)budget.finish(first + lane, *pass);
  }
  return is_any;
}

std::shared_ptr<const partition_view> real_subject::view(std::size_t partition) const {
  const auto all = catalog_->view().get();
  const auto found = all->partitions.find(partition_number(partition));
  return found == all->partitions.end() ? nullptr : found->second;
}

void real_subject::match(std::size_t partition, query_blocks query, bool by_sequence, media_mask media, match_result& out) const {
  out.clear();
  const auto seen = view(partition);
  if (!seen) return;
  ask(*seen, query, by_sequence, media, out);
}

namespace {

/// The depth for a set of media: from the column that tells it where there is one, else from a query for just these media.
std::uint32_t read_depth(const real_subject& index, std::size_t partition, worker_id worker, media_mask among, query_blocks query,
                         bool by_sequence) {
  match_result answer;
  if (among == all_media) {
    index.match(partition, query, by_sequence, all_media, answer);
    return answer.of(worker).any;
  }
  if (std::has_single_bit(among)) {
    index.match(partition, query, by_sequence, all_media, answer);
    return answer.of(worker).on[static_cast<std::size_t>(std::countr_zero(among))];
  }
  index.match(partition, query, by_sequence, among, answer);
  return answer.of(worker).any;
}

}  // namespace

std::uint32_t real_subject::depth(std::size_t partition, worker_id worker, media_mask among, query_blocks query) const {
  return read_depth(*this, partition, worker, among, query, false);
}

std::uint32_t real_subject::depth_by_sequence(std::size_t partition, worker_id worker, media_mask among, query_blocks query) const {
  return read_depth(*this, partition, worker, among, query, true);
}

}  // namespace kvc::test

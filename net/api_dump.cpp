#include "net/api_dump.hpp"

#include <algorithm>
#include <array>
#include <charconv>
#include <chrono>
#include <memory>
#include <optional>
#include <string>
#include <unordered_set>
#include <utility>
#include <vector>

#include "net/dump_encode.hpp"
#include "net/dump_events.hpp"
#include "net/http_body.hpp"
#include "net/http_reply.hpp"

namespace kvc::net {
namespace {

constexpr std::size_t most_dumps = 4;            ///< at once: each makes lanes work and holds on to runs
constexpr std::size_t piece_bytes = 256U << 10;  ///< sent at a time, and one turn's worth more

using stream_set = std::unordered_set<const core::stream_status*>;

/// What the parameters choose.
struct dump_choice {
  std::optional<std::string> instance;
  std::optional<core::dp_rank> rank;
  core::dump_filter partitions;

  /// Whether the stream speaks for a worker that is meant. `of_tenant`: see `streams_of`.
  [[nodiscard]] bool matches(const service_info& stream, const stream_set& of_tenant) const {
    const core::worker_key& key = stream.registration.worker;
    const bool is_of_tenant = !partitions.tenant || *partitions.tenant == key.tenant || of_tenant.contains(stream.status.get());
    return (!instance || *instance == key.instance) && is_of_tenant &&
           (!rank || *rank == key.rank ||
            std::ranges::any_of(*stream.status->ranks.list(), [this](const auto& each) { return each->rank == *rank; }));
  }
};

/// The streams that speak of a tenant's partitions: events name tenants themselves, whichever their stream is registered for.
stream_set streams_of(const std::string& tenant, const core::catalog_view& all) {
  stream_set found;
  for (const auto& [key, partition] : all.partitions) {
    if (key.tenant != tenant) continue;
    for (const core::member& each : partition->members) found.insert(each.status.get());
  }
  return found;
}

checked read_number(const std::string& name, const std::string& text, std::uint32_t least, std::optional<std::uint32_t>& out) {
  std::uint32_t value = 0;
  const auto [end, failed] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (failed == std::errc{} && end == text.data() + text.size() && value >= least) {
    out = value;
    return {};
  }
  const bool is_too_large = failed == std::errc::result_out_of_range || (failed == std::errc{} && end == text.data() + text.size());
  return refusal{is_too_large ? refusal_kind::out_of_range : refusal_kind::invalid_type,
                 name + " must be an integer between " + std::to_string(least) + " and 4294967295", name};
}

/// Parameters nobody knows are ignored, as unknown members of bodies are.
checked read_choice(const http_request& request, dump_choice& out) {
  for (const auto& [name, value] : request.query) {
    checked wrong;
    if (name == "instance_id" && !value.empty()) {
      out.instance = value;
    } else if (name == "dp_rank") {
      std::optional<std::uint32_t> rank;
      wrong = read_number(name, value, 0, rank);
      if (rank) out.rank = core::dp_rank{*rank};
    } else if (name == "tenant_id" && !value.empty()) {
      out.partitions.tenant = value;
    } else if ((name == "model" || name == "modelname" || name == "model_name") && !value.empty()) {
      out.partitions.model = value;
    } else if (name == "lora_name") {
      out.partitions.lora = value;
    } else if (name == "cache_salt" || name == "additionalsalt" || name == "additional_salt") {
      out.partitions.salt = value;
    } else if (name == "block_size") {
      wrong = read_number(name, value, 1, out.partitions.block_size);
    }
    if (wrong) return wrong;
  }
  return {};
}

/// One of the few dumps that may be made at once.
class dump_permit {
 public:
  explicit dump_permit(std::atomic<std::size_t>& running) : running_(running), number_(running.fetch_add(1, std::memory_order_relaxed)) {}
  ~dump_permit() { running_.fetch_sub(1, std::memory_order_relaxed); }
  dump_permit(const dump_permit&) = delete;
  dump_permit& operator=(const dump_permit&) = delete;
  [[nodiscard]] bool is_valid() const noexcept { return number_ < most_dumps; }

 private:
  std::atomic<std::size_t>& running_;
  std::size_t number_;
};

std::uint64_t milliseconds_now() {
  const auto since = std::chrono::system_clock::now().time_since_epoch();
  return static_cast<std::uint64_t>(std::chrono::duration_cast<std::chrono::milliseconds>(since).count());
}

using stream_list = std::vector<std::shared_ptr<const service_info>>;

/// Goes from stream to stream and has the workers of each told on its own lane, a slice at a time; what is told is written down on the
/// session's lane.
class dump_body final : public http_body {
 public:
  dump_body(fleet_service& fleet, const core::medium_table& media, wire_form form, dump_choice choice, stream_list streams,
            std::unique_ptr<dump_permit> permit)
      : fleet_(fleet),
        is_compact_(form == wire_form::msgpack),
        choice_(std::move(choice)),
        streams_(std::move(streams)),
        permit_(std::move(permit)),
        compact_(media),
        events_(media, milliseconds_now()) {}

  asio::awaitable<progress> next(lane&, std::string& into) override {
    if (!std::exchange(has_begun_, true)) is_compact_ ? dump_encoder::header(into) : void(into += '[');
    while (into.size() < piece_bytes) {
      if (at_ == streams_.size()) {
        is_compact_ ? dump_encoder::end_of_dump(workers_, into) : void(into += "\n]\n");
        co_return progress::last;
      }
      if (turn_ == nullptr) turn_ = std::make_shared<dump_turn>(choice_.partitions, choice_.rank);
      co_await fleet_.dump_some(streams_[at_]->worker, turn_);
      if (turn_->is_first_of_owner) begin_worker(into);
      if (is_telling_) tell(into);
      if (!turn_->is_last) continue;
      turn_.reset();
      ++at_;
    }
    co_return progress::piece;
  }

 private:
  void begin_worker(std::string& into) {
    const core::registration& from = streams_[at_]->registration;
    const core::event_applier::owner& whose = *turn_->owner;
    owner_ = {.worker = from.worker,
              .backend_id = whose.backend.empty() ? from.backend_id : whose.backend,
              .copy_counting = from.copy_counting,
              .seqno = turn_->seqno};
    owner_.worker.rank = whose.rank;
    homes_.clear();
    blocks_ = 0;
    is_telling_ = true;
    ++workers_;
    for (const auto& each : turn_->cursor->homes()) homes_.push_back({each->key(), each->seed()});
    if (!is_compact_) return;
    dump_encoder::owner(owner_, into);
    for (const dump_home& each : homes_) dump_encoder::home(each, into);
  }

  void tell(std::string& into) {
    blocks_ += turn_->slice.blocks();
    if (is_compact_) {
      compact_.slice(turn_->slice, into);
    } else {
      events_.slice(owner_, homes_, turn_->slice, into);
    }
    if (!turn_->is_last_of_owner) return;
    if (is_compact_) dump_encoder::end({turn_->seqno, blocks_}, into);
    is_telling_ = false;
  }

  fleet_service& fleet_;
  bool is_compact_;
  dump_choice choice_;
  stream_list streams_;
  std::unique_ptr<dump_permit> permit_;
  dump_encoder compact_;
  dump_event_writer events_;
  bool has_begun_ = false;
  std::size_t at_ = 0;               ///< the stream in hand
  std::shared_ptr<dump_turn> turn_;  ///< its dump, once begun
  std::size_t workers_ = 0;          ///< begun so far
  bool is_telling_ = false;          ///< the last of them is not at its end
  dump_owner owner_;
  std::vector<dump_home> homes_;
  std::uint64_t blocks_ = 0;  ///< told of it
};

}  // namespace

http_reply dump_blocks(const api_context& context, std::atomic<std::size_t>& running, const http_request& request) {
  dump_choice choice;
  if (const checked wrong = read_choice(request, choice)) return reply_with(*wrong, request.answer_form);
  const auto fleet = context.fleet.view().get();
  const auto& tenant = choice.partitions.tenant;
  const stream_set of_tenant = tenant ? streams_of(*tenant, *context.catalog.view().get()) : stream_set();
  stream_list streams;
  for (const auto& each : *fleet) {
    if (choice.matches(*each, of_tenant)) streams.push_back(each);
  }
  if (streams.empty()) {
    return reply_with(refusal{refusal_kind::service_not_found, "no registered publisher matches"}, request.answer_form);
  }
  auto permit = std::make_unique<dump_permit>(running);
  if (!permit->is_valid())
    return reply_with(refusal{refusal_kind::overloaded, "too many dumps are being made; try again"}, request.answer_form);
  auto body = std::make_shared<dump_body>(context.fleet, context.media, request.answer_form, std::move(choice), std::move(streams),
                                          std::move(permit));
  return stream_reply(std::move(body), request.answer_form);
}

}  // namespace kvc::net

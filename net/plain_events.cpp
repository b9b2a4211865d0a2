#include "net/plain_events.hpp"

#include <algorithm>
#include <array>
#include <optional>
#include <span>
#include <string_view>
#include <utility>
#include <variant>

#include "net/event_fields.hpp"
#include "net/event_hash.hpp"
#include "net/event_pattern.hpp"
#include "net/joined_removals.hpp"
#include "net/msgpack_cursor.hpp"
#include "net/plain_fields.hpp"
#include "net/same_bytes.hpp"

namespace kvc::net {
namespace {

/// Room that is made for the names of removals that follow each other: most of what comes, and little to ask for where only two do.
constexpr std::size_t usual_joined_names = 64;
static_assert(event_pattern::gap_bytes == wide_name_bytes - 1);

/// One batch, front to back.
class plain_reader {
 public:
  plain_reader(std::span<const std::byte> payload, decode_context& with, core::event_batch& out)
      : from_(payload), with_(&with), fields_(from_, with), out_(&out) {}
  plain_reader(const plain_reader&) = delete;
  plain_reader& operator=(const plain_reader&) = delete;

  bool read() {
    std::uint64_t parts = 0;
    if (is_map_next()) return from_.take_map(parts) && map_parts(parts) && from_.left() == 0;
    if (!from_.take_array(parts) || parts < 2 || parts > 3 || !time() || !events()) return false;
    return (parts == 2 || rank()) && from_.left() == 0;
  }

 private:
  [[nodiscard]] bool is_map_next() const { return from_.left() != 0 && ((*from_.at() & 0xf0U) == 0x80 || *from_.at() == 0xde); }

  bool map_parts(std::uint64_t pairs) {
    constexpr std::array<std::string_view, 3> names{"ts", "events", "data_parallel_rank"};
    if (pairs < 2 || pairs > names.size()) return false;
    std::string_view name;
    if (!from_.take_text(name) || name != names[0] || !time()) return false;
    if (!from_.take_text(name) || name != names[1] || !events()) return false;
    return pairs == 2 || (from_.take_text(name) && name == names[2] && rank());
  }

  /// Seconds of this century; the general way knows about others, and milliseconds.
  bool time() {
    constexpr double sooner = 1e11;
    return from_.take_real(out_->timestamp_s) && out_->timestamp_s >= 0 && out_->timestamp_s <= sooner;
  }

  bool rank() {
    std::uint32_t number = 0;
    if (from_.take_nil()) return true;
    if (!from_.take_u32(number)) return false;
    out_->rank = core::dp_rank{number};
    return true;
  }

  bool events() {
    std::uint64_t left = 0;
    if (!from_.take_array(left) || left > max_batch_events) return false;
    while (left > 0) {
      if (!event()) return false;
      --left;
      left -= repeats(left);
    }
    return true;
  }

  bool event() {
    const unsigned char* const begin = from_.at();
    const bool is_map = is_map_next();
    std::uint64_t length = 0;
    std::string_view tag;
    if (!(is_map ? from_.take_map(length) : from_.take_array(length)) || length < 2) return false;
    if (is_map && (!from_.take_text(tag) || !is_same(tag, "type"))) return false;
    if (!from_.take_text(tag)) return false;
    const std::optional<core::event_kind> kind = kind_of_tag(tag);
    if (kind == core::event_kind::stored) {
      if (!stored(is_map, length - 1)) return false;
    } else if (kind != core::event_kind::removed || !removed(is_map, length - 1)) {
      return false;
    }
    count_ = &out_->counts.events[static_cast<std::size_t>(dialect_of(is_map))][static_cast<std::size_t>(*kind)];
    ++*count_;
    like_ = {};
    const auto bytes = static_cast<std::size_t>(from_.at() - begin);
    if (bytes < event_pattern::fewest_bytes || bytes > event_pattern::most_bytes) return true;
    if (const unsigned char* const name = fields_.only_name_at(); name != nullptr) {
      like_ = {begin, bytes, static_cast<std::size_t>(name + 1 - begin)};
    }
    return true;
  }

  /// As `read_array` and `read_map` of event_codec.cpp decide, of what is plain.
  [[nodiscard]] core::event_dialect dialect_of(bool is_map) const {
    using core::event_dialect;
    if (with_->type == core::publisher_type::sglang) return is_map ? event_dialect::sglang_map : event_dialect::sglang_array;
    if (!is_map) return event_dialect::vllm_array;
    return with_->type == core::publisher_type::tensorrt_llm ? event_dialect::tensorrt_llm : event_dialect::vllm_map;
  }

  bool stored(bool is_map, std::uint64_t fields) {
    auto& event = std::get<core::stored_event>(out_->events.emplace_back(std::in_place_type<core::stored_event>));
    if (!fields_.read(is_map, fields, event)) return false;
    event.has_tokens = !event.tokens.empty() || !event.locals.empty();
    if (event.parent && std::ranges::find(event.hashes, *event.parent) != event.hashes.end()) return false;
    const bool is_chain = event.has_tokens || event.parent;
    return !is_chain || !has_repeats(event.hashes, with_->sorted);
  }

  bool removed(bool is_map, std::uint64_t fields) {
    auto& event = std::get<core::removed_event>(out_->events.emplace_back(std::in_place_type<core::removed_event>));
    if (!fields_.read(is_map, fields, event)) return false;
    if (join_last_removals(out_->events)) ++out_->joined_events;
    return true;
  }

  /// Takes removals that are like the last event to the byte, but for the one name in them. Answers how many.
  std::uint64_t repeats(std::uint64_t most) {
    if (like_.event == nullptr || from_.left() < like_.length || !is_like_last(from_.at())) return 0;
    const std::size_t taken = count_alike(like_, from_.at(), std::min<std::size_t>(most, from_.left() / like_.length));
    const unsigned char* name = from_.at() + like_.gap - 1;
    std::size_t apart = 0;  // of these: begin an event of their own, since the one before has as many names as it may
    for (std::size_t left = taken; left > 0;) {
      auto* names = &std::get<core::removed_event>(out_->events.back()).hashes;
      if (names->size() == most_joined_names) {
        core::event_scope scope = std::get<core::removed_event>(out_->events.back()).scope;
        names = &std::get<core::removed_event>(out_->events.emplace_back(core::removed_event{std::move(scope), {}, false})).hashes;
        ++apart;
      }
      names->reserve(usual_joined_names);
      const std::size_t before = names->size();
      const std::size_t some = std::min(left, most_joined_names - before);
      names->resize(before + some);
      for (core::engine_hash& each : std::span(*names).last(some)) {
        each = wide_name(name);
        name += like_.length;
      }
      left -= some;
    }
    out_->joined_events += static_cast<std::uint32_t>(taken - apart);
    from_.go_to(from_.at() + taken * like_.length);
    *count_ += static_cast<std::uint32_t>(taken);
    return taken;
  }

  /// Asked first, inline: most events are followed by another sort.
  [[nodiscard]] bool is_like_last(const unsigned char* at) const { return is_same(at, like_.event, like_.gap); }

  msgpack_cursor from_;
  decode_context* with_;
  plain_fields fields_;
  core::event_batch* out_;
  std::uint32_t* count_ = nullptr;  ///< of events of the dialect and kind of the last one
  event_pattern like_;              ///< the last event, if the next ones may be like it; else there is no event in it
};

}  // namespace

bool read_plain_batch(std::span<const std::byte> payload, decode_context& with, core::event_batch& out) {
  // A mooncake publisher's arrays and maps are read by other rules, and what is larger might have more values than a tape takes.
  if (with.type == core::publisher_type::mooncake || payload.size() > msgpack_tape::max_nodes) return false;
  return plain_reader(payload, with, out).read();
}

}  // namespace kvc::net

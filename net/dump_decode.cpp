#include "net/dump_decode.hpp"

#include <limits>
#include <optional>
#include <string_view>

namespace kvc::net {
namespace {

constexpr std::uint64_t max_u32 = std::numeric_limits<std::uint32_t>::max();

/// Takes MessagePack values of expected types off the front of some bytes, in any of the forms a type may be written in. Fails for good
/// with the first that is not as expected; what is read afterwards is empty or zero.
class pack_cursor {
 public:
  explicit pack_cursor(std::span<const std::byte> bytes) : rest_(bytes) {}

  [[nodiscard]] bool ok() const noexcept { return ok_; }
  [[nodiscard]] std::span<const std::byte> rest() const noexcept { return rest_; }
  void fail() noexcept { ok_ = false; }

  std::uint64_t number(std::uint64_t most = std::numeric_limits<std::uint64_t>::max()) {
    const unsigned tag = take_tag();
    std::uint64_t value = tag;
    if (tag >= 0x80) value = tag >= 0xCC && tag <= 0xCF ? big_endian(std::size_t{1} << (tag - 0xCC)) : wrong();
    return value <= most ? value : wrong();
  }
  std::uint32_t u32() { return static_cast<std::uint32_t>(number(max_u32)); }
  std::uint16_t u16() { return static_cast<std::uint16_t>(number(0xFFFF)); }

  /// Nothing when the next value is nil, which is taken.
  bool is_nil() {
    if (!ok_ || rest_.empty() || rest_.front() != std::byte{0xC0}) return false;
    rest_ = rest_.subspan(1);
    return true;
  }
  bool boolean() {
    const unsigned tag = take_tag();
    if (tag != 0xC2 && tag != 0xC3) fail();
    return tag == 0xC3;
  }
  std::string_view text() {
    const unsigned tag = take_tag();
    std::uint64_t length = tag & 0x1FU;
    if (tag < 0xA0 || tag > 0xBF) length = tag >= 0xD9 && tag <= 0xDB ? big_endian(std::size_t{1} << (tag - 0xD9)) : wrong();
    const auto bytes = take(length);
    return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
  }
  std::span<const std::byte> binary() {
    const unsigned tag = take_tag();
    return take(tag >= 0xC4 && tag <= 0xC6 ? big_endian(std::size_t{1} << (tag - 0xC4)) : wrong());
  }
  std::uint32_t array() {
    const unsigned tag = take_tag();
    if (tag >= 0x90 && tag <= 0x9F) return tag & 0xFU;
    if (tag != 0xDC && tag != 0xDD) return static_cast<std::uint32_t>(wrong());
    return static_cast<std::uint32_t>(big_endian(tag == 0xDC ? 2 : 4));
  }
  void array_of(std::uint32_t elements) {
    if (array() != elements) fail();
  }

 private:
  std::uint64_t wrong() noexcept {
    ok_ = false;
    return 0;
  }
  std::span<const std::byte> take(std::uint64_t count) {
    if (!ok_ || count > rest_.size()) {
      ok_ = false;
      return {};
    }
    const auto taken = rest_.first(static_cast<std::size_t>(count));
    rest_ = rest_.subspan(taken.size());
    return taken;
  }
  unsigned take_tag() {
    const auto tag = take(1);
    return tag.empty() ? 0xC1U : std::to_integer<unsigned>(tag.front());  // 0xC1: no value begins with it
  }
  std::uint64_t big_endian(std::size_t bytes) {
    std::uint64_t value = 0;
    for (const std::byte each : take(bytes)) value = value << 8 | std::to_integer<std::uint64_t>(each);
    return value;
  }

  std::span<const std::byte> rest_;
  bool ok_ = true;
};

std::optional<core::seqno> read_seqno(pack_cursor& from) {
  if (from.is_nil()) return std::nullopt;
  return core::seqno{from.number()};
}

/// Appends little-endian hashes, at least one; answers how many.
template <class Hash>
std::uint32_t read_hashes(pack_cursor& from, std::vector<Hash>& into) {
  const auto bytes = from.binary();
  if (bytes.empty() || bytes.size() % 8 != 0) from.fail();
  if (!from.ok()) return 0;
  into.reserve(into.size() + bytes.size() / 8);
  for (std::size_t at = 0; at < bytes.size(); at += 8) {
    std::uint64_t hash = 0;
    for (unsigned i = 0; i < 8; ++i) hash |= std::to_integer<std::uint64_t>(bytes[at + i]) << (8 * i);
    into.push_back(Hash{hash});
  }
  return static_cast<std::uint32_t>(bytes.size() / 8);
}

void read_owner(pack_cursor& from, dump_owner& into) {
  into.worker.tenant = from.text();
  into.worker.instance = from.text();
  into.worker.rank = core::dp_rank{from.u32()};
  into.worker.kind = from.boolean() ? core::publisher_class::pool : core::publisher_class::engine;
  into.backend_id = from.text();
  into.copy_counting = from.boolean();
  into.seqno = read_seqno(from);
  if (into.worker.tenant.empty() || into.worker.instance.empty()) from.fail();
}

void read_home(pack_cursor& from, dump_home& into) {
  into.key.tenant = from.text();
  into.key.model = from.text();
  into.key.lora = from.text();
  into.key.salt = from.text();
  into.key.block_size = from.u32();
  into.seed = from.number();
  if (into.key.tenant.empty() || into.key.model.empty() || into.key.block_size == 0) from.fail();
}

void read_path(pack_cursor& from, core::dump_slice& into) {
  core::dump_slice::path told;
  told.number = from.u32();
  told.home = from.u16();
  if (!from.is_nil()) told.parent = static_cast<std::uint32_t>(from.number(core::dump_slice::no_path - 1));
  told.parent_offset = from.u32();
  told.base = from.u32();
  told.first_local = static_cast<std::uint32_t>(into.locals.size());
  told.count = read_hashes(from, into.locals);
  into.paths.push_back(told);
}

void read_part(pack_cursor& from, core::medium_table& media, core::dump_slice& into) {
  core::dump_slice::part told;
  told.path = from.u32();
  told.offset = from.u32();
  told.medium = media.intern(from.text());
  told.first_name = static_cast<std::uint32_t>(into.names.size());
  told.count = read_hashes(from, into.names);
  into.parts.push_back(told);
}

/// How many media a name is on: no more than there are.
std::uint32_t read_media(pack_cursor& from) {
  const std::uint32_t count = from.array();
  if (count == 0 || count > core::max_media) from.fail();
  return from.ok() ? count : 0;
}

void read_name(pack_cursor& from, core::medium_table& media, core::dump_slice& into) {
  core::dump_slice::odd_name told;
  told.name = core::engine_hash{from.number()};
  told.first_copy = static_cast<std::uint32_t>(into.copies.size());
  told.count = from.array();  // media, of which there may be several in each partition: no bound but the bytes themselves
  if (told.count == 0) from.fail();
  for (std::uint32_t i = 0; i < told.count && from.ok(); ++i) {
    core::dump_slice::copy each;
    from.array_of(5);
    each.medium = media.intern(from.text());
    each.count = from.u32();
    each.home = from.u16();
    if (from.is_nil()) {
      each.block = core::seq_hash{from.number()};
    } else {
      each.path = static_cast<std::uint32_t>(from.number(core::dump_slice::no_path - 1));
      each.offset = from.u32();
    }
    into.copies.push_back(each);
  }
  into.odd_names.push_back(told);
}

void read_waiting(pack_cursor& from, core::medium_table& media, core::dump_slice& into) {
  core::dump_slice::waiting_name told;
  told.name = core::engine_hash{from.number()};
  told.home = from.u16();
  if (!from.is_nil()) told.parent = core::engine_hash{from.number()};
  told.local = core::local_hash{from.number()};
  told.first_copy = static_cast<std::uint32_t>(into.waiting_copies.size());
  told.count = read_media(from);
  for (std::uint32_t i = 0; i < told.count && from.ok(); ++i) {
    from.array_of(2);
    const core::medium_id medium = media.intern(from.text());
    into.waiting_copies.push_back({medium, from.u32()});
  }
  into.waiting.push_back(told);
}

/// Fields behind the kind of a record.
std::uint32_t fields_of(dump_kind kind) {
  switch (kind) {
    case dump_kind::header: return 2;
    case dump_kind::owner: return 7;
    case dump_kind::home: return 6;
    case dump_kind::path: return 6;
    case dump_kind::part: return 4;
    case dump_kind::name: return 2;
    case dump_kind::waiting: return 5;
    case dump_kind::end: return 2;
    case dump_kind::end_of_dump: return 1;
  }
  return 0;
}

}  // namespace

bool dump_decoder::read_header() {
  pack_cursor from(rest_);
  from.array_of(3);
  const bool is_dump = from.number() == 0 && from.text() == dump_magic && from.number() == dump_version && from.ok();
  rest_ = from.rest();
  has_header_ = is_dump;
  return is_dump;
}

result<dump_decoder::record> dump_decoder::next() {
  slice.clear();
  if (!has_header_ && !read_header()) return errc::malformed_dump;
  // A slice is told in one order, so that a record of an earlier sort begins the next one.
  dump_kind newest = dump_kind::header;
  for (;;) {
    pack_cursor from(rest_);
    const std::uint32_t elements = from.array();
    const auto kind = static_cast<dump_kind>(from.number(static_cast<std::uint64_t>(dump_kind::end_of_dump)));
    if (!from.ok() || elements != fields_of(kind) + 1) return errc::malformed_dump;
    const bool is_told_in_slices = kind >= dump_kind::path && kind <= dump_kind::waiting;
    const dump_kind rank = kind == dump_kind::waiting ? dump_kind::home : kind;  // those are told first
    const bool is_slice_done =
        newest != dump_kind::header && (!is_told_in_slices || rank < newest || slice.blocks() + slice.locals.size() >= blocks_per_slice);
    if (is_slice_done) return record::slice;
    if (is_in_worker_ == (kind == dump_kind::owner || kind == dump_kind::end_of_dump)) return errc::malformed_dump;

    record found = record::slice;
    switch (kind) {
      case dump_kind::header: return errc::malformed_dump;
      case dump_kind::owner:
        read_owner(from, owner);
        is_in_worker_ = true;
        found = record::owner;
        break;
      case dump_kind::home:
        read_home(from, home);
        found = record::home;
        break;
      case dump_kind::path: read_path(from, slice); break;
      case dump_kind::part: read_part(from, *media_, slice); break;
      case dump_kind::name: read_name(from, *media_, slice); break;
      case dump_kind::waiting: read_waiting(from, *media_, slice); break;
      case dump_kind::end:
        end.seqno = read_seqno(from);
        end.blocks = from.number();
        is_in_worker_ = false;
        ++workers_;
        found = record::end;
        break;
      case dump_kind::end_of_dump:
        if (from.number() != workers_ || !from.rest().empty()) from.fail();
        found = record::end_of_dump;
        break;
    }
    if (!from.ok()) return errc::malformed_dump;
    rest_ = from.rest();
    if (found != record::slice) return found;
    newest = rank;
  }
}

}  // namespace kvc::net

#include "perf/bench_workload.hpp"

#include <cerrno>
#include <cstring>
#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>
#include <utility>

namespace kvc::perf {
namespace {

constexpr std::uint32_t kvwl_magic = 0x4B56'574C;
constexpr std::size_t header_bytes = 20;  // magic, version, workers (u32 each) and operations (u64)

template <class Value>
Value read_at(std::span<const std::byte> bytes, std::size_t offset) {
  Value value;
  std::memcpy(&value, bytes.data() + offset, sizeof(value));
  return value;
}

std::string system_fault() {
  return std::strerror(errno);
}

/// What a reader needs to find the fault: which operation, and the byte at which it begins.
std::string fault_at(std::uint64_t operation, std::uint64_t operations, std::size_t offset, const std::string& reason) {
  return "operation " + std::to_string(operation) + " of " + std::to_string(operations) + ", at byte " + std::to_string(offset) + ": " +
         reason;
}

}  // namespace

boost::system::result<bench_workload, std::string> bench_workload::open(const std::string& path) {
  const int file = ::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK);
  if (file < 0) return system_fault();
  struct stat about {};
  const bool is_plain = ::fstat(file, &about) == 0 && S_ISREG(about.st_mode);
  const auto size = is_plain ? static_cast<std::size_t>(about.st_size) : 0;
  if (size < header_bytes) {
    ::close(file);
    if (!is_plain) return std::string("is not a plain file");
    return "has " + std::to_string(size) + " bytes; the header of a KVWL file alone takes " + std::to_string(header_bytes);
  }
  void* mapped = ::mmap(nullptr, size, PROT_READ, MAP_PRIVATE, file, 0);
  const std::string fault = mapped == MAP_FAILED ? system_fault() : std::string();
  ::close(file);
  if (!fault.empty()) return fault;
  ::madvise(mapped, size, MADV_SEQUENTIAL);
  bench_workload opened;
  opened.bytes_ = {static_cast<const std::byte*>(mapped), size};
  if (read_at<std::uint32_t>(opened.bytes_, 0) != kvwl_magic) {
    return std::string("is not a KVWL workload (it does not begin with the magic number 4B56574C); `kv-conductor-bench make` writes one");
  }
  if (const auto version = read_at<std::uint32_t>(opened.bytes_, 4); version != 1) {
    return "is of KVWL version " + std::to_string(version) + "; this program reads version 1";
  }
  opened.workers_ = read_at<std::uint32_t>(opened.bytes_, 8);
  opened.operations_ = read_at<std::uint64_t>(opened.bytes_, 12);
  if (opened.workers_ == 0 || opened.workers_ > max_workers) {
    return "says it has " + std::to_string(opened.workers_) + " workers; 1 to " + std::to_string(max_workers) + " can be played";
  }
  if (const std::string damage = opened.find_damage(); !damage.empty()) return damage;
  return opened;
}

std::string bench_workload::find_damage() const {
  cursor at(*this);
  while (at.left() != 0) {
    const std::size_t offset = bytes_.size() - at.rest();
    const std::string reason = at.skip(workers_);
    if (!reason.empty()) return fault_at(operations_ - at.left() + 1, operations_, offset, reason);
  }
  if (at.rest() == 0) return {};
  std::string reason =
      std::to_string(at.rest()) + " bytes follow the last operation, from byte " + std::to_string(bytes_.size() - at.rest());
  if (operations_ == 0) reason += "; whoever wrote the file was stopped before it could write the number of operations";
  return reason;
}

bench_workload::bench_workload(bench_workload&& other) noexcept
    : bytes_(std::exchange(other.bytes_, {})), workers_(other.workers_), operations_(other.operations_) {}

bench_workload::~bench_workload() {
  if (!bytes_.empty()) ::munmap(const_cast<std::byte*>(bytes_.data()), bytes_.size());
}

bench_workload::cursor::cursor(const bench_workload& of) : rest_(of.bytes_.subspan(header_bytes)), left_(of.operations_) {}

template <class Value>
bool bench_workload::cursor::take(Value& into) {
  if (rest_.size() < sizeof(Value)) return false;
  into = read_at<Value>(rest_, 0);
  rest_ = rest_.subspan(sizeof(Value));
  return true;
}

template <class Hash>
bool bench_workload::cursor::take_hashes(std::size_t count, std::vector<Hash>& into) {
  if (rest_.size() / sizeof(Hash) < count) return false;
  into.resize(count);
  if (count != 0) std::memcpy(static_cast<void*>(into.data()), rest_.data(), count * sizeof(Hash));
  rest_ = rest_.subspan(count * sizeof(Hash));
  return true;
}

std::string bench_workload::cursor::skip(std::uint32_t workers) {
  const auto cut = [&](std::uint64_t wanted) {
    return "the file ends here; the operation needs at least " + std::to_string(wanted) + " bytes, and " + std::to_string(rest_.size()) +
           " are left";
  };
  if (rest_.empty()) return cut(1);
  const auto kind = static_cast<bench_kind>(read_at<std::uint8_t>(rest_, 0));
  std::size_t head = 0;  // bytes before the blocks; the last four count them
  std::size_t bytes_per_block = 0;
  switch (kind) {
    case bench_kind::query:
      head = 5;
      bytes_per_block = 8;
      break;
    case bench_kind::remove:
      head = 9;
      bytes_per_block = 8;
      break;
    case bench_kind::store:
      head = 18;
      bytes_per_block = 16;
      break;
    default: return "its kind is " + std::to_string(static_cast<unsigned>(kind)) + "; 1 is a store, 2 a removal, 3 a query";
  }
  if (rest_.size() < head) return cut(head);
  if (kind != bench_kind::query && read_at<std::uint32_t>(rest_, 1) >= workers) {
    return "its worker is " + std::to_string(read_at<std::uint32_t>(rest_, 1)) + ", and the header counts " + std::to_string(workers) +
           " from 0";
  }
  const std::size_t needed = head + read_at<std::uint32_t>(rest_, head - 4) * bytes_per_block;
  if (rest_.size() < needed) return cut(needed);
  rest_ = rest_.subspan(needed);
  --left_;
  return {};
}

bool bench_workload::cursor::next(bench_op& into) {
  std::uint8_t kind = 0;
  if (left_ == 0 || !take(kind)) return false;
  --left_;
  into.kind = static_cast<bench_kind>(kind);
  std::uint32_t count = 0;
  switch (into.kind) {
    case bench_kind::query: return take(count) && take_hashes(count, into.locals);
    case bench_kind::remove: return take(into.worker) && take(count) && take_hashes(count, into.names);
    case bench_kind::store: {
      std::uint64_t parent = 0;
      std::uint8_t has_parent = 0;
      if (!take(into.worker) || !take(parent) || !take(has_parent) || !take(count)) return false;
      into.parent = core::engine_hash{parent};
      into.has_parent = has_parent != 0;
      if (rest_.size() / 16 < count) return false;
      into.names.resize(count);
      into.locals.resize(count);
      for (std::size_t i = 0; i < count; ++i) {
        into.locals[i] = core::local_hash{read_at<std::uint64_t>(rest_, i * 16)};
        into.names[i] = core::engine_hash{read_at<std::uint64_t>(rest_, i * 16 + 8)};
      }
      rest_ = rest_.subspan(std::size_t{count} * 16);
      return true;
    }
  }
  return false;
}

}  // namespace kvc::perf

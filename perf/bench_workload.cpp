#include "perf/bench_workload.hpp"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <utility>

namespace kvc::perf {
namespace {

constexpr std::uint32_t kvwl_magic = 0x4B56'574C;
constexpr std::size_t header_bytes = 20;  // magic, version, workers (u32 each) and operations (u64)

boost::system::error_code last_error() { return {errno, boost::system::system_category()}; }

template <class Value>
Value read_at(std::span<const std::byte> bytes, std::size_t offset) {
  Value value;
  std::memcpy(&value, bytes.data() + offset, sizeof(value));
  return value;
}

}  // namespace

boost::system::result<bench_workload> bench_workload::open(const std::string& path) {
  const int file = ::open(path.c_str(), O_RDONLY | O_CLOEXEC);
  if (file < 0) return last_error();
  struct stat about {};
  if (::fstat(file, &about) != 0 || static_cast<std::size_t>(about.st_size) < header_bytes) {
    ::close(file);
    return boost::system::errc::make_error_code(boost::system::errc::invalid_argument);
  }
  const auto size = static_cast<std::size_t>(about.st_size);
  void* mapped = ::mmap(nullptr, size, PROT_READ, MAP_PRIVATE, file, 0);
  const auto failure = last_error();
  ::close(file);
  if (mapped == MAP_FAILED) return failure;
  ::madvise(mapped, size, MADV_SEQUENTIAL);
  bench_workload opened;
  opened.bytes_ = {static_cast<const std::byte*>(mapped), size};
  if (read_at<std::uint32_t>(opened.bytes_, 0) != kvwl_magic || read_at<std::uint32_t>(opened.bytes_, 4) != 1) {
    return boost::system::errc::make_error_code(boost::system::errc::invalid_argument);
  }
  opened.workers_ = read_at<std::uint32_t>(opened.bytes_, 8);
  opened.operations_ = read_at<std::uint64_t>(opened.bytes_, 12);
  return opened;
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

bool bench_workload::cursor::next(bench_op& into) {
  std::uint8_t kind = 0;
  if (left_ == 0 || !take(kind)) return false;
  --left_;
  into.kind = static_cast<bench_kind>(kind);
  std::uint32_t count = 0;
  switch (into.kind) {
    case bench_kind::query:
      return take(count) && take_hashes(count, into.locals);
    case bench_kind::remove:
      return take(into.worker) && take(count) && take_hashes(count, into.names);
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

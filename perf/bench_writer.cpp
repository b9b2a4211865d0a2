#include "perf/bench_writer.hpp"

#include <cerrno>
#include <cstring>
#include <filesystem>
#include <system_error>
#include <utility>

namespace kvc::perf {
namespace {

constexpr std::uint32_t kvwl_magic = 0x4B56'574C;
constexpr std::uint32_t kvwl_version = 1;

}  // namespace

bench_writer::bench_writer(std::string path, std::uint32_t workers)
    : path_(std::move(path)), part_(path_ + ".part"), buffer_(std::size_t{1} << 20), workers_(workers) {
  // What is not a plain file (a device, a folder) must not be replaced by one.
  std::error_code ignored;
  const auto there = std::filesystem::symlink_status(path_, ignored);
  if (std::filesystem::exists(there) && !std::filesystem::is_regular_file(there)) {
    error_ = path_ + " is there and is not a plain file";
    return;
  }
  file_.reset(std::fopen(part_.c_str(), "wbe"));
  if (!file_) {
    fail("cannot write " + part_);
    return;
  }
  std::setvbuf(file_.get(), buffer_.data(), _IOFBF, buffer_.size());
  put_header(workers_);
}

bench_writer::~bench_writer() {
  if (!file_) return;
  file_.reset();
  std::remove(part_.c_str());
}

void bench_writer::fail(const std::string& what) {
  if (error_.empty()) error_ = what + ": " + std::strerror(errno);
}

void bench_writer::put_bytes(const void* from, std::size_t count) {
  if (!error_.empty() || count == 0) return;
  if (std::fwrite(from, 1, count, file_.get()) != count) fail("cannot write to " + part_);
}

template <class Value>
void bench_writer::put(const Value& value) {
  put_bytes(&value, sizeof(value));
}

void bench_writer::put_header(std::uint32_t workers) {
  put(kvwl_magic);
  put(kvwl_version);
  put(workers);
  put(counts_.operations);
}

void bench_writer::query(std::span<const core::local_hash> locals) {
  put(std::uint8_t{3});
  put(static_cast<std::uint32_t>(locals.size()));
  put_bytes(locals.data(), locals.size_bytes());
  ++counts_.operations;
  ++counts_.queries;
  counts_.queried_blocks += locals.size();
}

void bench_writer::store(std::uint32_t worker, const core::engine_hash* parent, std::span<const core::engine_hash> names,
                         std::span<const core::local_hash> locals) {
  put(std::uint8_t{1});
  put(worker);
  put(parent == nullptr ? std::uint64_t{0} : parent->get());
  put(static_cast<std::uint8_t>(parent != nullptr));
  put(static_cast<std::uint32_t>(names.size()));
  for (std::size_t i = 0; i < names.size(); ++i) {
    put(locals[i].get());
    put(names[i].get());
  }
  ++counts_.operations;
  counts_.stored_blocks += names.size();
}

void bench_writer::remove(std::uint32_t worker, std::span<const core::engine_hash> names) {
  put(std::uint8_t{2});
  put(worker);
  put(static_cast<std::uint32_t>(names.size()));
  put_bytes(names.data(), names.size_bytes());
  ++counts_.operations;
  counts_.removed_blocks += names.size();
}

bool bench_writer::finish() {
  if (error_.empty() && std::fseek(file_.get(), 0, SEEK_SET) != 0) fail("cannot write the header of " + part_);
  if (error_.empty()) put_header(workers_);
  if (error_.empty() && std::fflush(file_.get()) != 0) fail("cannot write to " + part_);
  if (error_.empty() && std::rename(part_.c_str(), path_.c_str()) != 0) fail("cannot name the file " + path_);
  if (!error_.empty()) return false;
  file_.reset();
  return true;
}

}  // namespace kvc::perf

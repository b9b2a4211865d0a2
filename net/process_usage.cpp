#include "net/process_usage.hpp"

#include <array>
#include <charconv>
#include <dirent.h>
#include <fcntl.h>
#include <memory>
#include <string_view>
#include <sys/resource.h>
#include <sys/stat.h>
#include <system_error>
#include <unistd.h>

namespace kvc::net {
namespace {

double seconds_of(const timeval& time) noexcept {
  return static_cast<double>(time.tv_sec) + static_cast<double>(time.tv_usec) * 1e-6;
}

/// The first two numbers of /proc/self/statm are pages: mapped, and in memory. (Source: proc(5).)
void read_memory(process_usage& into) noexcept {
  const int file = ::open("/proc/self/statm", O_RDONLY | O_CLOEXEC);
  if (file < 0) return;
  std::array<char, 256> text;
  const ssize_t size = ::read(file, text.data(), text.size());
  ::close(file);
  if (size <= 0) return;
  const char* const end = text.data() + size;
  std::uint64_t mapped = 0;
  std::uint64_t resident = 0;
  const auto first = std::from_chars(text.data(), end, mapped);
  if (first.ec != std::errc{} || first.ptr == end) return;
  if (std::from_chars(first.ptr + 1, end, resident).ec != std::errc{}) return;
  const auto page = static_cast<std::uint64_t>(::sysconf(_SC_PAGESIZE));
  into.virtual_bytes = mapped * page;
  into.resident_bytes = resident * page;
}

std::optional<std::uint64_t> count_descriptors() noexcept {
  constexpr const char* folder = "/proc/self/fd";
  // Since Linux 6.2 its size is how many there are; before, it is 0.
  struct stat told {};
  if (::stat(folder, &told) == 0 && told.st_size > 0) return static_cast<std::uint64_t>(told.st_size);
  struct closing {
    void operator()(DIR* open) const noexcept { ::closedir(open); }
  };
  const std::unique_ptr<DIR, closing> entries(::opendir(folder));
  if (!entries) return std::nullopt;
  std::uint64_t count = 0;
  while (const dirent* each = ::readdir(entries.get())) {
    if (std::string_view(each->d_name).front() != '.') ++count;
  }
  return count - 1;  // the one by which they were counted
}

}  // namespace

process_usage process_usage_now() noexcept {
  process_usage now;
  rusage used{};
  if (::getrusage(RUSAGE_SELF, &used) == 0) now.cpu_seconds = seconds_of(used.ru_utime) + seconds_of(used.ru_stime);
  read_memory(now);
  now.open_descriptors = count_descriptors();
  rlimit limit{};
  if (::getrlimit(RLIMIT_NOFILE, &limit) == 0 && limit.rlim_cur != RLIM_INFINITY) now.most_descriptors = limit.rlim_cur;
  return now;
}

}  // namespace kvc::net

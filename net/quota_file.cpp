#include "net/quota_file.hpp"

#include <cerrno>
#include <exception>
#include <fcntl.h>
#include <filesystem>
#include <string_view>
#include <system_error>
#include <unistd.h>
#include <utility>

#include <boost/asio/bind_cancellation_slot.hpp>
#include <boost/asio/cancellation_signal.hpp>
#include <boost/asio/co_spawn.hpp>
#include <boost/asio/error.hpp>
#include <boost/asio/post.hpp>
#include <boost/asio/redirect_error.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <boost/system/system_error.hpp>

#include "net/answer_writer.hpp"
#include "net/errc.hpp"
#include "net/field_reading.hpp"
#include "net/json_tree.hpp"
#include "net/log.hpp"

namespace kvc::net {
namespace {

constexpr std::size_t quotas_per_slice = 4'096;

std::string last_failure() {
  return std::generic_category().message(errno);
}

/// Writes all of it and has it brought to the disk; the reason when that failed.
std::optional<std::string> write_synced(int file, std::string_view text) {
  while (!text.empty()) {
    const ssize_t written = ::write(file, text.data(), text.size());
    if (written < 0 && errno == EINTR) continue;
    if (written < 0) return last_failure();
    text.remove_prefix(static_cast<std::size_t>(written));
  }
  if (::fsync(file) != 0) return last_failure();
  return std::nullopt;
}

/// `.` of a name alone.
std::string folder_of(const std::string& path) {
  const std::string folder = std::filesystem::path(path).parent_path().string();
  return folder.empty() ? "." : folder;
}

/// Where the file itself lies, or will: a link that is put there again at the next start must not lead to old quotas.
std::string behind_links(std::string path) {
  if (path.empty()) return path;
  std::error_code unknown;
  const std::filesystem::path found = std::filesystem::weakly_canonical(path, unknown);
  return unknown ? path : found.string();
}

/// The first change of a quota would find out too, but whoever starts the service is there now. Asked for, not tried: another process may
/// be writing there at this moment.
void warn_if_nothing_can_be_written(const std::string& path) {
  if (::faccessat(AT_FDCWD, folder_of(path).c_str(), W_OK | X_OK, AT_EACCESS) == 0) return;
  log::warn(log::module::fleet, "changes of quotas cannot be written", {{"file", path}, {"reason", last_failure()}});
}

/// A descriptor that is closed whichever way its scope is left: to write down what failed may fail as well, for want of memory.
class open_file {
 public:
  explicit open_file(int descriptor) noexcept : descriptor_(descriptor) {}
  ~open_file() { static_cast<void>(close()); }
  open_file(const open_file&) = delete;
  open_file& operator=(const open_file&) = delete;

  [[nodiscard]] int get() const noexcept { return descriptor_; }
  /// Once. False when that failed, see errno.
  [[nodiscard]] bool close() noexcept {
    const int gone = std::exchange(descriptor_, -1);
    return gone < 0 || ::close(gone) == 0;
  }

 private:
  int descriptor_;
};

/// On the writer's thread.
std::optional<std::string> replace_file(const std::string& path, const std::string& text) {
  const std::string fresh = path + ".new";
  open_file file(::open(fresh.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0640));
  if (file.get() < 0) return last_failure();
  std::optional<std::string> failed = write_synced(file.get(), text);
  if (!file.close() && !failed) failed = last_failure();
  if (!failed && ::rename(fresh.c_str(), path.c_str()) != 0) failed = last_failure();
  if (failed) {
    static_cast<void>(::unlink(fresh.c_str()));
    return failed;
  }
  // The name is on the disk once the folder is; some file systems cannot, and have it there anyway.
  const open_file entry(::open(folder_of(path).c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  if (entry.get() >= 0) static_cast<void>(::fsync(entry.get()));
  return std::nullopt;
}

/// On the writer's thread. `replace` outlives the thread.
asio::awaitable<std::optional<std::string>> replaced_by(const quota_file::replacer& replace, std::string path, std::string text) {
  co_return replace(path, text);
}

/// What was thrown, in words; there may be no memory for long ones.
std::string words_of(const std::exception& failure) noexcept {
  try {
    return failure.what();
  } catch (...) {
    return "no memory";
  }
}

/// A limit in GiB that has a meaning in bytes.
std::optional<double> bytes_of(const tape_value& value) {
  field_faults unheard;
  using enum tape_node::kind;
  if (!value.is(unsigned_integer) && !value.is(negative_integer) && !value.is(real)) return std::nullopt;
  const auto gib = read_real(value, field_place("file"), unheard);
  if (!gib) return std::nullopt;
  const core::result<double> bytes = core::quota_bytes_of_gib(*gib);
  if (!bytes) return std::nullopt;
  return *bytes;
}

bool take_quota(const tape_value& row, core::quota_table& into) {
  const tape_value salt = find_member(row, "cache_salt");
  const std::optional<double> bytes = bytes_of(find_member(row, "limit_gb"));
  if (!salt.is(tape_node::kind::string) || !bytes || into.all().contains(salt.text()))
    return false;  // of two limits neither is the right one
  return into.set(salt.text(), *bytes).has_value();
}

/// The whole file. Answers 0, or the system's number of what is wrong.
int read_all(const std::string& path, std::string& text) {
  const int file = ::open(path.c_str(), O_RDONLY | O_CLOEXEC);
  if (file < 0) return errno;
  std::string chunk(std::size_t{64} << 10, '\0');
  ssize_t got = 0;
  while ((got = ::read(file, chunk.data(), chunk.size())) > 0) text.append(chunk, 0, static_cast<std::size_t>(got));
  const int failed = got < 0 ? errno : 0;
  static_cast<void>(::close(file));
  return failed;
}

/// Puts what the text says into the table. Answers what is wrong with it.
std::optional<std::string> take_all(const std::string& text, core::quota_table& into) {
  json_tree tree;
  if (const auto wrong = tree.parse(text)) return wrong->what + " at byte " + std::to_string(wrong->offset);
  const tape_value limit = find_member(tree.root(), "default_limit_gb");
  const tape_value quotas = find_member(tree.root(), "quotas");
  const std::optional<double> default_bytes = bytes_of(limit);
  if (!limit.is_present() || (limit.has_value() && !default_bytes)) return "default_limit_gb is no limit";
  if (!quotas.is(tape_node::kind::array)) return "quotas is no list";
  tape_value each = quotas.length() == 0 ? tape_value() : quotas.first();
  for (std::uint32_t i = 0; i < quotas.length(); ++i) {
    if (!take_quota(each, into)) return "quotas[" + std::to_string(i) + "] is no quota";
    if (i + 1 < quotas.length()) each = each.next();
  }
  into.set_default_limit(default_bytes);
  return std::nullopt;
}

}  // namespace

quota_file::quota_file(asio::any_io_executor home, std::string path, replacer replace)
    : path_(behind_links(std::move(path))),
      replace_(replace ? std::move(replace) : replacer(replace_file)),
      home_(std::move(home)),
      finished_(home_, asio::steady_timer::time_point::max()) {
  if (is_used()) writer_ = std::make_unique<asio::thread_pool>(1);
}
quota_file::~quota_file() = default;

std::optional<std::string> quota_file::load(core::quota_table& into) const {
  if (!is_used()) return std::nullopt;
  std::string text;
  // A pipe, say, in which nobody may ever write.
  std::error_code unseen;
  if (std::filesystem::is_other(path_, unseen)) return "it is no regular file";
  const int failed = read_all(path_, text);
  if (failed == ENOENT || failed == ENOTDIR) {
    log::info(log::module::fleet, "no quota file yet", {{"file", path_}});
    warn_if_nothing_can_be_written(path_);
    return std::nullopt;
  }
  // A file that cannot be looked at may hold the quotas that keep everything from being deleted.
  if (failed != 0) return std::generic_category().message(failed);
  if (std::optional<std::string> wrong = take_all(text, into)) return wrong;
  log::info(log::module::fleet, "quotas read", {{"file", path_}, {"quotas", into.all().size()}});
  warn_if_nothing_can_be_written(path_);
  return std::nullopt;
}

asio::awaitable<std::string> quota_file::written_down(const core::quota_table& from) const {
  std::string text;
  answer_writer out(text, wire_form::json);
  out.object();
  out.key("default_limit_gb");
  if (const auto limit = from.default_limit()) {
    out.real(core::gib_of_bytes(*limit));
  } else {
    out.nothing();
  }
  out.key("quotas");
  out.list();
  std::string last;
  auto each = from.all().begin();
  for (std::size_t in_slice = 0; each != from.all().end();) {
    out.object(2);
    out.member("cache_salt", each->first);
    out.key("limit_gb");
    out.real(core::gib_of_bytes(each->second));
    out.end_object();
    last = each->first;
    ++each;
    if (++in_slice < quotas_per_slice) continue;
    in_slice = 0;
    co_await asio::post(home_, asio::use_awaitable);
    each = from.all().upper_bound(last);  // the table may have changed
  }
  out.end_list();
  out.end_object();
  text += '\n';
  co_return text;
}

asio::awaitable<std::optional<std::string>> quota_file::save(const core::quota_table& from) {
  if (!is_used()) co_return std::nullopt;
  const std::uint64_t mine = ++asked_;
  while (tried_ < mine) {
    if (is_writing_) {
      error_code woken;
      co_await finished_.async_wait(asio::redirect_error(asio::use_awaitable, woken));
      continue;
    }
    is_writing_ = true;
    const std::uint64_t covered = asked_;
    std::exception_ptr given_up;
    try {
      std::string text = co_await written_down(from);
      // What has begun is ended: a signal may only be used on its own thread.
      outcome_ = co_await asio::co_spawn(*writer_, replaced_by(replace_, path_, std::move(text)),
                                         asio::bind_cancellation_slot(asio::cancellation_slot(), asio::use_awaitable));
    } catch (const boost::system::system_error& failure) {
      if (failure.code() == asio::error::operation_aborted) given_up = std::current_exception();
      outcome_ = words_of(failure);
    } catch (const std::exception& failure) {
      outcome_ = words_of(failure);
    } catch (...) {
      outcome_ = "unknown";
    }
    // Whatever has happened: else all who ask from now on would wait for ever.
    is_writing_ = false;
    finished_.cancel();
    if (given_up) std::rethrow_exception(given_up);  // by this caller alone: whoever waits writes in its place
    if (outcome_) ++failures_;
    tried_ = covered;
  }
  co_return outcome_;
}

}  // namespace kvc::net

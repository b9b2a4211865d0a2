#include "app/log_sink.hpp"

#include <array>
#include <charconv>
#include <chrono>
#include <csignal>
#include <cstddef>
#include <cstdint>
#include <fcntl.h>
#include <filesystem>
#include <fstream>
#include <set>
#include <string>
#include <string_view>
#include <thread>
#include <unistd.h>

#include <boost/test/unit_test.hpp>

#include "net/log.hpp"
#include "net/log_losses.hpp"

BOOST_AUTO_TEST_SUITE(log_sink)

using namespace kvc;

namespace {

/// The names of the folders that /proc has of them.
std::set<std::string> threads_of_ours() {
  std::set<std::string> all;
  for (const auto& each : std::filesystem::directory_iterator("/proc/self/task")) all.insert(each.path().string());
  return all;
}

/// One bit per signal, the lowest for number 1.
std::uint64_t blocked_signals(const std::string& thread) {
  std::ifstream status(thread + "/status");
  std::string word;
  while (status >> word && word != "SigBlk:") continue;
  status >> word;
  return std::stoull(word, nullptr, 16);
}

/// Standard error as a pipe, for as long as it lives.
class caught_standard_error {
 public:
  caught_standard_error() : before_(dup(STDERR_FILENO)) {
    std::array<int, 2> ends{};
    BOOST_REQUIRE(pipe2(ends.data(), O_CLOEXEC) == 0);
    read_from_ = ends[0];
    dup2(ends[1], STDERR_FILENO);
    close(ends[1]);
  }
  ~caught_standard_error() {
    give_back();
    close(read_from_);
  }
  caught_standard_error(const caught_standard_error&) = delete;
  caught_standard_error& operator=(const caught_standard_error&) = delete;

  /// Ends the pipe: who reads comes to its end.
  void give_back() {
    if (before_ < 0) return;
    dup2(before_, STDERR_FILENO);
    close(before_);
    before_ = -1;
  }

  [[nodiscard]] std::string read_to_end() const {
    std::string all;
    std::array<char, 65'536> chunk{};
    for (ssize_t got = 1; got > 0;) {
      got = read(read_from_, chunk.data(), chunk.size());
      if (got > 0) all.append(chunk.data(), static_cast<std::size_t>(got));
    }
    return all;
  }

 private:
  int before_;
  int read_from_ = -1;
};

std::size_t count_of(std::string_view text, std::string_view part) {
  std::size_t count = 0;
  for (std::size_t at = text.find(part); at != std::string_view::npos; at = text.find(part, at + 1)) ++count;
  return count;
}

/// The sum of all numbers that stand behind `name`.
std::size_t sum_of(std::string_view text, std::string_view name) {
  std::size_t sum = 0;
  for (std::size_t at = text.find(name); at != std::string_view::npos; at = text.find(name, at + 1)) {
    std::size_t number = 0;
    std::from_chars(text.data() + at + name.size(), text.data() + text.size(), number);
    sum += number;
  }
  return sum;
}

}  // namespace

BOOST_AUTO_TEST_CASE(lines_that_were_dropped_are_told_where_they_are_missing_and_before_the_end) {
  // Who reads a log with a hole in it must see the hole, in the form that the rest of the log has.
  constexpr std::size_t lines = 20'000;  // more than a pipe and the queue hold
  caught_standard_error caught;
  std::string all;
  {
    app::log_sink sink(true);
    for (std::size_t i = 0; i < lines; ++i) {
      net::log::info(net::log::module::app, "line", {{"number", i}, {"of", "a log that nobody reads for a while"}});
    }
    BOOST_TEST(!sink.write_out(std::chrono::milliseconds(10)), "the reader hangs, and waiting has an end");
    BOOST_TEST(net::log::lost_lines() > 0U, "who looks at the metrics must not be told that nothing is lost meanwhile");
    std::thread reader([&] { all = caught.read_to_end(); });
    BOOST_TEST(sink.write_out(std::chrono::seconds(60)));
    caught.give_back();
    reader.join();
  }

  const std::size_t dropped = sum_of(all, "<4>app log lines dropped lines=");
  BOOST_TEST(dropped > 0U);
  BOOST_TEST(all.find("<4>app log lines dropped") < all.find("<6>app line number=19999 "));
  BOOST_TEST(count_of(all, "<6>app line ") + dropped == lines);
  BOOST_TEST(net::log::lost_lines() == dropped);
}

BOOST_AUTO_TEST_CASE(lines_that_standard_error_refuses_are_counted) {
  // A full disk behind `2>file`: the page of metrics is all that can still tell.
  const int before = dup(STDERR_FILENO);
  const int full = open("/dev/full", O_WRONLY | O_CLOEXEC);
  BOOST_REQUIRE(full >= 0);
  {
    app::log_sink sink(false);
    dup2(full, STDERR_FILENO);
    for (int i = 0; i < 3; ++i) net::log::info(net::log::module::app, "line", {{"number", i}});
    BOOST_TEST(sink.write_out(std::chrono::seconds(60)));
    BOOST_TEST(net::log::lost_lines() == 3U);
    dup2(before, STDERR_FILENO);
    net::log::info(net::log::module::app, "line", {{"number", 3}});
    BOOST_TEST(sink.write_out(std::chrono::seconds(60)));
    BOOST_TEST(net::log::lost_lines() == 3U);
  }
  close(full);
  close(before);
}

BOOST_AUTO_TEST_CASE(the_thread_that_writes_takes_no_signals) {
  // It outlives whoever listens for them: a TERM right at the end would have ended the process by it, with another exit code than the log
  // tells.
  const std::set<std::string> before = threads_of_ours();
  app::log_sink sink(false);
  BOOST_REQUIRE(sink.write_out(std::chrono::seconds(60)));
  std::size_t looked_at = 0;
  for (const std::string& each : threads_of_ours()) {
    if (before.contains(each)) continue;
    ++looked_at;
    const std::uint64_t blocked = blocked_signals(each);
    for (const int signal : {SIGTERM, SIGINT, SIGHUP}) BOOST_TEST((blocked >> static_cast<unsigned>(signal - 1) & 1U) == 1U, signal);
  }
  BOOST_TEST(looked_at == 1U);
}

BOOST_AUTO_TEST_SUITE_END()

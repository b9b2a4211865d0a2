// Reads the configuration and does what it asks for.
#include <csignal>
#include <cstdint>
#include <cstdio>
#include <exception>
#include <random>
#include <string>
#include <utility>
#include <vector>

#include "app/application.hpp"
#include "app/config.hpp"
#include "app/process_limits.hpp"
#include "app/publishers.hpp"
#include "app/quota_check.hpp"
#include "core/spread.hpp"

namespace {

using kvc::app::command;
using kvc::app::exit_code;

void print(std::FILE* where, const std::string& text) {
  static_cast<void>(std::fputs(text.c_str(), where));
}

/// What was asked for and is all there is to do: the exit code says whether it could be written.
exit_code answer(const std::string& text) {
  print(stdout, text);
  const bool is_written = std::fflush(stdout) == 0 && std::ferror(stdout) == 0;
  if (!is_written) print(stderr, "kv-conductor: cannot write to standard output\n");
  return is_written ? exit_code::stopped : exit_code::failed;
}

void show_warnings(const std::vector<std::string>& warnings) {
  for (const std::string& warning : warnings) print(stderr, "kv-conductor: warning: " + warning + "\n");
}

/// Shows every fault, one line each. True when there is none.
bool show_errors(const std::vector<std::string>& errors) {
  for (const std::string& error : errors) print(stderr, "kv-conductor: " + error + "\n");
  return errors.empty();
}

std::uint64_t drawn_secret() {
  std::random_device draw;
  return std::uint64_t{draw()} << 32 | draw();
}

/// What there are too few descriptors for, in one line; empty when there are enough.
std::string short_of_descriptors(const kvc::app::settings& values) {
  const std::uint64_t allowed = kvc::app::raise_open_files();
  const std::size_t lanes = values.lanes == 0 ? kvc::app::usable_cpus() : values.lanes;
  const auto io_threads = static_cast<std::size_t>(values.zmq_io_threads);
  const std::uint64_t needed = kvc::app::descriptors_at_start(lanes, values.http_ports.size(), io_threads);
  if (allowed == 0 || needed <= allowed) return {};
  return "lanes = " + std::to_string(lanes) + ", zmq_io_threads = " + std::to_string(io_threads) + " and " +
         std::to_string(values.http_ports.size()) + " http_ports need " + std::to_string(needed) +
         " open files, and this process may have " + std::to_string(allowed) +
         "; take fewer of them, or raise the limit (ulimit -n, LimitNOFILE=)";
}

exit_code run(int argc, const char* const* argv) {
  kvc::app::configuration config = kvc::app::read_config(kvc::app::process_inputs(argc, argv));
  if (config.wanted == command::help) return answer(kvc::app::help_text());
  if (config.wanted == command::version) return answer("kv-conductor " KVC_VERSION "\n");
  // A server that starts logs its warnings, in the form its log has.
  if (!config.errors.empty() || config.wanted != command::serve) show_warnings(config.warnings);
  if (!show_errors(config.errors)) return exit_code::bad_configuration;
  if (config.wanted == command::serve) {
    // Before anything is begun: whoever starts us may be going, and a reader of our log that goes must not take the service with it.
    static_cast<void>(std::signal(SIGPIPE, SIG_IGN));
    static_cast<void>(std::signal(SIGHUP, SIG_IGN));  // until the service takes note of it
    if (const std::string wrong = short_of_descriptors(config.values); !wrong.empty()) {
      show_errors({wrong});
      return exit_code::failed;
    }
    kvc::core::set_spread_secret(drawn_secret());
    return kvc::app::application(std::move(config.values), config.warnings).run();
  }

  kvc::core::medium_table media;
  kvc::app::checked_publishers publishers = kvc::app::check_publishers(config.values, media);
  const kvc::app::checked_stores stores = kvc::app::check_stores(config.values);
  std::vector<std::string> warnings = std::move(publishers.warnings);
  std::vector<std::string> faults = std::move(publishers.errors);
  faults.insert(faults.end(), stores.errors.begin(), stores.errors.end());
  if (config.wanted == command::check_config) {
    if (std::string wrong = kvc::app::check_quotas(config.values, warnings); !wrong.empty()) faults.push_back(std::move(wrong));
    // The service may be allowed more than who looks at its configuration.
    if (std::string wrong = short_of_descriptors(config.values); !wrong.empty()) warnings.push_back(std::move(wrong));
  }
  show_warnings(warnings);
  if (!show_errors(faults)) return exit_code::bad_configuration;
  return answer(config.wanted == command::print_config ? kvc::app::print_config(config) : "ok\n");
}

}  // namespace

int main(int argc, char** argv) {
  kvc::app::fill_standard_descriptors();
  try {
    return static_cast<int>(run(argc, argv));
  } catch (const std::exception& failure) {
    static_cast<void>(std::fprintf(stderr, "kv-conductor: %s\n", failure.what()));
    return static_cast<int>(exit_code::failed);
  }
}

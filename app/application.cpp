#include "app/application.hpp"

#include <algorithm>
#include <cstdlib>
#include <exception>
#include <iterator>
#include <limits>
#include <system_error>
#include <utility>

#include <boost/asio/post.hpp>

#include "app/process_limits.hpp"
#include "app/publishers.hpp"
#include "net/heap_policy.hpp"
#include "net/log.hpp"

namespace kvc::app {

namespace asio = boost::asio;
namespace log = net::log;

namespace {

void set_levels(const settings& values) {
  for (const auto module : {log::module::app, log::module::http, log::module::stream, log::module::fleet}) {
    log::set_level(module, values.log_level);
  }
  for (const auto& [module, level] : values.log_modules) log::set_level(module, level);
}

constexpr std::chrono::seconds last_words{2};  ///< for what the log still has to say at the end

/// What the coordinator shares with everybody else.
net::coordinator_settings coordinator_settings_of(const settings& values) {
  net::coordinator_settings wanted = values.coordinator;
  wanted.auth_tokens = values.http.auth_tokens;
  wanted.auth_read_tokens = values.http.auth_read_tokens;
  return wanted;
}

/// What the stores share with everybody else.
net::store_settings store_settings_of(const settings& values) {
  net::store_settings wanted = values.stores;
  // Whoever waits hears what there is by then, which is more than that the answer took too long.
  wanted.exist_wait = std::min(wanted.exist_wait, values.http.handler_timeout * 5 / 6);
  wanted.auth_tokens = values.http.auth_tokens;
  wanted.auth_read_tokens = values.http.auth_read_tokens;
  return wanted;
}

/// Connections for which there are descriptors: some are left for streams and stores, so that clients cannot take the fleet's.
std::size_t most_connections(std::uint64_t open_files) {
  return open_files == 0 ? std::numeric_limits<std::size_t>::max() : std::max<std::size_t>(1, open_files / 4 * 3);
}

net::http_settings fitting(net::http_settings wanted, std::uint64_t open_files) {
  wanted.max_connections = std::min(wanted.max_connections, most_connections(open_files));
  return wanted;
}

/// An address as URLs have it.
std::string in_url(const std::string& host) {
  return host.find(':') == std::string::npos ? host : "[" + host + "]";
}

std::string joined(const std::vector<std::uint16_t>& ports) {
  std::string text;
  for (const std::uint16_t port : ports) text += (text.empty() ? "" : ",") + std::to_string(port);
  return text;
}

}  // namespace

application::application(settings values, const std::vector<std::string>& warnings)
    : open_files_(raise_open_files()),
      values_(std::move(values)),
      sink_(values_.to_journal),
      engine_(values_.zmq_io_threads),
      lanes_(values_.lanes == 0 ? usable_cpus() : values_.lanes, catalog_),
      stores_(lanes_, store_settings_of(values_)),
      fleet_(lanes_, engine_, catalog_, media_, values_.streams, &stores_.objects()),
      api_({.lanes = lanes_,
            .fleet = fleet_,
            .catalog = catalog_,
            .media = media_,
            .hash_seed = values_.hash_seed,
            .prefetches = &stores_.queries(),
            .started = std::chrono::steady_clock::now(),
            .started_at = std::chrono::system_clock::now(),
            .version = KVC_VERSION,
            .auth_tokens = values_.http.auth_tokens,
            .auth_read_tokens = values_.http.auth_read_tokens,
            .also_missing = [this] { return still_missing(); }}),
      coordinator_(lanes_, coordinator_settings_of(values_)),
      surface_(api_, coordinator_, &stores_),
      server_(lanes_, surface_, fitting(values_.http, open_files_)) {
  set_levels(values_);
  for (const std::string& warning : warnings) log::warn(log::module::app, "configuration", {{"warning", warning}});
}

application::~application() = default;

exit_code application::run() {
  exit_code code = exit_code::failed;
  try {
    code = start();
  } catch (const std::exception& failure) {
    // What has been started is stopped like ever.
    log::error(log::module::app, "cannot start", {{"reason", failure.what()}});
  }
  if (code == exit_code::stopped) asked_to_stop_.get_future().wait();
  const bool in_time = stop();
  if (code == exit_code::stopped && !in_time) code = exit_code::failed;
  log::info(log::module::app, "stopped", {{"code", static_cast<int>(code)}});
  // A reader of our log that hangs must not keep the process for ever, which waiting for the whole queue would. Nothing else is left to do.
  if (!sink_.write_out(last_words)) std::_Exit(static_cast<int>(code));
  return code;
}

exit_code application::start() {
  checked_publishers publishers = check_publishers(values_, media_);
  for (const std::string& warning : publishers.warnings) log::warn(log::module::app, "configuration", {{"warning", warning}});
  for (const std::string& fault : publishers.errors) log::error(log::module::app, "configuration", {{"error", fault}});
  checked_stores stores = check_stores(values_);
  for (const std::string& fault : stores.errors) log::error(log::module::app, "configuration", {{"error", fault}});
  if (!publishers.errors.empty() || !stores.errors.empty()) return exit_code::bad_configuration;

  net::set_heap_policy();
  log::info(
      log::module::app, "starting",
      {{"version", KVC_VERSION}, {"lanes", lanes_.size()}, {"open_files", open_files_}, {"publishers", publishers.registrations.size()}});
  const net::http_settings& http = values_.http;
  if (const std::size_t most = most_connections(open_files_); http.max_connections > most) {
    log::warn(log::module::app, "fewer connections than configured, as there may be no more open files",
              {{"http_max_connections", http.max_connections}, {"connections", most}, {"open_files", open_files_}});
  }
  log::info(log::module::app,
            http.auth_tokens.empty() && http.auth_read_tokens.empty() ? "authentication is off, everybody may call every route"
                                                                      : "authentication is on",
            {{"tokens", http.auth_tokens.size()}, {"read_tokens", http.auth_read_tokens.size()}});
  if (const auto unreadable = coordinator_.load_quotas()) {
    log::error(log::module::app, "cannot read the quotas",
               {{"setting", "coordinator_quota_file"}, {"file", values_.coordinator.quota_file}, {"reason", *unreadable}});
    return exit_code::failed;
  }
  if (!listen()) return exit_code::failed;

  reserve_.emplace(values_.index_reserve);
  stops_.emplace_back([this] {
    reserve_.reset();
    return true;
  });
  prepare_signals();
  if (!start_lanes()) return exit_code::failed;
  stops_.emplace_back([this] { return lanes_.stop(values_.shutdown_timeout); });
  trim_.emplace();
  stops_.emplace_back([this] {
    trim_.reset();
    return true;
  });

  if (!register_publishers(std::move(publishers.registrations))) return exit_code::failed;

  stores_.start(std::move(stores.registrations));
  coordinator_.start();
  server_.start();
  stops_.emplace_back([this] {
    server_.stop_accepting();
    return true;
  });
  log::info(log::module::app, "listening", {{"host", values_.http_host}, {"ports", joined(server_.ports())}});
  // In the words that scripts of the other service wait for.
  const std::string url = "http://" + in_url(values_.http_host) + ":" + std::to_string(server_.ports().back());
  log::info(log::module::app, "MP coordinator listening on " + url);

  asio::post(lanes_.at(0).context, [this] { notify_->start(); });
  stops_.emplace_back([this] {
    notify_->stopping(values_.shutdown_timeout);
    fleet_.drain();
    return true;
  });
  return exit_code::stopped;
}

bool application::stop() {
  bool all_in_time = true;
  while (!stops_.empty()) {
    all_in_time = stops_.back()() && all_in_time;
    stops_.pop_back();
  }
  if (!all_in_time) log::warn(log::module::app, "requests were cut off", {{"waited_ms", values_.shutdown_timeout.count()}});
  return all_in_time;
}

bool application::listen() {
  for (const std::uint16_t port : values_.http_ports) {
    if (const auto failure = server_.listen(values_.http_host, port)) {
      log::error(log::module::app, "cannot listen", {{"address", failure->address}, {"reason", failure->why.message()}});
      return false;
    }
  }
  return true;
}

bool application::start_lanes() {
  try {
    lanes_.start(values_.pin_lanes);
    return true;
  } catch (const std::system_error& refused) {
    // By far the commonest reason is a bound of the service manager (TasksMax=) or of the user (ulimit -u).
    log::error(log::module::app, "cannot start a thread for every lane", {{"lanes", lanes_.size()}, {"reason", refused.what()}});
    return false;
  }
}

void application::prepare_signals() {
  signals_.emplace([this] { asked_to_stop_.set_value(); },
                   [this] {
                     static_cast<void>(sink_.write_out(std::chrono::milliseconds(100)));
                     std::_Exit(static_cast<int>(exit_code::failed));
                   });
  notify_.emplace(lanes_, values_.notify_socket, [this] { return not_ready_because(); });
}

std::vector<std::string> application::not_ready_because() const {
  std::vector<std::string> reasons = fleet_.not_ready_because(std::chrono::steady_clock::now());
  std::ranges::move(still_missing(), std::back_inserter(reasons));
  return reasons;
}

std::vector<std::string> application::still_missing() const {
  if (auto missing = reserve_->missing()) return {std::move(*missing)};
  return {};
}

bool application::register_publishers(std::vector<core::registration> publishers) {
  // Nothing in here waits for a publisher, only for lanes, so no deadline is needed.
  std::promise<bool> done;
  std::future<bool> outcome = done.get_future();
  asio::post(lanes_.at(0).context, [this, &done, publishers = std::move(publishers)] {
    lanes_.at(0).tasks.spawn("register configured publishers", add_all(publishers, &done));
  });
  return outcome.get();
}

asio::awaitable<void> application::add_all(std::vector<core::registration> publishers, std::promise<bool>* done) {
  bool all_added = true;
  try {
    for (const core::registration& each : publishers) {
      const net::result<net::fleet_service::added> added = co_await fleet_.add(each);
      if (added) continue;
      all_added = false;
      log::error(log::module::app, "cannot register a configured publisher",
                 {{"instance", each.worker.instance}, {"reason", added.error().message()}});
    }
  } catch (...) {
    done->set_exception(std::current_exception());
    co_return;
  }
  done->set_value(all_added);
}

}  // namespace kvc::app

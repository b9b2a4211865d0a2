#include "app/quota_check.hpp"

#include <cerrno>
#include <unistd.h>

#include <boost/asio/io_context.hpp>

#include "app/plain_text.hpp"
#include "core/quota.hpp"
#include "net/log.hpp"
#include "net/quota_file.hpp"

namespace kvc::app {

std::string check_quotas(const settings& values, std::vector<std::string>& warnings) {
  const std::string& path = values.coordinator.quota_file;
  if (!path.empty() && ::access(path.c_str(), R_OK) != 0 && errno == EACCES) {
    warnings.push_back(one_line("coordinator_quota_file = " + path + " cannot be checked, as this user may not read it"));
    return {};
  }
  // What the service logs when it reads them is not asked for here.
  net::log::set_level(net::log::module::fleet, net::log::level::off);
  boost::asio::io_context never_run;
  core::quota_table unused;
  const auto wrong = net::quota_file(never_run.get_executor(), path).load(unused);
  net::log::set_level(net::log::module::fleet, values.log_level);
  return wrong ? one_line("coordinator_quota_file = " + path + " cannot be used: " + *wrong) : "";
}

}  // namespace kvc::app

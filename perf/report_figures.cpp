#include "perf/report_figures.hpp"

#include <fstream>
#include <sstream>

#include <boost/json/object.hpp>
#include <boost/json/parse.hpp>
#include <boost/json/value.hpp>

namespace kvc::perf {
namespace {

namespace json = boost::json;

void add_numbers(const json::object& from, const std::string& prefix, bench_report& into) {
  for (const auto& [key, value] : from) {
    const std::string name = prefix + std::string(key.data(), key.size());
    if (value.is_number()) {
      into.add(name, value.to_number<double>());
    } else if (value.is_bool()) {
      into.add(name, value.get_bool() ? 1 : 0);
    } else if (const auto* inner = value.if_object(); inner != nullptr && prefix.empty() && name != "min" && name != "max") {
      add_numbers(*inner, name + '_', into);
    }
  }
}

}  // namespace

boost::system::result<bench_report, std::string> read_figures(std::string_view text) {
  boost::system::error_code failed;
  const json::value parsed = json::parse(json::string_view(text.data(), text.size()), failed);
  if (failed) return "not JSON: " + failed.message();
  const json::object* const all = parsed.if_object();
  if (all == nullptr) return std::string("not an object of figures");
  bench_report report;
  add_numbers(*all, "", report);
  return report;
}

std::string read_label(std::string_view text, std::string_view name) {
  boost::system::error_code failed;
  const json::value parsed = json::parse(json::string_view(text.data(), text.size()), failed);
  const json::object* const all = failed ? nullptr : parsed.if_object();
  const json::value* const found = all == nullptr ? nullptr : all->if_contains(json::string_view(name.data(), name.size()));
  if (found == nullptr || !found->is_string()) return {};
  return std::string(found->get_string().data(), found->get_string().size());
}

boost::system::result<bench_report, std::string> read_figures_file(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  std::ostringstream text;
  text << file.rdbuf();
  if (!file) return "cannot read " + path;
  auto figures = read_figures(text.str());
  if (!figures) return path + ": " + figures.error();
  return figures;
}

}  // namespace kvc::perf

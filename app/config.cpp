// Brings the sources together in rising precedence and checks what no single setting can see.
#include "app/config.hpp"

#include <filesystem>
#include <utility>

#include "app/config_env.hpp"
#include "app/config_file.hpp"
#include "app/config_flags.hpp"
#include "app/plain_text.hpp"

namespace kvc::app {
namespace {

constexpr std::size_t most_errors = 200;

/// One line each, whatever was quoted; and no more errors than anybody reads.
void make_readable(configuration& config) {
  if (config.errors.size() > most_errors) {
    const std::size_t left_out = config.errors.size() - most_errors;
    config.errors.resize(most_errors);
    config.errors.push_back("and " + std::to_string(left_out) + " more errors");
  }
  for (std::string& line : config.errors) line = one_line(line);
  for (std::string& line : config.warnings) line = one_line(line);
}

/// Applies values that come later over those that came before. A bad value is an error even when a later one would outrank it: it would
/// bite on the day the other is taken away.
void apply(configuration& config, const field_info& field, const raw_value& value, const std::string& source) {
  const std::string wrong = assign(field, value, config.values);
  if (wrong.empty()) {
    config.sources.insert_or_assign(std::string(field.stands_for.empty() ? field.name : field.stands_for), source);
  } else {
    config.errors.push_back(bad_value_line(field, value, wrong, source));
  }
}

/// Applies the values of one source in the order of the table, so that `http_server_port` changes the ports of its own source.
void apply_all(configuration& config, const std::vector<found_value>& found) {
  for (const field_info& field : config_fields()) {
    for (const found_value& each : found) {
      if (each.field == &field) apply(config, field, each.value, each.source);
    }
  }
}

std::string unknown_key_line(const std::string& key, const std::string& path) {
  std::vector<std::string_view> known{"kvevent_instance", "stores"};
  for (const field_info& field : config_fields()) known.push_back(field.name);
  const std::string_view nearest = nearest_name(key, known);
  return "\"" + shown(key) + "\" is not a setting" + (nearest.empty() ? "" : "; did you mean \"" + std::string(nearest) + "\"?") +
         " (from " + path + ")";
}

void apply_file(configuration& config, const std::string& path) {
  std::string failure;
  const std::string text = read_config_file(path, failure);
  if (!failure.empty()) {
    config.errors.push_back("the configuration file " + path + " cannot be read: " + failure);
    return;
  }
  config.file = path;
  file_contents contents = parse_config_file(text, path);
  config.errors.insert(config.errors.end(), contents.errors.begin(), contents.errors.end());
  std::vector<found_value> found;
  for (auto& [key, value] : contents.values) {
    const field_info* const field = find_field(key);
    if (field != nullptr && field->name == key) {
      found.push_back({field, std::move(value), path});
    } else if (config.errors.size() > most_errors) {
      config.errors.emplace_back();  // counted; nobody reads that many, and finding the nearest name of each would take minutes
    } else {
      config.errors.push_back(unknown_key_line(key, path));
    }
  }
  apply_all(config, found);
  config.values.publishers = std::move(contents.publishers);
  config.values.store_entries = std::move(contents.stores);
}

std::string choose_file(const config_inputs& inputs, const std::string& of_flag) {
  if (!of_flag.empty()) return of_flag;
  const auto named = inputs.variables.find("CONDUCTOR_CONFIG_PATH");
  if (named != inputs.variables.end() && !named->second.empty()) return named->second;
  // One that may not be looked at is there: what it says, tokens among it, must not silently be left out. Reading it tells the reason.
  std::error_code ignored;
  const bool is_missing = std::filesystem::status(inputs.default_file, ignored).type() == std::filesystem::file_type::not_found;
  return is_missing ? "" : inputs.default_file;
}

void check_together(configuration& config) {
  const net::http_settings& http = config.values.http;
  if (http.body_budget_bytes < http.max_body_bytes) {
    config.errors.push_back("http_body_budget_bytes = " + std::to_string(http.body_budget_bytes) + " is below http_max_body_bytes = " +
                            std::to_string(http.max_body_bytes) + ": a body of that size could never be read");
  }
  const net::stream_settings& streams = config.values.streams;
  if (streams.evict_after.count() > 0 && streams.stale_after.count() == 0) {
    config.errors.push_back(
        "stream_evict_after_ms = " + std::to_string(streams.evict_after.count()) +
        " does nothing with stream_stale_after_ms = 0: the blocks of a stream leave once it is stale, which it never is");
  }
}

}  // namespace

configuration read_config(const config_inputs& inputs) {
  configuration config;
  parsed_flags flags = read_flags(inputs.arguments);
  config.wanted = flags.wanted;
  if (config.wanted == command::help || config.wanted == command::version) return config;

  config.errors = std::move(flags.errors);
  const std::string path = choose_file(inputs, flags.config_file);
  if (!path.empty()) apply_file(config, path);
  apply_all(config, read_environment(inputs.variables, config.warnings));
  apply_all(config, flags.values);
  if (config.errors.empty()) check_together(config);
  const auto manager = inputs.variables.find("NOTIFY_SOCKET");
  if (manager != inputs.variables.end()) config.values.notify_socket = manager->second;
  // The variable is inherited by children whose output goes elsewhere, so it must name the very stream we write to.
  const auto journal = inputs.variables.find("JOURNAL_STREAM");
  config.values.to_journal = journal != inputs.variables.end() && journal->second == inputs.standard_error;
  make_readable(config);
  return config;
}

}  // namespace kvc::app

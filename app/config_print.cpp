// Help and the effective configuration, both out of the table of settings.
#include <boost/json/serialize.hpp>
#include <boost/json/string_view.hpp>
#include <boost/json/value.hpp>

#include "app/config.hpp"
#include "app/config_fields.hpp"
#include "core/utf8.hpp"

namespace kvc::app {
namespace {

/// The text as a JSON string, which is UTF-8 even where a path is not. Not `quoted`, which std::string arguments would find in std.
std::string json_text(std::string_view text) {
  const std::string repaired = core::repaired_utf8(text);
  return boost::json::serialize(boost::json::string_view(repaired.data(), repaired.size()));
}

std::string list_as_json(const std::vector<std::string>& items, bool numbers, bool hidden) {
  std::string out = "[";
  for (const std::string& item : items) {
    if (out.size() > 1) out += ", ";
    out += hidden ? json_text("(hidden)") : numbers ? item : json_text(item);
  }
  return out + "]";
}

/// The setting's value as a JSON value.
std::string value_as_json(const field_info& field, const settings& values) {
  if (const auto* decimal = std::get_if<decimal_access>(&field.access)) return decimal_text(decimal->get(values));
  if (const auto* whole = std::get_if<integer_access>(&field.access)) return std::to_string(whole->get(values));
  if (const auto* yes_or_no = std::get_if<boolean_access>(&field.access)) return yes_or_no->get(values) ? "true" : "false";
  if (const auto* text = std::get_if<text_access>(&field.access)) return json_text(text->get(values));
  const auto& list = std::get<list_access>(field.access);
  return list_as_json(list.get(values), list.numbers, field.secret);
}

void append_row(std::string& out, const field_info& field, const settings& defaults) {
  out += "  " + flag_name(field.name) + (std::holds_alternative<boolean_access>(field.access) ? "\n" : " VALUE\n");
  out += "      " + std::string(field.explanation) + "\n";
  out += "      legal: " + legal_values(field) + "\n";
  if (field.stands_for.empty()) out += "      default: " + value_as_json(field, defaults) + "\n";
}

/// `--host, --port, ...`, in lines of the help's width, each behind a line break.
std::string coordinator_names() {
  constexpr std::size_t width = 120;
  std::string names;
  std::size_t column = width;  // the sentence before it fills its line
  for (const std::string_view each : coordinator_flags()) {
    if (!names.empty()) names += ',';
    const std::string word = flag_name(each);
    const bool is_full = column + word.size() + 2 > width;
    column = (is_full ? 0 : column) + word.size() + 2;
    names += is_full ? "\n  " : " ";
    names += word;
  }
  return names;
}

/// A member whose value is the list of registrations of one kind.
std::string entries_as_json(std::string_view member, const std::vector<publisher_entry>& entries) {
  std::string out = "  " + json_text(member) + ": [";
  bool is_first = true;
  for (const publisher_entry& each : entries) {
    out += is_first ? "\n    " : ",\n    ";
    is_first = false;
    out += "{\"name\": " + json_text(each.name) + ", \"source\": " + json_text(each.source) + ", \"registration\": " + each.json + "}";
  }
  return out + (is_first ? "]" : "\n  ]");
}

}  // namespace

std::string help_text() {
  std::string out =
      "kv-conductor: indexes the KV-cache blocks of LLM fleets and tells routers who holds which prefix.\n"
      "\n"
      "usage: kv-conductor [flags]\n"
      "\n"
      "  --config FILE     read this file (else CONDUCTOR_CONFIG_PATH, else /etc/kv-conductor/kv-conductor.json if it exists)\n"
      "  --check-config    check every setting and registration, print ok or the errors, and exit\n"
      "  --print-config    print the effective settings and where each comes from, as JSON, and exit\n"
      "  --version         print the version and exit\n"
      "  --help            print this and exit\n"
      "\n"
      "Every setting below can stand in the file (lanes), in the environment (KVC_LANES) and on the command line (--lanes 4 or\n"
      "--lanes=4); a later one of these outranks an earlier one. Lists are written with commas. The file is JSON, may have comments,\n"
      "and may register publishers under \"kvevent_instance\" and stores under \"stores\".\n";
  const settings defaults;
  std::string_view group;
  for (const field_info& field : config_fields()) {
    if (field.group != group) {
      group = field.group;
      out += "\n" + std::string(group) + "\n";
    }
    append_row(out, field, defaults);
  }
  out += "\nThe coordinator's are taken by LMCache's names too: LMCACHE_MP_COORDINATOR_PORT, or as flags" + coordinator_names() + ".\n";
  out +=
      "\n"
      "example: two lanes, one port, and the streams' log in detail\n"
      "  kv-conductor --lanes 2 --http-ports 13333 --log stream=debug\n"
      "\n"
      "Exit codes: 0 stopped as asked, 1 could not run or did not stop in time, 2 bad configuration.\n";
  return out;
}

std::string print_config(const configuration& config) {
  std::string out = "{\n  \"file\": " + (config.file.empty() ? "null" : json_text(config.file)) + ",\n  \"settings\": {\n";
  bool first = true;
  for (const field_info& field : config_fields()) {
    if (!field.stands_for.empty()) continue;
    const auto source = config.sources.find(field.name);
    if (!first) out += ",\n";
    first = false;
    out += "    " + json_text(field.name) + ": {\"value\": " + value_as_json(field, config.values) +
           ", \"source\": " + json_text(source == config.sources.end() ? "default" : source->second) + "}";
  }
  return out + "\n  },\n" + entries_as_json("publishers", config.values.publishers) + ",\n" +
         entries_as_json("stores", config.values.store_entries) + "\n}\n";
}

}  // namespace kvc::app

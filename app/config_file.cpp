#include "app/config_file.hpp"

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <fcntl.h>
#include <poll.h>
#include <unistd.h>

#include <boost/json/parser.hpp>
#include <boost/json/serialize.hpp>
#include <boost/json/value.hpp>

#include "app/config_keys.hpp"
#include "app/plain_text.hpp"

namespace kvc::app {
namespace {

namespace json = boost::json;

constexpr std::size_t largest_file = std::size_t{64} << 20;
constexpr std::size_t most_of_place = 300;  ///< bytes shown

/// A descriptor that is closed at the end.
class open_file {
 public:
  explicit open_file(const std::string& path) noexcept : descriptor_(::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY)) {}
  ~open_file() {
    if (descriptor_ >= 0) ::close(descriptor_);
  }
  open_file(const open_file&) = delete;
  open_file& operator=(const open_file&) = delete;

  [[nodiscard]] int get() const noexcept { return descriptor_; }

 private:
  int descriptor_;
};

/// Whether there is something to read by `deadline`; of what is no pipe there always is.
bool is_readable_by(int file, std::chrono::steady_clock::time_point deadline) {
  const auto left = std::chrono::ceil<std::chrono::milliseconds>(deadline - std::chrono::steady_clock::now()).count();
  pollfd readable{file, POLLIN, 0};
  return ::poll(&readable, 1, static_cast<int>(std::max<std::chrono::milliseconds::rep>(left, 0))) != 0;
}

/// Whether it begins as a text of 16 bits a letter does, which some editors write.
bool is_utf16(std::string_view text) noexcept {
  return text.starts_with("\xFF\xFE") || text.starts_with("\xFE\xFF");
}

std::string as_text(const json::value& value) {
  return value.is_string() ? std::string(value.get_string()) : json::serialize(value);
}

raw_value::form form_of(const json::value& value) {
  using form = raw_value::form;
  switch (value.kind()) {
    case json::kind::string: return form::json_string;
    case json::kind::bool_: return form::json_boolean;
    case json::kind::int64:
    case json::kind::uint64:
    case json::kind::double_: return form::json_number;
    case json::kind::array: return form::json_list;
    case json::kind::object: return form::json_object;
    case json::kind::null: return form::json_other;
  }
  return form::json_other;
}

void add_item(raw_value& list, const std::string& before, const json::value& item) {
  const raw_value::form written = form_of(item);
  if (list.items.empty()) list.items_written = written;
  if (list.items_written != written) list.items_written = raw_value::form::json_other;
  list.items.push_back(before + as_text(item));
}

raw_value to_raw(const json::value& value) {
  raw_value raw{.written = form_of(value), .text = as_text(value)};
  if (value.is_array()) {
    for (const json::value& item : value.get_array()) add_item(raw, "", item);
  } else if (value.is_object()) {
    for (const auto& [key, item] : value.get_object()) add_item(raw, std::string(key) + "=", item);
  }
  return raw;
}

void add_entry(std::vector<publisher_entry>& entries, std::string name, json::value value, const char* id, const json::string_view* named) {
  // An entry that is no object goes on as it is: the rules of the route that takes its like find the words for it.
  if (named != nullptr && value.is_object() && !value.get_object().contains(id)) value.get_object().emplace(id, *named);
  entries.push_back({std::move(name), json::serialize(value), {}});
}

/// Entries by name, where the name is the `id` of those that give none, or a list of them.
void read_entries(const char* key, const char* id, json::value& from, const std::string& path, std::vector<publisher_entry>& entries,
                  std::vector<std::string>& errors) {
  if (from.is_object()) {
    for (auto& [name, entry] : from.get_object()) {
      const json::string_view named = name;
      add_entry(entries, std::string(key) + "." + std::string(name), std::move(entry), id, &named);
    }
  } else if (from.is_array()) {
    std::size_t index = 0;
    for (json::value& entry : from.get_array()) {
      add_entry(entries, std::string(key) + "[" + std::to_string(index++) + "]", std::move(entry), id, nullptr);
    }
  } else {
    errors.push_back(std::string(key) + " is neither an object of registrations by name nor a list of them (from " + path + ")");
  }
  for (publisher_entry& each : entries) each.source = path;
}

}  // namespace

std::string read_config_file(const std::string& path, std::string& error, std::chrono::milliseconds patience) {
  const open_file file(path);
  if (file.get() < 0) {
    error = std::strerror(errno);
    return {};
  }
  const auto deadline = std::chrono::steady_clock::now() + patience;
  std::string text;
  std::string chunk(std::size_t{64} << 10, '\0');
  for (;;) {
    if (!is_readable_by(file.get(), deadline)) {
      error = "nobody has written all of it within " + std::to_string(patience.count()) + " ms";
      return {};
    }
    const ssize_t got = ::read(file.get(), chunk.data(), chunk.size());
    if (got == 0) return text;
    if (got < 0 && (errno == EAGAIN || errno == EINTR)) continue;
    if (got < 0) {
      error = std::strerror(errno);
      return {};
    }
    text.append(chunk, 0, static_cast<std::size_t>(got));
    if (text.size() > largest_file) {
      error = "it is larger than 64 MiB";
      return {};
    }
  }
}

file_contents parse_config_file(std::string_view text, const std::string& path) {
  constexpr std::string_view byte_order_mark = "\xEF\xBB\xBF";  // what some editors put before UTF-8
  if (text.starts_with(byte_order_mark)) text.remove_prefix(byte_order_mark.size());
  json::parse_options options;
  options.allow_comments = true;
  options.allow_trailing_commas = true;
  json::parser parser({}, options);
  json::error_code failure;
  const std::size_t read = parser.write_some(text.data(), text.size(), failure);
  file_contents contents;
  // What follows the document must be blanks or comments, which a second parse of a stand-in value checks.
  if (!failure && read < text.size()) {
    json::parser rest({}, options);
    static_cast<void>(rest.write("0" + std::string(text.substr(read)), failure));
  }
  if (failure) {
    const auto line = 1 + std::count(text.begin(), text.begin() + static_cast<std::ptrdiff_t>(std::min(read, text.size())), '\n');
    contents.errors.push_back(path + ":" + std::to_string(line) +
                              ": not JSON: " + (is_utf16(text) ? "it is UTF-16; save it as UTF-8" : failure.message()));
    return contents;
  }
  json::value document = parser.release();
  if (!document.is_object()) {
    contents.errors.push_back(path + ": the configuration is not a JSON object");
    return contents;
  }
  for (const std::string& place : repeated_keys(text.substr(0, read))) {
    contents.errors.push_back("\"" + shown(place, most_of_place) + "\" is there twice; one of the two would be lost (from " + path + ")");
  }
  for (auto& [key, value] : document.get_object()) {
    if (key == "kvevent_instance") {
      read_entries("kvevent_instance", "instance_id", value, path, contents.publishers, contents.errors);
    } else if (key == "stores") {
      read_entries("stores", "backend_id", value, path, contents.stores, contents.errors);
    } else {
      contents.values.emplace_back(std::string(key), to_raw(value));
    }
  }
  return contents;
}

}  // namespace kvc::app

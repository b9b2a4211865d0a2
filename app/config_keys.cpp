#include "app/config_keys.hpp"

#include <cstddef>
#include <cstdint>
#include <limits>
#include <set>
#include <utility>

#include <boost/json/basic_parser_impl.hpp>

namespace kvc::app {
namespace {

namespace json = boost::json;

/// What the scanner calls (Boost.JSON, basic_parser). Remembers the keys of every object that is open.
class key_handler {
 public:
  static constexpr std::size_t max_object_size = std::numeric_limits<std::size_t>::max();
  static constexpr std::size_t max_array_size = max_object_size;
  static constexpr std::size_t max_key_size = max_object_size;
  static constexpr std::size_t max_string_size = max_object_size;

  bool on_document_begin(json::error_code&) { return true; }
  bool on_document_end(json::error_code&) { return true; }
  bool on_object_begin(json::error_code&) { return open(false); }
  bool on_object_end(std::size_t, json::error_code&) { return close(); }
  bool on_array_begin(json::error_code&) { return open(true); }
  bool on_array_end(std::size_t, json::error_code&) { return close(); }
  bool on_key_part(std::string_view part, std::size_t, json::error_code&) {
    key_ += part;
    return true;
  }
  bool on_key(std::string_view part, std::size_t, json::error_code&) {
    key_ += part;
    level& object = open_.back();
    object.key = std::exchange(key_, {});
    if (!object.seen.insert(object.key).second) add_repeated();
    return true;
  }
  bool on_string_part(std::string_view, std::size_t, json::error_code&) { return true; }
  bool on_string(std::string_view, std::size_t, json::error_code&) { return value(); }
  bool on_number_part(std::string_view, json::error_code&) { return true; }
  bool on_int64(std::int64_t, std::string_view, json::error_code&) { return value(); }
  bool on_uint64(std::uint64_t, std::string_view, json::error_code&) { return value(); }
  bool on_double(double, std::string_view, json::error_code&) { return value(); }
  bool on_bool(bool, json::error_code&) { return value(); }
  bool on_null(json::error_code&) { return value(); }
  bool on_comment_part(std::string_view, json::error_code&) { return true; }
  bool on_comment(std::string_view, json::error_code&) { return true; }

  [[nodiscard]] std::vector<std::string> take() { return std::move(repeated_); }

 private:
  struct level {
    bool is_list = false;
    std::size_t values = 0;  ///< of a list, begun so far
    std::string key{};       ///< of an object, the last
    std::set<std::string> seen{};
  };

  bool value() {
    if (!open_.empty()) ++open_.back().values;
    return true;
  }
  bool open(bool is_list) {
    value();
    open_.push_back({.is_list = is_list});
    return true;
  }
  bool close() {
    open_.pop_back();
    return true;
  }
  void add_repeated() {
    std::string place;
    for (const level& each : open_) {
      if (each.is_list) {
        place += "[" + std::to_string(each.values - 1) + "]";
      } else {
        place += (place.empty() ? "" : ".") + each.key;
      }
    }
    if (told_.insert(place).second) repeated_.push_back(std::move(place));
  }

  std::vector<level> open_;
  std::string key_;  ///< its parts so far
  std::vector<std::string> repeated_;
  std::set<std::string> told_;  ///< the same, to find them by
};

}  // namespace

std::vector<std::string> repeated_keys(std::string_view text) {
  json::parse_options options;
  options.allow_comments = true;
  options.allow_trailing_commas = true;
  json::basic_parser<key_handler> scanner(options);
  json::error_code ignored;
  scanner.write_some(false, text.data(), text.size(), ignored);
  return scanner.handler().take();
}

}  // namespace kvc::app

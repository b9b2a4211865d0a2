#include "app/config_flags.hpp"

#include <algorithm>
#include <array>
#include <optional>

#include "app/plain_text.hpp"

namespace kvc::app {
namespace {

struct command_flag {
  std::string_view name;
  command wanted;
};
constexpr std::array<command_flag, 6> command_flags{{{"--check-config", command::check_config},
                                                     {"--print-config", command::print_config},
                                                     {"--help", command::help},
                                                     {"-h", command::help},
                                                     {"--version", command::version},
                                                     {"-V", command::version}}};

/// Walks over the arguments.
class flag_reader {
 public:
  explicit flag_reader(const std::vector<std::string>& arguments) : arguments_(&arguments) {}

  parsed_flags read() {
    for (; next_ < arguments_->size(); ++next_) read_one((*arguments_)[next_]);
    return std::move(parsed_);
  }

 private:
  void read_one(const std::string& argument) {
    const auto* const asked = std::ranges::find(command_flags, std::string_view(argument), &command_flag::name);
    if (asked != command_flags.end()) {
      // Help and version outrank everything, so that they work beside flags that make no sense.
      if (parsed_.wanted != command::help && parsed_.wanted != command::version) parsed_.wanted = asked->wanted;
      return;
    }
    if (!argument.starts_with("--")) {
      parsed_.errors.push_back("\"" + (is_behind_secret_ ? "(hidden)" : shown(argument)) +
                               "\" is not a flag; flags start with -- (see --help)");
      return;
    }
    is_behind_secret_ = false;
    const std::size_t equals = argument.find('=');
    const std::string name = argument.substr(2, equals == std::string::npos ? equals : equals - 2);
    spelled_ = "flag --" + name;
    std::optional<std::string> value;
    if (equals != std::string::npos) value = argument.substr(equals + 1);
    if (name == "config") {
      read_config_path(std::move(value));
    } else if (const field_info* const field = find_field(name == "log" ? "log_modules" : name)) {
      read_value(*field, std::move(value));
    } else if (const field_info* const known_elsewhere = find_coordinator_flag(name)) {
      read_value(*known_elsewhere, std::move(value));
    } else if (const field_info* const negated = negated_field(name); negated != nullptr && !value) {
      add(*negated, "false");
    } else {
      refuse(name);
      // What follows is its value, not one fault more; it may be a secret.
      if (!value) static_cast<void>(take_next());
    }
  }

  void read_config_path(std::optional<std::string> path) {
    if (!path) path = take_next();
    if (!path || path->empty()) {
      parsed_.errors.emplace_back("flag --config needs the path of a file");
    } else {
      parsed_.config_file = *path;
    }
  }

  void read_value(const field_info& field, std::optional<std::string> value) {
    if (std::holds_alternative<boolean_access>(field.access) && !value) {
      // `--pin-lanes` alone says yes; only a word that says yes or no is taken to belong to it.
      const bool has_word = next_ + 1 < arguments_->size() && ((*arguments_)[next_ + 1] == "true" || (*arguments_)[next_ + 1] == "false");
      value = has_word ? take_next() : std::optional<std::string>("true");
    }
    if (!value) value = take_next();
    if (!value) {
      parsed_.errors.push_back(spelled_ + " needs a value; legal: " + legal_values(field));
      return;
    }
    add(field, std::move(*value));
  }

  static const field_info* negated_field(std::string_view name) {
    if (!name.starts_with("no-")) return nullptr;
    const field_info* const field = find_field(name.substr(3));
    return field != nullptr && std::holds_alternative<boolean_access>(field->access) ? field : nullptr;
  }

  void refuse(const std::string& name) {
    std::vector<std::string> spelled{"--config", "--log"};
    for (const command_flag& each : command_flags) spelled.emplace_back(each.name);
    for (const field_info& field : config_fields()) spelled.push_back(flag_name(field.name));
    const std::vector<std::string_view> known(spelled.begin(), spelled.end());
    const std::string_view nearest = nearest_name("--" + name, known);
    parsed_.errors.push_back("flag --" + shown(name) + " is unknown" +
                             (nearest.empty() ? " (see --help)" : "; did you mean " + std::string(nearest) + "?"));
  }

  std::optional<std::string> take_next() {
    if (next_ + 1 >= arguments_->size() || (*arguments_)[next_ + 1].starts_with("--")) return std::nullopt;
    return (*arguments_)[++next_];
  }

  void add(const field_info& field, std::string text) {
    is_behind_secret_ = field.secret;
    parsed_.values.push_back({&field, {raw_value::form::loose_text, std::move(text), {}}, spelled_});
  }

  const std::vector<std::string>* arguments_;
  std::size_t next_ = 0;
  std::string spelled_;            ///< the flag in hand, as it was given: some have several names
  bool is_behind_secret_ = false;  ///< a word that belongs to no flag may be the second half of a secret one's value
  parsed_flags parsed_;
};

}  // namespace

parsed_flags read_flags(const std::vector<std::string>& arguments) {
  return flag_reader(arguments).read();
}

}  // namespace kvc::app

// A made-up outside world for reading configuration: arguments, variables and a file that goes away with the test.
#pragma once

#include <algorithm>
#include <fstream>
#include <string>
#include <string_view>

#include "app/config.hpp"
#include "tests/support/temporary_folder.hpp"

namespace kvc::test {

/// A file in a folder of its own, both removed at the end.
class temporary_file {
 public:
  explicit temporary_file(std::string_view text) { std::ofstream(path_, std::ios::binary) << text; }

  [[nodiscard]] const std::string& path() const noexcept { return path_; }

 private:
  temporary_folder folder_;
  std::string path_ = folder_.file("conductor.json");
};

/// Inputs that know nothing of the machine the test runs on.
[[nodiscard]] inline app::config_inputs bare_inputs(std::vector<std::string> arguments = {}) {
  app::config_inputs inputs;
  inputs.arguments = std::move(arguments);
  inputs.default_file = "/nonexistent/kv-conductor.json";
  return inputs;
}

/// What comes of a file with this text, and nothing else.
[[nodiscard]] inline app::configuration read_text(std::string_view text) {
  const temporary_file file(text);
  return app::read_config(bare_inputs({"--config", file.path()}));
}

/// Whether one of the lines has all these parts, in this order.
[[nodiscard]] inline bool has_line(const std::vector<std::string>& lines, const std::vector<std::string_view>& parts) {
  return std::ranges::any_of(lines, [&](const std::string& line) {
    std::size_t from = 0;
    return std::ranges::all_of(parts, [&](std::string_view part) {
      const std::size_t at = line.find(part, from);
      from = at == std::string::npos ? from : at + part.size();
      return at != std::string::npos;
    });
  });
}

[[nodiscard]] inline std::string joined(const std::vector<std::string>& lines) {
  std::string all;
  for (const std::string& line : lines) all += line + "\n";
  return all;
}

}  // namespace kvc::test

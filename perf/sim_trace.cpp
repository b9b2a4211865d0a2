#include "perf/sim_trace.hpp"

#include <utility>

#include <boost/json/array.hpp>
#include <boost/json/object.hpp>
#include <boost/json/parse.hpp>
#include <boost/json/value.hpp>

namespace kvc::sim {
namespace {

namespace json = boost::json;

/// A whole number that is not negative, however the file spells it (12, 12.0). Traces of other tools use fractions for timestamps.
bool read_number(const json::value& from, std::uint64_t& into) {
  if (const auto* whole = from.if_int64()) {
    if (*whole < 0) return false;
    into = static_cast<std::uint64_t>(*whole);
    return true;
  }
  if (const auto* whole = from.if_uint64()) {
    into = *whole;
    return true;
  }
  if (const auto* real = from.if_double()) {
    if (!(*real >= 0) || *real > 1e15) return false;
    into = static_cast<std::uint64_t>(*real);
    return true;
  }
  return false;
}

std::string read_member(const json::object& from, std::string_view name, std::uint64_t most, std::uint64_t& into) {
  const auto* const found = from.if_contains(json::string_view(name.data(), name.size()));
  if (found == nullptr) return std::string(name) + " is missing";
  if (!read_number(*found, into)) return std::string(name) + " is not a number of 0 or more";
  if (into > most) return std::string(name) + " is " + std::to_string(into) + ", more than " + std::to_string(most);
  return {};
}

}  // namespace

std::string parse_trace_line(std::string_view line, trace_request& into) {
  boost::system::error_code failed;
  const json::value parsed = json::parse(json::string_view(line.data(), line.size()), failed);
  if (failed) return "not JSON: " + failed.message();
  const auto* const members = parsed.if_object();
  if (members == nullptr) return "not a JSON object";

  std::uint64_t input = 0;
  std::uint64_t output = 0;
  constexpr std::uint64_t a_year_ms = 366ULL * 24 * 3600 * 1000;
  if (auto wrong = read_member(*members, "timestamp", a_year_ms, into.timestamp_ms); !wrong.empty()) return wrong;
  if (auto wrong = read_member(*members, "input_length", max_trace_tokens, input); !wrong.empty()) return wrong;
  if (auto wrong = read_member(*members, "output_length", max_trace_tokens, output); !wrong.empty()) return wrong;
  if (input == 0) return "input_length is 0";
  into.input_length = static_cast<std::uint32_t>(input);
  into.output_length = static_cast<std::uint32_t>(output);

  const auto* const ids = members->if_contains("hash_ids");
  const auto* const list = ids == nullptr ? nullptr : ids->if_array();
  if (list == nullptr) return "hash_ids is missing or not a list";
  const std::size_t needed = (input + trace_block_tokens - 1) / trace_block_tokens;
  if (list->size() < needed) {
    return "hash_ids has " + std::to_string(list->size()) + " blocks, but input_length needs " + std::to_string(needed);
  }
  into.hash_ids.clear();
  into.hash_ids.reserve(needed);
  for (std::size_t i = 0; i < needed; ++i) {
    std::uint64_t id = 0;
    if (!read_number((*list)[i], id)) return "hash_ids[" + std::to_string(i) + "] is not a number of 0 or more";
    into.hash_ids.push_back(id);
  }
  return {};
}

trace_file::trace_file(std::string path) : path_(std::move(path)), file_(path_, std::ios::binary), line_(max_trace_line_bytes + 1) {
  if (!file_) error_ = "cannot open the trace " + path_;
}

bool trace_file::fail(std::string_view reason) {
  error_ = path_ + ", line " + std::to_string(line_number_) + ": " + std::string(reason);
  return false;
}

bool trace_file::next(trace_request& into) {
  while (error_.empty()) {
    file_.getline(line_.data(), static_cast<std::streamsize>(line_.size()));
    const auto taken = static_cast<std::size_t>(file_.gcount());
    ++line_number_;
    if (file_.bad()) return fail("cannot be read");
    // getline reports a line that did not fit with failbit and a full buffer; the end of the file with eofbit.
    if (file_.fail() && !file_.eof()) return fail("longer than " + std::to_string(max_trace_line_bytes) + " bytes");
    if (file_.eof() && taken == 0) return false;
    const std::string_view line(line_.data());
    if (line.find_first_not_of(" \t\r") == std::string_view::npos) {
      if (file_.eof()) return false;
      continue;
    }
    const auto wrong = parse_trace_line(line, into);
    return wrong.empty() || fail(wrong);
  }
  return false;
}

std::string trace_file::describe() const {
  const auto slash = path_.find_last_of('/');
  return "trace " + (slash == std::string::npos ? path_ : path_.substr(slash + 1));
}

}  // namespace kvc::sim

#include "tests/support/net/body_model.hpp"

#include <algorithm>
#include <array>
#include <cmath>

#include <boost/json/object.hpp>
#include <boost/json/parse.hpp>
#include <boost/json/serialize.hpp>

namespace kvc::test {
namespace {

using kind = told_value::kind;
namespace json = boost::json;

constexpr std::int64_t least = std::numeric_limits<std::int64_t>::min();
constexpr std::int64_t most = std::numeric_limits<std::int64_t>::max();
constexpr double endless = std::numeric_limits<double>::infinity();

/// A scalar and what it is worth where a number is wanted: the fault, or the number.
struct scalar {
  kind what;
  std::string_view text;
  std::string_view whole_fault;
  std::int64_t whole;
  std::string_view real_fault;
  double real;
};

constexpr std::string_view fine{};
constexpr auto scalars = std::to_array<scalar>({
    {kind::nothing, "", "int_type", 0, "float_type", 0},
    {kind::boolean, "", fine, 0, fine, 0},  // or 1
    {kind::number, "0", fine, 0, fine, 0},
    {kind::number, "1", fine, 1, fine, 1},
    {kind::number, "7", fine, 7, fine, 7},
    {kind::number, "-3", fine, -3, fine, -3},
    {kind::number, "-0", fine, 0, fine, 0},
    {kind::number, "65535", fine, 65'535, fine, 65'535},
    {kind::number, "65536", fine, 65'536, fine, 65'536},
    {kind::number, "9090.0", fine, 9'090, fine, 9'090},
    {kind::number, "1e3", fine, 1'000, fine, 1'000},
    {kind::number, "2.5", "int_from_float", 0, fine, 2.5},
    {kind::number, "-0.5", "int_from_float", 0, fine, -0.5},
    {kind::number, "1e-9", "int_from_float", 0, fine, 1e-9},
    {kind::number, "123456789012345", fine, 123'456'789'012'345, fine, 123'456'789'012'345},
    {kind::number, "999999999999999999", fine, 999'999'999'999'999'999, fine, 1e18},
    {kind::number, "9223372036854775807", fine, most, fine, 9'223'372'036'854'775'807.0},
    {kind::number, "9223372036854775808", fine, most, fine, 9'223'372'036'854'775'808.0},
    {kind::number, "18446744073709551616", fine, most, fine, 18'446'744'073'709'551'616.0},
    {kind::number, "-9223372036854775808", fine, least, fine, -9'223'372'036'854'775'808.0},
    {kind::number, "-9223372036854775809", fine, least, fine, -9'223'372'036'854'775'808.0},
    {kind::number, "1e300", fine, most, fine, 1e300},
    {kind::number, "NaN", "finite_number", 0, fine, endless},
    {kind::number, "Infinity", "finite_number", 0, fine, endless},
    {kind::number, "-Infinity", "finite_number", 0, fine, -endless},
    {kind::text, "12", fine, 12, fine, 12},
    {kind::text, " 12\t", fine, 12, fine, 12},
    {kind::text, "+5", fine, 5, fine, 5},
    {kind::text, "-4", fine, -4, fine, -4},
    {kind::text, "12.0", fine, 12, fine, 12},
    {kind::text, "0007", fine, 7, fine, 7},
    {kind::text, "99999999999999999999", fine, most, fine, 1e20},
    {kind::text, "1.5", "int_parsing", 0, fine, 1.5},
    {kind::text, "1e3", "int_parsing", 0, fine, 1'000},
    {kind::text, "inf", "int_parsing", 0, fine, endless},
    {kind::text, "NaN", "int_parsing", 0, fine, endless},
    {kind::text, "nope", "int_parsing", 0, "float_parsing", 0},
    {kind::text, "", "int_parsing", 0, "float_parsing", 0},
    {kind::text, "0x10", "int_parsing", 0, "float_parsing", 0},
    {kind::text, "1 2", "int_parsing", 0, "float_parsing", 0},
    {kind::text, "--1", "int_parsing", 0, "float_parsing", 0},
    {kind::text, "l1", "int_parsing", 0, "float_parsing", 0},
    {kind::text, "l2", "int_parsing", 0, "float_parsing", 0},
    {kind::text, "all", "int_parsing", 0, "float_parsing", 0},
    {kind::text, "store", "int_parsing", 0, "float_parsing", 0},
    {kind::text, "delete", "int_parsing", 0, "float_parsing", 0},
    {kind::text, "a@b", "int_parsing", 0, "float_parsing", 0},
    {kind::text, "a/b", "int_parsing", 0, "float_parsing", 0},
    {kind::text, "a\\b", "int_parsing", 0, "float_parsing", 0},
    {kind::text, "AB cd", "int_parsing", 0, "float_parsing", 0},
    {kind::text, "a b", "int_parsing", 0, "float_parsing", 0},
    {kind::text, "\"quoted\"\n", "int_parsing", 0, "float_parsing", 0},
    {kind::text, "\xC3\xA9\xF0\x9F\x98\x80", "int_parsing", 0, "float_parsing", 0},
    {kind::text, "AAAAAQ==", "int_parsing", 0, "float_parsing", 0},
});

/// What a value is worth as a number: that of its row, or a short whole number, as sound bodies have them.
std::optional<scalar> worth_of(const told_value& value) {
  const auto found = std::ranges::find_if(scalars, [&](const scalar& each) { return each.what == value.what && each.text == value.text; });
  if (found == scalars.end() && value.what != kind::number) return std::nullopt;
  scalar worth = found == scalars.end() ? scalar{kind::number, {}, fine, std::stoll(value.text), fine, std::stod(value.text)} : *found;
  if (value.what == kind::boolean && value.yes) worth.whole = 1, worth.real = 1;
  return worth;
}

std::string sentence_of(std::string_view type) {
  if (type == "int_type") return "Input should be a valid integer";
  if (type == "int_parsing") return "Input should be a valid integer, unable to parse string as an integer";
  if (type == "int_from_float") return "Input should be a valid integer, got a number with a fractional part";
  if (type == "finite_number") return "Input should be a finite number";
  if (type == "float_type") return "Input should be a valid number";
  return "Input should be a valid number, unable to parse string as a number";
}

void write_text(std::string& out, std::string_view text, writing how, std::mt19937_64& random) {
  constexpr std::string_view digits = "0123456789abcdef";
  out += '"';
  for (const char each : text) {
    const auto byte = static_cast<unsigned char>(each);
    const bool must = byte < 0x20 || each == '"' || each == '\\';
    const bool may = how == writing::odd && byte < 0x80 && random() % 6 == 0;
    if (must && byte >= 0x20 && random() % 2 == 0) {
      out += '\\';
      out += each;
    } else if (must || may) {
      out += "\\u00";
      out += digits[byte >> 4];
      out += digits[byte & 15];
    } else {
      out += each;
    }
  }
  out += '"';
}

void write(std::string& out, const told_value& value, writing how, std::mt19937_64& random) {
  constexpr std::array<std::string_view, 6> blanks{"", "", " ", "\n", "\t ", "\r\n"};
  const auto gap = [&] {
    if (how == writing::odd) out += blanks[random() % blanks.size()];
  };
  const auto put = [&](std::string_view mark) {
    gap();
    out += mark;
    if (how == writing::spaced && (mark == "," || mark == ":")) out += ' ';
    gap();
  };
  switch (value.what) {
    case kind::nothing: out += "null"; break;
    case kind::boolean: out += value.yes ? "true" : "false"; break;
    case kind::number: out += value.text; break;
    case kind::text: write_text(out, value.text, how, random); break;
    case kind::list:
      put("[");
      for (std::size_t i = 0; i < value.elements.size(); ++i) {
        if (i != 0) put(",");
        write(out, value.elements[i], how, random);
      }
      put("]");
      break;
    case kind::object:
      put("{");
      for (std::size_t i = 0; i < value.members.size(); ++i) {
        if (i != 0) put(",");
        write_text(out, value.members[i].first, how, random);
        put(":");
        write(out, value.members[i].second, how, random);
      }
      put("}");
      break;
  }
}

/// Numbers by their size, whatever they are kept as.
bool is_same(const json::value& one, const json::value& other) {
  if (one.is_number() && other.is_number()) return one.to_number<double>() == other.to_number<double>();
  if (one.is_array() && other.is_array()) {
    return std::ranges::equal(one.get_array(), other.get_array(), is_same);
  }
  if (one.is_object() && other.is_object()) {
    if (one.get_object().size() != other.get_object().size()) return false;
    return std::ranges::all_of(one.get_object(), [&](const auto& each) {
      const json::value* const there = other.get_object().if_contains(each.key());
      return there != nullptr && is_same(each.value(), *there);
    });
  }
  return one == other;
}

/// A value at fault that is long may be told as null.
bool is_input(const json::value& told, const json::value& wanted) {
  constexpr std::size_t certainly_told = 500;
  return is_same(told, wanted) || (told.is_null() && json::serialize(wanted).size() > certainly_told);
}

}  // namespace

told_value told_value::of_text(std::string_view text) {
  return {.what = kind::text, .text = std::string(text)};
}
told_value told_value::of_number(std::string_view spelled) {
  return {.what = kind::number, .text = std::string(spelled)};
}
told_value told_value::of_list(std::vector<told_value> elements) {
  return {.what = kind::list, .elements = std::move(elements)};
}
told_value told_value::of_object(std::vector<std::pair<std::string, told_value>> members) {
  return {.what = kind::object, .members = std::move(members)};
}

const told_value* told_value::member(std::string_view name) const {
  const auto last = std::find_if(members.rbegin(), members.rend(), [&](const auto& each) { return each.first == name; });
  return last == members.rend() ? nullptr : &last->second;
}

json::value told_value::meaning() const {
  switch (what) {
    case kind::nothing: return nullptr;
    case kind::boolean: return yes;
    case kind::number:
      if (text.find("NaN") != std::string::npos || text.find("Inf") != std::string::npos) return nullptr;
      return json::parse(text);
    case kind::text: return json::value(text);
    case kind::list: {
      json::array all;
      for (const told_value& each : elements) all.push_back(each.meaning());
      return all;
    }
    case kind::object: break;
  }
  json::object all;
  for (const auto& [name, value] : members) all[name] = value.meaning();
  return all;
}

std::string written(const told_value& value, writing how, std::mt19937_64& random) {
  std::string out;
  write(out, value, how, random);
  return out;
}

told_value random_value(std::mt19937_64& random) {
  if (random() % 8 == 0) return random() % 2 == 0 ? told_value::of_list() : told_value::of_list({random_value(random)});
  if (random() % 8 == 0) return random() % 2 == 0 ? told_value::of_object() : told_value::of_object({{"a", random_value(random)}});
  const scalar& one = scalars[random() % scalars.size()];
  return {.what = one.what, .yes = one.what == kind::boolean && random() % 2 == 0, .text = std::string(one.text)};
}

void spoil(told_value& body, std::mt19937_64& random, unsigned one_in) {
  for (told_value& each : body.elements) {
    spoil(each, random, one_in);
    if (random() % (3 * one_in) == 0) each = random_value(random);
  }
  for (auto& [name, value] : body.members) {
    spoil(value, random, one_in);
    if (random() % one_in == 0) value = random_value(random);
  }
  if (body.what != kind::object || body.members.empty()) return;
  const auto some = [&] { return body.members.begin() + static_cast<std::ptrdiff_t>(random() % body.members.size()); };
  if (random() % one_in == 0) body.members.insert(body.members.begin(), {some()->first, random_value(random)});
  if (random() % one_in == 0) body.members.insert(some(), {"more", random_value(random)});
  if (random() % one_in == 0) std::swap(*some(), *some());
  if (random() % one_in == 0) body.members.erase(some());
}

body_judge::place body_judge::inside(place outer, json::value last) {
  outer.push_back(std::move(last));
  return outer;
}

void body_judge::refuse(const std::string& type, const place& where, const std::string& sentence, const told_value& input,
                        std::optional<json::value> context) {
  faults.push_back({type, where, sentence, input.meaning(), std::move(context)});
}

void body_judge::refuse_value(const place& where, const told_value& input) {
  refuse("value_error", where, "Value error, ", input, json::value{{"error", json::object()}});
}

std::optional<std::string> body_judge::text(const told_value& value, const place& where) {
  if (value.what == kind::text) return value.text;
  refuse("string_type", where, "Input should be a valid string", value);
  return std::nullopt;
}

std::optional<std::int64_t> body_judge::whole(const told_value& value, const place& where, std::int64_t from, std::int64_t to) {
  std::string_view fault = value.what == kind::text ? "int_parsing" : "int_type";
  std::int64_t number = 0;
  if (const auto worth = worth_of(value)) {
    fault = worth->whole_fault;
    number = worth->whole;
  }
  if (!fault.empty()) {
    refuse(std::string(fault), where, sentence_of(fault), value);
  } else if (number < from) {
    refuse("greater_than_equal", where, "Input should be greater than or equal to " + std::to_string(from), value,
           json::value{{"ge", from}});
  } else if (number > to) {
    refuse("less_than_equal", where, "Input should be less than or equal to " + std::to_string(to), value, json::value{{"le", to}});
  } else {
    return number;
  }
  return std::nullopt;
}

std::optional<double> body_judge::real(const told_value& value, const place& where) {
  std::string_view fault = value.what == kind::text ? "float_parsing" : "float_type";
  const auto worth = worth_of(value);
  if (worth) fault = worth->real_fault;
  if (fault.empty()) return worth->real;
  refuse(std::string(fault), where, sentence_of(fault), value);
  return std::nullopt;
}

std::optional<std::string> body_judge::word(const told_value& value, const place& where, const std::vector<std::string>& words,
                                            const std::string& expected) {
  if (value.what == kind::text && std::ranges::find(words, value.text) != words.end()) return value.text;
  refuse("enum", where, "Input should be " + expected, value, json::value{{"expected", expected}});
  return std::nullopt;
}

bool body_judge::list(const told_value& value, const place& where) {
  if (value.what == kind::list) return true;
  refuse("list_type", where, "Input should be a valid list", value);
  return false;
}

bool body_judge::object(const told_value& value, const place& where) {
  if (value.what == kind::object) return true;
  refuse("model_attributes_type", where, "Input should be a valid dictionary or object to extract fields from", value);
  return false;
}

const told_value* body_judge::required(const told_value& object, const std::string& name, const place& where) {
  const told_value* const found = object.member(name);
  if (found == nullptr) refuse("missing", inside(where, json::value(name)), "Field required", object);
  return found;
}

std::string body_judge::difference(const std::string& answer) const {
  const json::value all = json::parse(answer);
  const json::array& told = all.at("detail").as_array();
  for (std::size_t i = 0; i < std::max(told.size(), faults.size()); ++i) {
    if (i == told.size()) return "not told: " + faults[i].type + " at " + json::serialize(faults[i].place);
    if (i == faults.size()) return "told and not so: " + json::serialize(told[i]);
    const json::object& one = told[i].as_object();
    const told_fault& wanted = faults[i];
    const std::string sentence(one.at("msg").as_string());
    const bool is_sentence = wanted.type == "value_error" ? sentence.starts_with(wanted.sentence) : sentence == wanted.sentence;
    const json::value* const context = one.if_contains("ctx");
    const bool is_context = wanted.context ? context != nullptr && is_same(*context, *wanted.context) : context == nullptr;
    if (one.at("type") == json::value(wanted.type) && one.at("loc") == json::value(wanted.place) && is_sentence && is_context &&
        is_input(one.at("input"), wanted.input)) {
      continue;
    }
    return "told " + json::serialize(told[i]) + ", wanted " + wanted.type + " at " + json::serialize(wanted.place) + " of " +
           json::serialize(wanted.input);
  }
  return {};
}

}  // namespace kvc::test

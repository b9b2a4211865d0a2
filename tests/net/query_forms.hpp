// Bodies as values, and the many ways to write one down that mean the same.
#pragma once

#include <array>
#include <bit>
#include <cstdint>
#include <random>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace kvc::test::forms {

/// A value that JSON and MessagePack both have; integers from -2^63 to 2^64 - 1.
struct value {
  enum class kind : std::uint8_t { nil, boolean, integer, real, text, list, map };
  kind what = kind::nil;
  bool is_true = false;
  bool is_negative = false;
  std::uint64_t bits = 0;  ///< of an integer, as two's complement
  std::string word = {};   ///< a text; of a real, how JSON writes it
  double number = 0;
  std::vector<value> items = {};
  std::vector<std::pair<std::string, value>> members = {};
};

inline value text(std::string of) {
  return {.what = value::kind::text, .word = std::move(of)};
}
inline value whole(std::uint64_t of) {
  return {.what = value::kind::integer, .bits = of};
}
inline value below(std::int64_t of) {
  return {.what = value::kind::integer, .is_negative = of < 0, .bits = static_cast<std::uint64_t>(of)};
}
inline value real(std::string word, double of) {
  return {.what = value::kind::real, .word = std::move(word), .number = of};
}
inline value flag(bool of) {
  return {.what = value::kind::boolean, .is_true = of};
}
inline value list(std::vector<value> of) {
  return {.what = value::kind::list, .items = std::move(of)};
}
inline value map(std::vector<std::pair<std::string, value>> of) {
  return {.what = value::kind::map, .members = std::move(of)};
}

/// JSON, as short as it gets or as odd as it may be.
class json_form {
 public:
  json_form(std::mt19937_64& random, bool is_odd) : random_(random), is_odd_(is_odd) {}

  [[nodiscard]] std::string of(const value& what) {
    std::string out;
    blank(out);
    write(what, out);
    blank(out);
    return out;
  }

 private:
  void blank(std::string& out) {
    while (is_odd_ && random_() % 4 == 0) out += " \t\r\n"[random_() % 4];
  }
  void write(const value& what, std::string& out) {
    switch (what.what) {
      case value::kind::nil: out += "null"; break;
      case value::kind::boolean: out += what.is_true ? "true" : "false"; break;
      case value::kind::integer:
        if (is_odd_ && what.bits == 0 && random_() % 2 == 0) {
          out += "-0";
        } else {
          out += what.is_negative ? std::to_string(static_cast<std::int64_t>(what.bits)) : std::to_string(what.bits);
        }
        break;
      case value::kind::real: out += what.word; break;
      case value::kind::text: quote(what.word, out); break;
      case value::kind::list:
        out += '[';
        for (std::size_t i = 0; i < what.items.size(); ++i) {
          if (i > 0) out += ',';
          blank(out);
          write(what.items[i], out);
          blank(out);
        }
        blank(out);
        out += ']';
        break;
      case value::kind::map:
        out += '{';
        for (std::size_t i = 0; i < what.members.size(); ++i) {
          if (i > 0) out += ',';
          blank(out);
          quote(what.members[i].first, out);
          blank(out);
          out += ':';
          blank(out);
          write(what.members[i].second, out);
          blank(out);
        }
        blank(out);
        out += '}';
    }
  }
  void escape(unsigned unit, std::string& out) {
    const std::string digits = random_() % 2 == 0 ? "0123456789abcdef" : "0123456789ABCDEF";
    out += "\\u";
    for (const unsigned shift : {12U, 8U, 4U, 0U}) out += digits[unit >> shift & 15U];
  }
  void quote(std::string_view of, std::string& out) {
    out += '"';
    for (std::size_t i = 0; i < of.size();) {
      const auto first = static_cast<unsigned char>(of[i]);
      const std::size_t bytes = first < 0x80 ? 1 : first < 0xE0 ? 2 : first < 0xF0 ? 3 : 4;
      const bool must = first < 0x20 || first == '"' || first == '\\';
      if (!must && (!is_odd_ || random_() % 3 != 0)) {
        out += of.substr(i, bytes);
      } else {
        unsigned code = bytes == 1 ? first : first & (0x7FU >> bytes);
        for (std::size_t at = 1; at < bytes; ++at) code = code << 6 | (static_cast<unsigned char>(of[i + at]) & 0x3FU);
        if (code >= 0x10000) {
          escape(0xD800 + ((code - 0x10000) >> 10), out);
          escape(0xDC00 + ((code - 0x10000) & 0x3FFU), out);
        } else if (is_odd_ && code == '/' && random_() % 2 == 0) {
          out += "\\/";
        } else {
          escape(code, out);
        }
      }
      i += bytes;
    }
    out += '"';
  }

  std::mt19937_64& random_;
  bool is_odd_;
};

/// MessagePack, in any of the widths that hold a value.
class packed_form {
 public:
  explicit packed_form(std::mt19937_64& random) : random_(random) {}

  [[nodiscard]] std::string of(const value& what) {
    std::string out;
    write(what, out);
    return out;
  }

 private:
  struct width {
    int tag = 0;  ///< below 0: all of it is the first byte, which is the number's own
    unsigned bytes = 0;
  };
  static void put(std::string& out, int tag, std::uint64_t number, unsigned bytes) {
    out += static_cast<char>(tag);
    while (bytes > 0) out += static_cast<char>(number >> (8 * --bytes) & 0xFFU);
  }
  /// A length or a number behind its tag; `small`: the tag that has it in itself, for less than `below`.
  void sized(std::string& out, std::uint64_t number, int small, std::uint64_t below, const std::vector<width>& widths) {
    std::vector<width> fit;
    if (number < below) fit.push_back({-1, 0});
    for (const width& each : widths) {
      if (each.bytes == 8 || number >> (8 * each.bytes) == 0) fit.push_back(each);
    }
    const width chosen = fit[random_() % 3 == 0 ? random_() % fit.size() : 0];
    chosen.tag < 0 ? put(out, small | static_cast<int>(number), 0, 0) : put(out, chosen.tag, number, chosen.bytes);
  }
  void integer(const value& what, std::string& out) {
    const auto number = static_cast<std::int64_t>(what.bits);
    if (!what.is_negative && (random_() % 4 != 0 || number < 0)) {
      return sized(out, what.bits, 0, 128, {{0xCC, 1}, {0xCD, 2}, {0xCE, 4}, {0xCF, 8}});
    }
    std::vector<width> fit;
    if (number >= -32 && number < 0) fit.push_back({-1, 0});
    for (const width& each : std::array<width, 4>{{{0xD0, 1}, {0xD1, 2}, {0xD2, 4}, {0xD3, 8}}}) {
      const unsigned rest = 64 - 8 * each.bytes;
      if (static_cast<std::int64_t>(what.bits << rest) >> rest == number) fit.push_back(each);
    }
    const width chosen = fit[random_() % fit.size()];
    chosen.tag < 0 ? put(out, static_cast<int>(number & 0xFF), 0, 0) : put(out, chosen.tag, what.bits, chosen.bytes);
  }
  void string(std::string_view of, std::string& out) {
    sized(out, of.size(), 0xA0, 32, {{0xD9, 1}, {0xDA, 2}, {0xDB, 4}});
    out += of;
  }
  void write(const value& what, std::string& out) {
    switch (what.what) {
      case value::kind::nil: out += '\xC0'; break;
      case value::kind::boolean: out += what.is_true ? '\xC3' : '\xC2'; break;
      case value::kind::integer: integer(what, out); break;
      case value::kind::real: {
        const auto narrow = static_cast<float>(what.number);
        const bool fits = narrow >= -1e6F && narrow <= 1e6F && static_cast<double>(narrow) == what.number;
        fits&& random_() % 2 == 0 ? put(out, 0xCA, std::bit_cast<std::uint32_t>(narrow), 4)
                                  : put(out, 0xCB, std::bit_cast<std::uint64_t>(what.number), 8);
        break;
      }
      case value::kind::text: string(what.word, out); break;
      case value::kind::list:
        sized(out, what.items.size(), 0x90, 16, {{0xDC, 2}, {0xDD, 4}});
        for (const value& each : what.items) write(each, out);
        break;
      case value::kind::map:
        sized(out, what.members.size(), 0x80, 16, {{0xDE, 2}, {0xDF, 4}});
        for (const auto& [name, each] : what.members) {
          string(name, out);
          write(each, out);
        }
    }
  }

  std::mt19937_64& random_;
};

}  // namespace kvc::test::forms

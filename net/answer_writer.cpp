#include "net/answer_writer.hpp"

#include <algorithm>
#include <cassert>
#include <charconv>
#include <cmath>

#include "core/utf8.hpp"

namespace kvc::net {
namespace {

void append_escaped(std::string& out, unsigned char control) {
  constexpr std::string_view digits = "0123456789abcdef";
  switch (control) {
    case '"': out += "\\\""; return;
    case '\\': out += "\\\\"; return;
    case '\n': out += "\\n"; return;
    case '\r': out += "\\r"; return;
    case '\t': out += "\\t"; return;
    default: break;
  }
  out += "\\u00";
  out += digits[control >> 4U];
  out += digits[control & 0xFU];
}

/// Printable ASCII without quotes and backslashes.
bool is_plain(char letter) {
  return letter >= 0x20 && letter < 0x7F && letter != '"' && letter != '\\';
}

/// Names up to this length are put together on the stack and appended once: a string grows letter by letter at some nanoseconds each.
constexpr std::size_t longest_short = 64;

/// Writes a name that needs nothing done to it with its quotes and colon; returns where it ends.
char* write_plain_key(char* at, std::string_view name) {
  *at++ = '"';
  at = std::copy(name.begin(), name.end(), at);
  *at++ = '"';
  *at++ = ':';
  return at;
}

/// Texts of MessagePack up to this length have a head of one byte.
constexpr std::size_t longest_fixed = 31;

/// Writes a number as MessagePack in its shortest form; returns where it ends.
char* write_packed(char* at, std::uint64_t value) {
  const auto write = [&at, value](unsigned head, int bytes) {
    *at++ = static_cast<char>(head);
    for (int shift = 8 * (bytes - 1); shift >= 0; shift -= 8) *at++ = static_cast<char>(value >> shift & 0xFFU);
    return at;
  };
  if (value < 0x80) {
    *at++ = static_cast<char>(value);
    return at;
  }
  if (value <= 0xFF) return write(0xCC, 1);
  if (value <= 0xFFFF) return write(0xCD, 2);
  if (value <= 0xFFFF'FFFF) return write(0xCE, 4);
  return write(0xCF, 8);
}

template <class Number>
void append_number(std::string& out, Number value) {
  std::array<char, 32> digits;
  const auto end = std::to_chars(digits.data(), digits.data() + digits.size(), value).ptr;
  out.append(digits.data(), end);
}

}  // namespace

void answer_writer::quoted(std::string_view value) {
  std::string& out = *out_;
  out += '"';
  while (!value.empty()) {
    // Most text needs nothing done to it, and goes over in one piece.
    const auto special = std::ranges::find_if_not(value, is_plain);
    out.append(value.begin(), special);
    value.remove_prefix(static_cast<std::size_t>(special - value.begin()));
    if (value.empty()) break;
    const auto first = static_cast<unsigned char>(value.front());
    std::size_t length = 1;
    if (first < 0x80) {
      append_escaped(out, first);
    } else {
      length = core::character_length(value);
      out += length == 0 ? std::string_view("\xEF\xBF\xBD") : value.substr(0, length);
      if (length == 0) length = 1;
    }
    value.remove_prefix(length);
  }
  out += '"';
}

void answer_writer::begin_value() {
  if (after_key_) {
    after_key_ = false;
    return;
  }
  if (depth_ == 0) return;
  if (levels_[depth_ - 1].elements++ != 0 && is_json_) *out_ += ',';
}

void answer_writer::open(char bracket, std::size_t elements) {
  begin_value();
  level& opened = levels_.at(depth_++);
  opened.elements = 0;
  opened.announced = elements;
  opened.head = out_->size();
  const bool is_object = bracket == '{';
  if (is_json_) {
    *out_ += bracket;
  } else if (elements == size_later) {
    out_->append(is_object ? "\xdf" : "\xdd").append(4, '\0');  // map 32 or array 32, its size filled in by `close`
  } else if (is_object) {
    pack_.map(static_cast<std::uint32_t>(elements));
  } else {
    pack_.array(static_cast<std::uint32_t>(elements));
  }
}

void answer_writer::close(char bracket) {
  const level& closed = levels_[--depth_];
  assert(closed.announced == size_later || closed.announced == closed.elements);
  if (is_json_) {
    *out_ += bracket;
  } else if (closed.announced == size_later) {
    for (std::size_t i = 0; i < 4; ++i) (*out_)[closed.head + 4 - i] = static_cast<char>((closed.elements >> (8 * i)) & 0xFFU);
  }
}

void answer_writer::object(std::size_t members) {
  open('{', members);
}

void answer_writer::list(std::size_t elements) {
  open('[', elements);
}

void answer_writer::key(std::string_view name) {
  if (!is_json_ && !core::is_utf8(name)) return key(core::repaired_utf8(name));
  begin_value();
  after_key_ = true;
  if (!is_json_ && name.size() <= longest_fixed) {
    std::array<char, longest_fixed + 1> text;
    text[0] = static_cast<char>(0xA0U | name.size());
    out_->append(text.data(), std::ranges::copy(name, text.data() + 1).out);
    return;
  }
  if (!is_json_) return pack_.string(name);
  if (name.size() <= longest_short && std::ranges::all_of(name, is_plain)) {
    std::array<char, longest_short + 3> text;
    out_->append(text.data(), write_plain_key(text.data(), name));
    return;
  }
  quoted(name);
  *out_ += ':';
}

void answer_writer::plain_member(std::string_view name, std::uint64_t value) {
  if (name.size() > (is_json_ ? longest_short : longest_fixed)) return member(name, value);
  std::array<char, longest_short + 32> text;
  char* at = text.data();
  const bool is_first = levels_[depth_ - 1].elements++ == 0;
  if (is_json_) {
    if (!is_first) *at++ = ',';
    at = write_plain_key(at, name);
    at = std::to_chars(at, text.data() + text.size(), value).ptr;
  } else {
    *at++ = static_cast<char>(0xA0U | name.size());
    at = write_packed(std::copy(name.begin(), name.end(), at), value);
  }
  out_->append(text.data(), at);
}

void answer_writer::text(std::string_view value) {
  if (!is_json_ && !core::is_utf8(value)) return text(core::repaired_utf8(value));
  begin_value();
  if (!is_json_) return pack_.string(value);
  quoted(value);
}

void answer_writer::number(std::uint64_t value) {
  begin_value();
  if (!is_json_) return pack_.unsigned_integer(value);
  append_number(*out_, value);
}

void answer_writer::signed_number(std::int64_t value) {
  begin_value();
  if (!is_json_) return pack_.integer(value);
  append_number(*out_, value);
}

void answer_writer::real(double value) {
  if (!std::isfinite(value)) return nothing();
  begin_value();
  if (!is_json_) return pack_.real(value);
  append_number(*out_, value);
}

void answer_writer::boolean(bool value) {
  begin_value();
  if (!is_json_) return pack_.boolean(value);
  *out_ += value ? "true" : "false";
}

void answer_writer::nothing() {
  begin_value();
  if (!is_json_) return pack_.nil();
  *out_ += "null";
}

}  // namespace kvc::net

#include "net/answer_writer.hpp"

#include <algorithm>
#include <cassert>
#include <charconv>
#include <cmath>

namespace kvc::net {
namespace {

/// Bytes of the valid UTF-8 sequence at the start of `text`, 0 when there is none there. (Source: RFC 3629, section 4.)
std::size_t sequence_length(std::string_view text) {
  const auto byte = [text](std::size_t i) { return i < text.size() ? static_cast<unsigned char>(text[i]) : 0U; };
  const auto follows = [byte](std::size_t i) { return (byte(i) & 0xC0U) == 0x80U; };
  const unsigned first = byte(0);
  if (first < 0x80) return 1;
  if (first < 0xC2 || first > 0xF4) return 0;
  if (first < 0xE0) return follows(1) ? 2 : 0;
  const unsigned second = byte(1);
  if (first < 0xF0) {
    const bool legal = (first != 0xE0 || second >= 0xA0) && (first != 0xED || second < 0xA0);
    return legal && follows(1) && follows(2) ? 3 : 0;
  }
  const bool legal = (first != 0xF0 || second >= 0x90) && (first != 0xF4 || second < 0x90);
  return legal && follows(1) && follows(2) && follows(3) ? 4 : 0;
}

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
bool is_plain(char letter) { return letter >= 0x20 && letter < 0x7F && letter != '"' && letter != '\\'; }

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
      length = sequence_length(value);
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

void answer_writer::object(std::size_t members) { open('{', members); }

void answer_writer::list(std::size_t elements) { open('[', elements); }

void answer_writer::key(std::string_view name) {
  begin_value();
  after_key_ = true;
  if (!is_json_) return pack_.string(name);
  quoted(name);
  *out_ += ':';
}

void answer_writer::text(std::string_view value) {
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

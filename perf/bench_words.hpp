// The words of a command line, one flag after the other.
#pragma once

#include <charconv>
#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <span>
#include <string>
#include <string_view>
#include <system_error>
#include <utility>

namespace kvc::perf {

/// Walks the words of one command. The first fault is kept; what follows it is ignored. The words and `error` outlive the reader.
class word_reader {
 public:
  word_reader(std::span<const std::string> words, std::string& error) : words_(words), error_(error) {}

  /// Steps to the next word; false at the end and after a fault.
  bool next() {
    if (!error_.empty() || at_ == words_.size()) return false;
    word_ = words_[at_++];
    has_value_ = false;
    if (const auto equals = word_.find('='); word_.starts_with("--") && equals != std::string_view::npos) {
      value_ = word_.substr(equals + 1);
      word_ = word_.substr(0, equals);
      has_value_ = true;
    }
    was_read_ = false;
    return true;
  }
  [[nodiscard]] std::string_view word() const noexcept { return word_; }

  /// Whether the word is the switch `name`.
  bool is(std::string_view name) {
    if (word_ != name) return false;
    was_read_ = true;
    if (has_value_) fail(std::string(name) + " takes no value");
    return true;
  }

  /// Gives `into` this value when the word is the switch `name`.
  bool toggle(std::string_view name, bool& into, bool value = true) {
    if (!is(name)) return false;
    into = value;
    return true;
  }

  /// The following read their value into `into` when the word is the flag `name`.
  bool text(std::string_view name, std::string& into) {
    if (!take(name)) return false;
    if (value_.empty()) fail(std::string(name) + " needs a value");
    into = value_;
    return true;
  }
  template <class Whole>
  bool whole(std::string_view name, Whole& into, std::uint64_t least, std::uint64_t most) {
    if (!take(name)) return false;
    std::uint64_t number = 0;
    const auto [end, failed] = std::from_chars(value_.data(), value_.data() + value_.size(), number);
    if (failed != std::errc() || end != value_.data() + value_.size() || number < least || number > most) {
      fail(std::string(name) + " must be a whole number from " + std::to_string(least) + " to " + std::to_string(most));
    }
    into = static_cast<Whole>(number);
    return true;
  }
  bool share(std::string_view name, double& into) {
    if (!take(name)) return false;
    double number = 0;
    const auto [end, failed] = std::from_chars(value_.data(), value_.data() + value_.size(), number);
    if (failed != std::errc() || end != value_.data() + value_.size() || !(number >= 0) || number > 1) {
      fail(std::string(name) + " must be a number from 0 to 1");
    }
    into = number;
    return true;
  }
  /// `second` is stored as true, `first` as false.
  bool choice(std::string_view name, bool& into, std::string_view first, std::string_view second) {
    if (!take(name)) return false;
    if (value_ != first && value_ != second) fail(std::string(name) + " must be " + std::string(first) + " or " + std::string(second));
    into = value_ == second;
    return true;
  }

  /// The word itself, as the next operand that is still missing.
  void operand(std::initializer_list<std::string*> places) {
    if (was_read_) return;
    if (word_.starts_with("-")) return fail("unknown flag " + std::string(word_));
    for (std::string* place : places) {
      if (!place->empty()) continue;
      *place = word_;
      return;
    }
    fail("unexpected word " + std::string(word_));
  }
  void fail(std::string reason) {
    if (error_.empty()) error_ = std::move(reason);
  }

 private:
  bool take(std::string_view name) {
    if (word_ != name) return false;
    was_read_ = true;
    if (has_value_) return true;
    value_ = {};
    if (at_ == words_.size()) {
      fail(std::string(name) + " needs a value");
    } else {
      value_ = words_[at_++];
    }
    return true;
  }

  std::span<const std::string> words_;
  std::string& error_;
  std::size_t at_ = 0;
  std::string_view word_;
  std::string_view value_;
  bool has_value_ = false;
  bool was_read_ = false;
};

}  // namespace kvc::perf

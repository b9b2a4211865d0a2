// Answers written member by member, as JSON text or as MessagePack, straight into a string.
#pragma once

#include <array>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include "net/http_message.hpp"
#include "net/msgpack_tape.hpp"

namespace kvc::net {

/// Appends one value to a string. Containers may announce their size, which must then be met exactly and is the compact way in MessagePack;
/// without it the size is filled in at the end. Nesting is at most 32 deep. Text that is not UTF-8 is repaired (U+FFFD).
/// One owner; `out` outlives it and is not touched by others meanwhile.
class answer_writer {
 public:
  answer_writer(std::string& out, wire_form form) : out_(&out), pack_(out), is_json_(form != wire_form::msgpack) {}

  static constexpr std::size_t size_later = static_cast<std::size_t>(-1);

  void object(std::size_t members = size_later);
  void end_object() { close('}'); }
  void list(std::size_t elements = size_later);
  void end_list() { close(']'); }
  /// Name of the next member.
  void key(std::string_view name);

  void text(std::string_view value);
  void number(std::uint64_t value);
  void signed_number(std::int64_t value);
  void real(double value);
  void boolean(bool value);
  void nothing();

  void member(std::string_view name, std::string_view value) { key(name), text(value); }
  void member(std::string_view name, const char* value) { key(name), text(value); }
  void member(std::string_view name, const std::string& value) { key(name), text(value); }
  void member(std::string_view name, bool value) { key(name), boolean(value); }
  void member(std::string_view name, std::unsigned_integral auto value) { key(name), number(value); }
  /// The same for a name that is printable ASCII without quotes and backslashes, which is not looked at again. For long answers.
  void plain_member(std::string_view name, std::uint64_t value);

 private:
  /// A container that is open.
  struct level {
    std::size_t elements = 0;   ///< written so far
    std::size_t announced = 0;  ///< or `size_later`
    std::size_t head = 0;       ///< where its MessagePack head stands, when the size comes later
  };

  void begin_value();
  void open(char bracket, std::size_t elements);
  void close(char bracket);
  void quoted(std::string_view value);

  std::string* out_;
  msgpack_writer pack_;
  bool is_json_;
  bool after_key_ = false;
  std::size_t depth_ = 0;
  std::array<level, 32> levels_{};
};

}  // namespace kvc::net

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

/// Appends one value to a string. Containers announce their size, which must then be met exactly; JSON does not need it, MessagePack does.
/// Nesting is at most 32 deep. Text that is not UTF-8 is repaired (U+FFFD) in JSON. One owner; `out` outlives it.
class answer_writer {
 public:
  answer_writer(std::string& out, wire_form form) : out_(&out), pack_(out), is_json_(form != wire_form::msgpack) {}

  void object(std::size_t members);
  void end_object();
  void list(std::size_t elements);
  void end_list();
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

 private:
  void separate();
  void open(char bracket);
  void close(char bracket);
  void quoted(std::string_view value);

  std::string* out_;
  msgpack_writer pack_;
  bool is_json_;
  bool after_key_ = false;
  std::size_t depth_ = 0;
  std::array<bool, 32> has_elements_{};
};

}  // namespace kvc::net

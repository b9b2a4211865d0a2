// The parsers of the libraries, beside which ours are measured. Linked into no server.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

namespace kvc::perf {

/// Parses with msgpack-c into its tree of objects, as its users do, and throws the tree away; answers the elements at the top. Throws what
/// the library throws.
[[nodiscard]] std::size_t library_msgpack(std::string_view payload);

/// Parses with Boost.JSON into a value, in memory from the stack while it suffices; answers the members at the top. Throws on bad text.
[[nodiscard]] std::size_t library_json(std::string_view text);

/// A value of Boost.JSON, parsed beforehand, so that `write` measures the writing alone.
class library_json_writer {
 public:
  explicit library_json_writer(std::string_view text);
  ~library_json_writer();
  library_json_writer(const library_json_writer&) = delete;
  library_json_writer& operator=(const library_json_writer&) = delete;

  [[nodiscard]] std::string write() const;

 private:
  struct state;
  state* state_;
};

}  // namespace kvc::perf

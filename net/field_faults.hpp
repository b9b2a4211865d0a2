// What is wrong with the fields of a body, all of it, in the form the coordinator's clients know.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "net/answer_writer.hpp"
#include "net/json_tree.hpp"

namespace kvc::net {

/// Where in a request something stands: a chain from the inside out that lives on the stack, so that a good request pays nothing for it.
class field_place {
 public:
  /// `root`: "body", "query" or "path".
  explicit field_place(std::string_view root) : name_(root) {}
  field_place(const field_place& outer, std::string_view name) : outer_(&outer), name_(name) {}
  field_place(const field_place& outer, std::size_t index) : outer_(&outer), index_(index) {}

  void write(answer_writer& out) const;

 private:
  const field_place* outer_ = nullptr;
  std::string_view name_;
  std::optional<std::size_t> index_;
};

/// What makes a fault more precise: one member of `ctx`.
struct fault_context {
  std::string_view name;
  std::int64_t number = 0;
  std::string_view text{};  ///< instead of the number, unless empty
};

/// The `detail` list of a 422. (Source: spec coordinator-api, "Error bodies"; types and sentences are those of the validation library that
/// the other service uses.) Bounds: `most_faults` are told, and values at fault up to some kilobytes, longer ones
/// and deeply nested ones as null. Pure; one owner.
class field_faults {
 public:
  static constexpr std::size_t most_faults = 1'000;
  static constexpr std::size_t most_input_nodes = 256;
  static constexpr std::size_t most_input_bytes = 16U << 10;
  static constexpr std::size_t most_input_depth = 24;  ///< containers in each other; an answer has room for 32, those around it included

  field_faults() : out_(body_, wire_form::json) {}
  field_faults(const field_faults&) = delete;
  field_faults& operator=(const field_faults&) = delete;

  [[nodiscard]] bool empty() const noexcept { return count_ == 0; }

  /// `input`: the value at fault; absent is told as null.
  void add(std::string_view type, const field_place& where, std::string_view sentence, const tape_value& input,
           std::optional<fault_context> context = {});
  /// The same for a value of the query.
  void add_text(std::string_view type, const field_place& where, std::string_view sentence, std::string_view input,
                std::optional<fault_context> context = {});
  /// The body is no JSON.
  void add_broken_json(std::size_t offset, std::string_view why);

  /// The whole body of the answer. Call once.
  [[nodiscard]] std::string take();

 private:
  bool open(std::string_view type);
  void place(const field_place& where, std::string_view sentence);
  void close(const std::optional<fault_context>& context);

  std::string body_;
  answer_writer out_;
  std::size_t count_ = 0;
};

}  // namespace kvc::net

// Typed members of a request item; the first one that breaks a rule is what the client is told about.
#pragma once

#include <cstdint>
#include <limits>
#include <string>
#include <string_view>
#include <vector>

#include "net/refusal.hpp"
#include "net/request_document.hpp"

namespace kvc::net {

/// Longest name, model, salt or endpoint accepted, in bytes.
inline constexpr std::size_t max_identity_bytes = 4'096;

/// Reads the members of one item in the order they are asked for and remembers the first fault; after it, nothing more is looked at.
/// A member that is absent or null leaves the caller's default. Pure; the document outlives it.
class field_rules {
 public:
  /// Two names for one member that do not say the same are a fault already, whatever the member.
  field_rules(const request_document& document, const request_item& item);

  /// Refuses absence, null and "". `name` is what the member is called in the refusal.
  void required_text(member wanted, std::string_view name, std::string& out);
  void text(member wanted, std::string& out);
  /// A string, or an integer taken as its decimal digits. 0 and less are none: no engine calls an adapter so, and who has none fills it in.
  void text_or_number(member wanted, std::string& out);
  void required_number(member wanted, std::string_view name, std::uint64_t least, std::uint64_t most, std::uint64_t& out);
  /// True when the member was there.
  bool number(member wanted, std::uint64_t least, std::uint64_t most, std::uint64_t& out);
  void boolean(member wanted, bool& out);
  /// A list of strings. True when the member was there.
  bool texts(member wanted, std::vector<std::string>& out);
  /// Per element: null or a list of strings, integers, bytes, lists of these and maps with a `type`, in the canonical bytes that enter a
  /// hash; none: "". What no engine reports would match nothing, and is refused.
  /// What names the adapter or the salt is left out, see extra_keys.hpp.
  void extra_keys(std::string_view lora, std::string_view salt, std::vector<std::string>& out);
  /// A long list that must be there. `what` says what its elements are.
  void required_list(const list_slot& list, std::string_view name, std::string_view what);

  /// The value of a member, null when it is absent or null.
  [[nodiscard]] const tape_node* value(member wanted) const;
  /// The member's name as the client wrote it.
  [[nodiscard]] std::string name_of(member wanted) const { return std::string(item_.names[static_cast<std::size_t>(wanted)]); }

  void refuse(refusal_kind kind, std::string sentence, std::string field, std::optional<std::size_t> index = std::nullopt);
  [[nodiscard]] const checked& wrong() const noexcept { return wrong_; }

 private:
  const request_document& document_;
  const request_item& item_;
  checked wrong_;
};

}  // namespace kvc::net

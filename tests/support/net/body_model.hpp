// What a JSON body of the coordinator means, by the words of the contract: for tests that write bodies at random.
#pragma once

#include <cstdint>
#include <limits>
#include <optional>
#include <random>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <boost/json/array.hpp>
#include <boost/json/value.hpp>

namespace kvc::test {

/// A JSON value as somebody may write it: numbers as they are spelled, members in their order, a name perhaps twice.
struct told_value {
  enum class kind : std::uint8_t { nothing, boolean, number, text, list, object };

  kind what = kind::nothing;
  bool yes = false;
  std::string text{};  ///< of a text, in UTF-8; of a number, how it is spelled
  std::vector<told_value> elements{};
  std::vector<std::pair<std::string, told_value>> members{};

  [[nodiscard]] static told_value of_text(std::string_view text);
  [[nodiscard]] static told_value of_number(std::string_view spelled);
  [[nodiscard]] static told_value of_list(std::vector<told_value> elements = {});
  [[nodiscard]] static told_value of_object(std::vector<std::pair<std::string, told_value>> members = {});

  /// The member of this name that came last; null when there is none.
  [[nodiscard]] const told_value* member(std::string_view name) const;
  /// What a reader has that keeps the last of two members; a number that is none to JSON as null.
  [[nodiscard]] boost::json::value meaning() const;
};

/// How a body is written down.
enum class writing : std::uint8_t {
  dense,   ///< nothing between
  spaced,  ///< as Python does
  odd,     ///< blanks anywhere, characters escaped that need not be
};
[[nodiscard]] std::string written(const told_value& value, writing how, std::mt19937_64& random);

/// Something that may stand where a field of any type is wanted; of the scalars `body_judge` knows what each means as a number.
[[nodiscard]] told_value random_value(std::mt19937_64& random);
/// Makes some of what stands in a body something else: members go, change, come twice, and strange ones come.
void spoil(told_value& body, std::mt19937_64& random, unsigned one_in);

/// One entry of `detail`.
struct told_fault {
  std::string type;
  boost::json::array place;
  std::string sentence;  ///< of a value_error the beginning
  boost::json::value input;
  std::optional<boost::json::value> context{};
};

/// Reads fields as the contract says (spec coordinator-api, section 2) and writes down what is wrong, in the order it is asked for.
class body_judge {
 public:
  using place = boost::json::array;

  std::vector<told_fault> faults;

  [[nodiscard]] static place inside(place outer, boost::json::value last);

  [[nodiscard]] std::optional<std::string> text(const told_value& value, const place& where);
  [[nodiscard]] std::optional<std::int64_t> whole(const told_value& value, const place& where,
                                                  std::int64_t least = std::numeric_limits<std::int64_t>::min(),
                                                  std::int64_t most = std::numeric_limits<std::int64_t>::max());
  /// NaN and infinite ones pass.
  [[nodiscard]] std::optional<double> real(const told_value& value, const place& where);
  /// `expected`: as people read it.
  [[nodiscard]] std::optional<std::string> word(const told_value& value, const place& where, const std::vector<std::string>& words,
                                                const std::string& expected);
  [[nodiscard]] bool list(const told_value& value, const place& where);
  [[nodiscard]] bool object(const told_value& value, const place& where);
  /// A member that must be there.
  [[nodiscard]] const told_value* required(const told_value& object, const std::string& name, const place& where);

  void refuse(const std::string& type, const place& where, const std::string& sentence, const told_value& input,
              std::optional<boost::json::value> context = {});
  void refuse_value(const place& where, const told_value& input);

  /// Empty when an answer tells just these; else what is different.
  [[nodiscard]] std::string difference(const std::string& answer) const;
};

}  // namespace kvc::test

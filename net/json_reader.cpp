// JSON bodies, read as they are scanned: no tree of the whole, numbers of long lists straight into their vectors.
#include <boost/json/basic_parser_impl.hpp>

#include "net/json_handler.hpp"
#include "net/plain_query.hpp"
#include "net/request_document.hpp"

namespace kvc::net {

namespace json = boost::json;
using kind = tape_node::kind;

namespace {

constexpr std::size_t max_depth = 32;  // of a body, unknown members included

}  // namespace

checked request_document::read_json(std::string_view body, shape wanted) {
  if (wanted == shape::single) {
    if (read_plain_query(body, data_)) {
      nodes_ = data_.tree.data();
      return {};
    }
    clear();
  }
  json::parse_options options;
  options.max_depth = wanted == shape::batch ? max_depth + 2 : max_depth;  // what may stand alone may stand in a batch
  options.allow_invalid_utf8 = wanted == shape::single_of_bytes;
  json::basic_parser<json_handler> parser(options, data_, wanted);
  error_code failed;
  const std::size_t used = parser.write_some(false, body.data(), body.size(), failed);
  if (!data_.too_long.empty()) {
    const std::string name(data_.too_long);
    return refusal{refusal_kind::out_of_range, name + " " + data_.too_long_how, name};
  }
  if (!failed && used < body.size()) failed = json::error::extra_data;
  if (failed) return refusal{refusal_kind::invalid_json, "the body is not JSON: " + failed.message() + " at byte " + std::to_string(used)};
  for (tape_node& node : data_.tree) {
    if (node.what == kind::string) node.data = data_.text.data() + node.bits;
  }
  nodes_ = data_.tree.data();
  return {};
}

}  // namespace kvc::net

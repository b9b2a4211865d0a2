#include "perf/micro_library.hpp"

#include <array>

#include <boost/json/monotonic_resource.hpp>
#include <boost/json/parse.hpp>
#include <boost/json/serialize.hpp>
#include <boost/json/value.hpp>
#include <msgpack/unpack.hpp>

namespace kvc::perf {

namespace json = boost::json;

std::size_t library_msgpack(std::string_view payload) {
  const msgpack::object_handle parsed = msgpack::unpack(payload.data(), payload.size());
  const msgpack::object& root = parsed.get();
  return root.type == msgpack::type::ARRAY ? root.via.array.size : root.type == msgpack::type::MAP ? root.via.map.size : 0;
}

std::size_t library_json(std::string_view text) {
  std::array<unsigned char, 4'096> first;
  json::monotonic_resource memory(first.data(), first.size());
  const json::value parsed = json::parse(json::string_view(text.data(), text.size()), &memory);
  return parsed.is_object() ? parsed.get_object().size() : 0;
}

struct library_json_writer::state {
  json::value value;
};

library_json_writer::library_json_writer(std::string_view text)
    : state_(new state{json::parse(json::string_view(text.data(), text.size()))}) {}

library_json_writer::~library_json_writer() {
  delete state_;
}

std::string library_json_writer::write() const {
  return json::serialize(state_->value);
}

}  // namespace kvc::perf

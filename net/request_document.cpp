#include "net/request_document.hpp"

namespace kvc::net {
namespace {

/// What a lane keeps between two requests; more was for an unusually long one and goes back.
constexpr std::size_t kept_elements = 1U << 18;

template <class Element>
void empty(std::vector<Element>& list) {
  list.clear();
  if (list.capacity() > kept_elements) list.shrink_to_fit();
}

}  // namespace

/// Out of the way of those bodies, nearly all, that call everything by one name. A name that has become the last one again is no rival.
void request_item::set_aside(rival earlier, std::string_view now) {
  std::erase_if(rivals, [now](const rival& each) { return each.name == now; });
  rivals.push_back(earlier);
}

void request_document::clear() {
  data_.items.clear();
  empty(data_.tokens);
  empty(data_.hashes);
  empty(data_.tree);
  data_.text.clear();
  if (data_.text.capacity() > kept_elements) data_.text.shrink_to_fit();
  data_.is_object = false;
  data_.queries = list_slot{};
  data_.too_long = {};
  data_.too_long_how.clear();
  nodes_ = nullptr;
}

checked request_document::read(std::string_view body, wire_form form, shape wanted) {
  clear();
  checked wrong = form == wire_form::msgpack ? read_msgpack(body, wanted) : read_json(body, wanted);
  if (wrong) return wrong;
  if (!data_.is_object) return refusal{refusal_kind::invalid_type, "the body must be an object"};
  if (wanted != shape::batch) return {};
  if (!data_.queries.present) return refusal{refusal_kind::missing, "queries is required", "queries"};
  if (data_.queries.is_wrong) return refusal{refusal_kind::invalid_type, "queries must be a list", "queries"};
  return {};
}

}  // namespace kvc::net

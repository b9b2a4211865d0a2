#include "net/field_faults.hpp"

#include <utility>

namespace kvc::net {
namespace {

using kind = tape_node::kind;

void write_value(answer_writer& out, const tape_value& value);

void write_container(answer_writer& out, const tape_value& value) {
  const bool is_map = value.is(kind::map);
  if (is_map) {
    out.object();
  } else {
    out.list();
  }
  if (value.length() != 0) {
    tape_value each = value.first();
    for (std::uint32_t i = 0;;) {
      if (is_map) {
        out.key(each.text());
        each = each.next();
      }
      write_value(out, each);
      if (++i == value.length()) break;
      each = each.next();
    }
  }
  if (is_map) {
    out.end_object();
  } else {
    out.end_list();
  }
}

void write_value(answer_writer& out, const tape_value& value) {
  const tape_node& node = value.node();
  switch (node.what) {
    case kind::boolean: return out.boolean(node.bits != 0);
    case kind::unsigned_integer: return out.number(node.bits);
    case kind::negative_integer: return out.signed_number(static_cast<std::int64_t>(node.bits));
    case kind::real: return out.real(node.number);
    case kind::string: return out.text(node.text());
    case kind::array:
    case kind::map: return write_container(out, value);
    case kind::nil:
    case kind::binary:
    case kind::extension: return out.nothing();
  }
}

/// Takes what a value would cost from the budgets; false when they do not suffice.
bool fits(const tape_value& value, std::size_t& nodes, std::size_t& bytes, std::size_t depth) {
  if (nodes == 0) return false;
  --nodes;
  if (value.is(kind::string)) {
    if (value.length() > bytes) return false;
    bytes -= value.length();
  }
  if (!value.is(kind::array) && !value.is(kind::map)) return true;
  if (depth == 0) return false;
  const std::uint32_t pieces = value.is(kind::map) ? value.length() * 2 : value.length();
  if (pieces == 0) return true;
  if (pieces > nodes) return false;
  tape_value each = value.first();
  for (std::uint32_t i = 0;;) {
    if (!fits(each, nodes, bytes, depth - 1)) return false;
    if (++i == pieces) return true;
    each = each.next();
  }
}

bool is_short(const tape_value& value) {
  std::size_t nodes = field_faults::most_input_nodes;
  std::size_t bytes = field_faults::most_input_bytes;
  return fits(value, nodes, bytes, field_faults::most_input_depth);
}

}  // namespace

void field_place::write(answer_writer& out) const {
  if (outer_ != nullptr) outer_->write(out);
  if (index_) {
    out.number(*index_);
  } else {
    out.text(name_);
  }
}

bool field_faults::open(std::string_view type) {
  if (count_ == most_faults) return false;
  if (count_++ == 0) {
    out_.object();
    out_.key("detail");
    out_.list();
  }
  out_.object();
  out_.member("type", type);
  return true;
}

void field_faults::place(const field_place& where, std::string_view sentence) {
  out_.key("loc");
  out_.list();
  where.write(out_);
  out_.end_list();
  out_.member("msg", sentence);
}

void field_faults::close(const std::optional<fault_context>& context) {
  if (context) {
    out_.key("ctx");
    out_.object();
    out_.key(context->name);
    if (context->name == "error" && context->text.empty()) {  // of a value_error: the exception itself, which has no members
      out_.object();
      out_.end_object();
    } else if (context->text.empty()) {
      out_.signed_number(context->number);
    } else {
      out_.text(context->text);
    }
    out_.end_object();
  }
  out_.end_object();
}

void field_faults::add(std::string_view type, const field_place& where, std::string_view sentence, const tape_value& input,
                       std::optional<fault_context> context) {
  if (!open(type)) return;
  place(where, sentence);
  out_.key("input");
  if (input.has_value() && is_short(input)) {
    write_value(out_, input);
  } else {
    out_.nothing();
  }
  close(context);
}

void field_faults::add_text(std::string_view type, const field_place& where, std::string_view sentence, std::string_view input,
                            std::optional<fault_context> context) {
  if (!open(type)) return;
  place(where, sentence);
  out_.member("input", input.substr(0, most_input_bytes));
  close(context);
}

void field_faults::add_broken_json(std::size_t offset, std::string_view why) {
  if (!open("json_invalid")) return;
  out_.key("loc");
  out_.list();
  out_.text("body");
  out_.number(offset);
  out_.end_list();
  out_.member("msg", "JSON decode error");
  out_.key("input");
  out_.object();
  out_.end_object();
  close(fault_context{"error", 0, why});
}

std::string field_faults::take() {
  out_.end_list();
  out_.end_object();
  return std::move(body_);
}

}  // namespace kvc::net

// Bodies of queries, and what is read from them.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include <boost/test/unit_test.hpp>

#include "net/answer_writer.hpp"
#include "net/api_types.hpp"
#include "net/http_reply.hpp"
#include "net/request_document.hpp"

namespace kvc::test::bodies {

using namespace kvc::net;
using shape = request_document::shape;

/// What a query says to a body: its refusal as JSON, or what it understood.
struct read_out {
  request_document document;
  checked wrong;
  query_request query;

  [[nodiscard]] std::string refused() const {
    if (!wrong) return "";
    std::string text;
    answer_writer out(text, wire_form::json);
    write_refusal(out, *wrong);
    return text;
  }
  [[nodiscard]] std::string reason() const { return wrong ? std::string(reason_of(wrong->kind)) : ""; }
};

inline std::unique_ptr<read_out> read(std::string_view body, wire_form form = wire_form::json, query_kind kind = query_kind::either) {
  auto out = std::make_unique<read_out>();
  out->wrong = out->document.read(body, form, shape::single);
  if (!out->wrong) out->wrong = read_query(out->document, out->document.items().front(), kind, out->query);
  return out;
}

inline std::string query_with(std::string_view members) {
  return R"({"model":"m","block_size":4,)" + std::string(members) + "}";
}

inline std::vector<std::uint32_t> tokens_of(const read_out& from) {
  return {from.query.tokens.begin(), from.query.tokens.end()};
}
inline std::vector<std::uint64_t> hashes_of(const read_out& from) {
  std::vector<std::uint64_t> bits;
  for (const core::seq_hash each : from.query.hashes) bits.push_back(each.get());
  return bits;
}

inline const auto per_element = boost::test_tools::per_element();

}  // namespace kvc::test::bodies

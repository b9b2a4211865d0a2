// What must hold for every request body, whatever its form; shared by the two fuzz targets of request bodies.
#pragma once

#include <algorithm>
#include <string>
#include <string_view>

#include "core/medium.hpp"
#include "net/api_types.hpp"
#include "net/http_reply.hpp"
#include "net/request_document.hpp"
#include "tests/support/fuzz_require.hpp"

namespace kvc::fuzz {

inline void check_refusal(const net::checked& wrong) {
  if (!wrong) return;
  require(!wrong->sentence.empty(), "a refusal says why");
  require(!net::reason_of(wrong->kind).empty(), "a refusal has a reason");
  const bool is_known = wrong->field.empty() || net::find_known(wrong->field) != nullptr;
  require(is_known, "a refusal names a member there is");
  require(net::reply_with(*wrong, net::wire_form::json).status == 400, "a bad body is the client's fault");
}

inline bool is_same(const net::query_request& left, const net::query_request& right) {
  return left.partition == right.partition && left.by_hash == right.by_hash && std::ranges::equal(left.tokens, right.tokens) &&
         std::ranges::equal(left.hashes, right.hashes) && left.extra_keys == right.extra_keys && left.instance == right.instance &&
         left.instances == right.instances && left.media == right.media && left.min_match == right.min_match && left.top_k == right.top_k &&
         left.detail == right.detail;
}

/// Reads `body` as every kind of request. `batched` is the same body as the only query of a batch: both must understand the same.
inline void check_body(std::string_view body, std::string_view batched, net::wire_form form) {
  static net::request_document single;
  static net::request_document batch;
  using shape = net::request_document::shape;

  check_refusal(batch.read(body, form, shape::batch));
  const net::checked unreadable = single.read(body, form, shape::single);
  check_refusal(unreadable);
  if (unreadable) return;
  require(single.items().size() == 1, "one body, one item");
  const auto& item = single.items().front();
  require(item.is_object, "only objects are read");
  require(single.tokens_of(item).size() <= body.size() && single.hashes_of(item).size() <= body.size(), "an element takes a byte at least");

  for (const auto kind : {net::query_kind::tokens, net::query_kind::hashes}) {
    net::query_request ignored;
    check_refusal(net::read_query(single, item, kind, ignored));
  }
  net::query_request alone;
  const net::checked wrong = net::read_query(single, item, net::query_kind::either, alone);
  check_refusal(wrong);
  if (!wrong) {
    require(alone.partition.block_size > 0 && !alone.partition.model.empty(), "a query names its partition");
    const net::checked unreadable_there = batch.read(batched, form, shape::batch);
    if (unreadable_there && form == net::wire_form::msgpack && body.size() >= net::msgpack_tape::max_depth - 2) {
      require(unreadable_there->kind == net::refusal_kind::invalid_msgpack, "only depth may come between");
      return;
    }
    require(!unreadable_there, "a query that stands alone can stand in a batch");
    require(batch.items().size() == 1, "and is the only one there");
    net::query_request among;
    require(!net::read_query(batch, batch.items().front(), net::query_kind::either, among), "and is right there too");
    require(is_same(alone, among), "and means the same");
  }

  core::medium_table media;
  net::registration_request registration;
  const net::checked unregistrable = net::read_registration(single, item, 1337, media, registration);
  check_refusal(unregistrable);
  if (!unregistrable) {
    require(net::is_endpoint(registration.registration.endpoint), "an endpoint can be connected to");
    require(registration.registration.worker.tenant == registration.registration.partition.tenant, "one tenant");
  }
  net::unregistration which;
  check_refusal(net::read_unregistration(single, item, which));
}

}  // namespace kvc::fuzz
